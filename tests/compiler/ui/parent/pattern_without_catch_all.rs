//! A backoff supervisor's decider may escalate anything, but its parent decides one type.

use std::io;
use std::time::Duration;

use supervise::pattern::BackoffSupervisor;
use supervise::prelude::*;
use supervise::Backoff;

#[actor]
struct Feed;

#[actor]
impl Feed {}

#[actor]
#[supervise(on(io::Error) = Restart)]
struct Parent;

#[actor]
impl Parent {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        let delays = Backoff::exponential(Duration::from_secs(1), Duration::from_secs(8));
        ctx.spawn_with("feed", BackoffSupervisor::on_failure("feed", || Feed, delays).props())?;
        Ok(())
    }
}

fn main() {}
