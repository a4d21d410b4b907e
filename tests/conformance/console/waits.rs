//! Which actors wait for which, limits of single rules, the stash, and what a reader may wish to see. Rules 22.3,
//! 22.4, 22.8 and 22.9.

use supervise::console::{Console, Watch};
use supervise::prelude::*;
use supervise::testkit::TestSystem;

use crate::fixture::{Boom, secs};

#[actor]
#[supervise(one_for_one, on(Boom) = Restart(max_retries = 2, within = "60s"), on(_) = Restart)]
struct Desk;

#[actor]
impl Desk {
    #[handler]
    fn seat(&mut self, ctx: &mut Context<Self>) -> Result<ClerkRef, SpawnError> {
        ctx.spawn("clerk", || Clerk { open: false })
    }
}

#[actor(stash = 10)]
struct Clerk {
    open: bool,
}

#[actor]
impl Clerk {
    #[handler]
    fn stamp(&mut self) -> Result<(), Boom> {
        Err(Boom("no ink"))
    }

    #[handler]
    fn open(&mut self) {
        self.open = true;
    }

    #[handler]
    fn serve(&mut self, customer: u32) -> u32 {
        customer
    }

    #[stash_while]
    fn is_closed(&self, message: &ClerkMessage) -> bool {
        !self.open && matches!(message, ClerkMessage::Serve { .. })
    }

    /// Waits for ten seconds.
    #[handler]
    async fn think(&mut self) {
        tokio::time::sleep(secs(10)).await;
    }

    #[handler]
    async fn ask(&mut self, other: ClerkRef) -> Result<(), AskError> {
        other.think().await
    }

    #[handler]
    async fn ponder(&mut self) {
        tokio::time::sleep(secs(60)).await;
    }

    #[handler]
    async fn ask_to_ponder(&mut self, other: ClerkRef) -> Result<(), AskError> {
        other.ponder().await
    }

    #[handler]
    async fn ask_to_ask(&mut self, other: ClerkRef, third: ClerkRef) -> Result<(), AskError> {
        other.ask(third).await.map_err(|_| AskError::Stopped)
    }
}

/// The text after this many looks, with its lines joined.
async fn watched(system: &TestSystem, watch: &mut Watch, seconds: u64) -> String {
    for _ in 0..seconds {
        system.advance(secs(1)).await;
        watch.look();
    }
    watch.text().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Looks are rare in a large system. The first look that finds a message old does not yet know for whom its actor waits.
#[supervise::test]
async fn con_06_an_actor_that_falls_behind_names_the_handler_it_is_in(system: &TestSystem) {
    let clerk = |name| system.spawn(name, || Clerk { open: true }).unwrap();
    let (first, second) = (clerk("first"), clerk("second"));
    first.ask_to_ponder(second).tell().unwrap();
    first.open().tell().unwrap();
    system.settle().await;
    let mut watch = Console::of(system).by_hand();
    watch.look();
    system.advance(secs(45)).await;
    watch.look();
    let text = watch.text().split_whitespace().collect::<Vec<_>>().join(" ");
    let card = "1 message waits, the oldest for about 45 s. In `ask_to_ponder` for 45 s.";
    assert!(text.contains(card), "{text}");
}

#[supervise::test]
async fn con_08_a_chain_of_three_asks_names_its_root_and_an_answered_ask_leaves_no_edge(system: &TestSystem) {
    let clerk = |name| system.spawn(name, || Clerk { open: true }).unwrap();
    let (first, second, third) = (clerk("first"), clerk("second"), clerk("third"));
    first.ask_to_ask(second, third).tell().unwrap();
    system.settle().await;
    let mut watch = Console::of(system).by_hand();
    let text = watched(system, &mut watch, 7).await;
    assert!(text.contains("Stuck: /user/third"), "{text}");
    assert!(text.contains("2 actors wait for its answer: first → second → third."), "{text}");
    assert!(text.matches("Stuck").count() == 1 && !text.contains("In one message for long"), "{text}");
    let mut waits = Vec::new();
    system.look(|glimpse| {
        let whom = glimpse.waits_for().iter().map(|other| other.name().to_owned()).collect::<Vec<_>>();
        waits.extend(whom.into_iter().map(|whom| (glimpse.actor().name().to_owned(), whom)));
    });
    assert_eq!(waits, [("first".to_owned(), "second".to_owned()), ("second".to_owned(), "third".to_owned())]);
    let text = watched(system, &mut watch, 5).await;
    assert!(text.contains("All is well"), "{text}");
    system.look(|glimpse| assert!(glimpse.waits_for().is_empty(), "{glimpse:?}"));
}

#[supervise::test]
async fn con_12_a_rules_own_limit_is_near(system: &TestSystem) {
    let desk = system.spawn("desk", || Desk).unwrap();
    let clerk = desk.seat().await.unwrap();
    let mut watch = Console::of(system).by_hand();
    clerk.stamp().tell().unwrap();
    let text = watched(system, &mut watch, 1).await;
    assert!(text.contains("Near its limit: /user/desk/clerk"), "{text}");
    assert!(
        text.contains("1 of the 2 restarts that rule `Boom` allows in 1 min are used. One restart is left"),
        "{text}"
    );
    let text = watched(system, &mut watch, 61).await;
    assert!(text.contains("All is well"), "{text}");
    system.allow_failures();
}

#[supervise::test]
async fn a_look_counts_what_is_stashed(system: &TestSystem) {
    let clerk = system.spawn("clerk", || Clerk { open: false }).unwrap();
    let stashed = || {
        let mut stashed = 0;
        system.look(|glimpse| stashed += glimpse.stashed());
        stashed
    };
    for customer in 0..3 {
        clerk.serve(customer).tell().unwrap();
    }
    system.settle().await;
    assert_eq!(stashed(), 3);
    clerk.open().tell().unwrap();
    system.settle().await;
    assert_eq!(stashed(), 0);
}
