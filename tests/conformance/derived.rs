//! Z: cases that no suite has, found by reading the sources of the reference systems.

mod creation;
mod deferral;
mod escalation;
mod limits;
mod restart;
mod slow_starts;
mod stop;
mod watch;

use supervise::Outcome;
use supervise::testkit::{ProbeHandle, TestSystem};

use crate::fixture::{Boom, PingPongRef, Witness};

/// Makes an actor fail, and returns the result.
async fn failing(system: &TestSystem, actor: &PingPongRef) -> Outcome {
    actor.die("boom").tell().expect("it lives");
    system.expect_decision(actor).await.outcome
}

fn restarting(children: usize) -> Outcome {
    Outcome::Restarting { children, delay: None }
}

/// A factory that fails at these calls, counted from 1.
fn broken_at(calls: &'static [u32], probe: ProbeHandle<String>) -> impl FnMut() -> Result<Witness, Boom> + Send {
    let mut call = 0;
    move || {
        call += 1;
        if calls.contains(&call) { Err(Boom("factory")) } else { Ok(Witness::new("actor", &probe)) }
    }
}
