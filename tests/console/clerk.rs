//! The actor that fails in the tests of what an operator reads, and how the tests look.

use std::time::Duration;

use supervise::console::Watch;
use supervise::prelude::*;
use supervise::testkit::TestSystem;

#[derive(Debug, thiserror::Error)]
#[error("no ink")]
pub(crate) struct NoInk;

#[actor]
pub(crate) struct Clerk;

#[actor]
impl Clerk {
    #[handler]
    fn stamp(&mut self) -> Result<(), NoInk> {
        Err(NoInk)
    }

    #[handler]
    fn go_home(&mut self, ctx: &mut Context<Self>) {
        ctx.stop_self();
    }
}

/// Looks after each of so many seconds.
pub(crate) async fn look(system: &TestSystem, watch: &mut Watch, looks: u64) {
    for _ in 0..looks {
        system.advance(Duration::from_secs(1)).await;
        watch.look();
    }
}

/// The text of the system in one line.
pub(crate) fn words(watch: &Watch) -> String {
    watch.text().split_whitespace().collect::<Vec<_>>().join(" ")
}
