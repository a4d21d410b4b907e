//! What actors and observers are told explicitly.

use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::TestSystem;

use crate::fixture::{Boom, secs};

/// Asks itself, in a handler and in a hook.
#[actor]
struct Narcissus {
    in_hook: Option<String>,
}

#[actor]
impl Narcissus {
    #[pre_start]
    async fn look(&mut self, ctx: &mut Context<Self>) {
        let me = ctx.me();
        self.in_hook = me.name().timeout(secs(1)).await.err().map(|error| error.to_string());
    }

    #[handler]
    fn name(&self) -> &'static str {
        "narcissus"
    }

    #[handler]
    fn in_hook(&self) -> Option<String> {
        self.in_hook.clone()
    }

    #[handler]
    async fn ask_itself(&self, ctx: &mut Context<Self>) -> String {
        let me = ctx.me();
        match me.name().timeout(secs(1)).await {
            Ok(name) => name.to_owned(),
            Err(error) => error.to_string(),
        }
    }

    /// Asks from a task of its own, for which the handler does not wait.
    #[handler]
    fn have_itself_asked(&self, ctx: &mut Context<Self>) {
        let me = ctx.me();
        tokio::spawn(async move { assert_eq!(me.name().await.unwrap(), "narcissus") });
    }
}

/// Rule 1.5.
#[supervise::test]
async fn a7_an_actor_that_asks_itself_is_told_so(system: &TestSystem) {
    let begun = tokio::time::Instant::now();
    let narcissus = system.spawn("narcissus", || Narcissus { in_hook: None }).unwrap();
    let in_hook = narcissus.in_hook().await.unwrap().expect("an error");
    for told in [narcissus.ask_itself().await.unwrap(), in_hook] {
        assert!(told.contains("itself") && told.contains("/user/narcissus"), "{told}");
    }
    assert_eq!(begun.elapsed(), Duration::ZERO, "nobody waited");
    narcissus.have_itself_asked().await.unwrap();
}

/// Takes a while to start.
#[actor]
struct Slow;

#[actor]
impl Slow {
    #[pre_start]
    async fn wait(&mut self) {
        tokio::time::sleep(secs(1)).await;
    }

    #[handler]
    fn fail(&self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }
}

/// Rule 5.1.
#[supervise::test]
async fn s18_1_an_actor_that_has_not_started_is_seen_to_be_starting(system: &TestSystem) {
    let slow = system.spawn("slow", || Slow).unwrap();
    let state = || format!("{:?}", system.tree().find("/user/slow").unwrap().state());
    system.settle().await;
    assert_eq!(state(), "Starting");
    system.advance(secs(1)).await;
    assert_eq!(state(), "Running");
    slow.fail().tell().unwrap();
    system.settle().await;
    assert_eq!(state(), "Starting", "its new instance");
    system.advance(secs(1)).await;
    assert_eq!(state(), "Running");
    system.expect_restarts(&slow, 1).await;
    let tree = system.tree();
    let slow = tree.find("/user/slow").unwrap();
    assert_eq!((slow.restarts(), slow.restarts_in_all()), (0, 1), "no limit counts them");
}
