//! S and A: behaviour that the rules imply and that no suite tests. A name begins with a section and its clause;
//! `README.md` lists the sections.

mod asks;
mod bounds;
mod creation;
mod drops;
mod endings;
mod restart;
mod stop;
mod strategies;
mod suspension;
mod told;
mod watch;

use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::ProbeHandle;

use crate::fixture::{Boom, Job, Stage};

/// Works for as long as it is told to, reports when it begins and ends, and keeps its children across a
/// restart.
#[actor]
struct Worker {
    name: &'static str,
    probe: ProbeHandle<String>,
}

impl Worker {
    fn factory(name: &'static str, probe: &ProbeHandle<String>) -> impl FnMut() -> Self + Send + 'static {
        let probe = probe.clone();
        move || Self { name, probe: probe.clone() }
    }

    fn report(&self, what: &str) {
        self.probe.note(format!("{} {what}", self.name));
    }
}

#[actor]
impl Worker {
    #[handler]
    fn perform(&mut self, job: Job<Self>, ctx: &mut Context<Self>) -> Result<(), Boom> {
        job(ctx)
    }

    /// Waits, then does something, and succeeds or fails.
    #[handler]
    async fn work(&mut self, time: Duration, then: Job<Self>, ctx: &mut Context<Self>) -> Result<(), Boom> {
        self.report("works");
        tokio::time::sleep(time).await;
        self.report("is done");
        then(ctx)
    }

    #[handler]
    fn ping(&mut self) -> &'static str {
        self.report("answers");
        "pong"
    }

    #[pre_restart]
    fn replaced(&mut self) {
        self.report("is replaced");
    }

    #[post_restart]
    fn back(&mut self) {
        self.report("is back");
    }

    #[post_stop]
    fn stopped(&mut self, ctx: &mut Context<Self>) {
        self.report(if ctx.was_aborted() { "stops, aborted" } else { "stops" });
    }
}

impl Stage for WorkerRef {
    fn give(&self, job: Job<Worker>) {
        self.perform(job).tell().expect("the actor runs");
    }
}

/// Nothing to do after the work.
fn well() -> Job<Worker> {
    Box::new(|_| Ok(()))
}

/// A failure after the work.
fn failing(why: &'static str) -> Job<Worker> {
    Box::new(move |_| Err(Boom(why)))
}
