//! Defects that other actor libraries had. They have no case id.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{
    Backoff, Directive, Event, FailureKind, HowEnded, MailboxKind, Outcome, Overflow, Props, Strategy, Window,
};

use crate::fixture::{
    Boom, PingPong, Witness, WitnessRef, always_restart, any_child, child, fail, how_ended, keeper, keeping, ms,
    names_of_children, secs, within,
};

/// Rule 4.2.
#[supervise::test]
async fn other_the_new_start_does_not_overlap_the_old_stop(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    let actor = system.spawn("actor", move || Witness::slow("actor", secs(1), &handle)).unwrap();
    assert_eq!(probe.all().await, ["actor starts"]);
    fail(&actor, "boom");
    system.advance(ms(999)).await;
    probe.expect_none().await;
    system.advance(ms(1)).await;
    assert_eq!(probe.all().await, ["actor stops", "actor starts"]);
    system.expect_restarts(&actor, 1).await;
}

/// Rule 4.1.
#[supervise::test]
async fn other_a_ref_from_before_a_restart_still_reaches_the_actor(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper(system, Strategy::one_for_one());
    let old = child(&keeper, "actor", PingPong::factory(&probe.handle())).await;
    old.die("boom").tell().unwrap();
    system.expect_restarts(&old, 1).await;
    let looked_up = any_child(&keeper, "actor").await.unwrap();
    assert_eq!(looked_up, old.actor_ref().to_any(), "the name is kept, and the identity");
    assert_eq!(old.count().await.unwrap(), 1);
    old.actor_ref().kill();
    assert_eq!(system.expect_decision(&old).await.failure.kind(), FailureKind::Killed);
    assert!(old.actor_ref().has_ended());
}

/// Rule 7.3.
#[supervise::test]
async fn other_a_failure_now_and_then_does_not_exhaust_a_limit(system: &TestSystem) {
    for (name, window) in [("tumbling", Window::Tumbling), ("sliding", Window::Sliding)] {
        let probe = system.probe();
        let strategy = Strategy::one_for_one().max_retries(5).within(secs(5)).window(window);
        let keeper = system.spawn_with(name, keeping(strategy, always_restart)).unwrap();
        let actor = child(&keeper, "actor", PingPong::factory(&probe.handle())).await;
        for _ in 0..20 {
            actor.die("boom").tell().unwrap();
            system.advance(secs(4)).await;
        }
        system.expect_restarts(&actor, 20).await;
    }
}

/// Rule 7.1.
#[supervise::test]
async fn other_a_group_restart_does_not_bring_back_who_had_ended_and_keeps_the_order(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper(system, Strategy::all_for_one());
    let mut children = Vec::new();
    for name in ["e", "b", "d", "a", "c"] {
        let handle = probe.handle();
        children.push(child(&keeper, name, move || Witness::new(name, &handle)).await);
    }
    children[2].actor_ref().stop();
    system.settle().await;
    probe.all().await;
    fail(&children[4], "boom");
    let started: Vec<_> = probe.all().await.into_iter().filter(|heard| heard.ends_with("starts")).collect();
    assert_eq!(started, ["e starts", "b starts", "a starts", "c starts"]);
    assert_eq!(names_of_children(&keeper).await, ["e", "b", "a", "c"]);
    let decision = system.expect_decision(&children[4]).await;
    assert_eq!(decision.outcome, Outcome::Restarting { children: 4, delay: None });
}

/// Rule 7.8.
#[supervise::test]
async fn other_an_earlier_sibling_that_fails_during_a_rest_for_one_loses_nobody(system: &TestSystem) {
    let probe = system.probe();
    let strategy = Strategy::rest_for_one().backoff(Backoff::exponential(secs(10), secs(10)));
    let keeper = keeper(system, strategy);
    let mut children = Vec::new();
    for name in ["1", "2", "3", "4"] {
        children.push(child(&keeper, name, PingPong::factory(&probe.handle())).await);
    }
    children[2].die("third").tell().unwrap();
    system.advance(secs(5)).await;
    children[1].die("second").tell().unwrap();
    system.advance(secs(20)).await;
    for child in &children[1..] {
        system.expect_restarts(child, 1).await;
    }
    system.expect_restarts(&children[0], 0).await;
    for child in &children {
        assert_eq!(child.ping().timeout(secs(1)).await.unwrap(), "pong", "{:?}", child.actor_ref());
    }
}

static FIRST_ESCALATION: AtomicBool = AtomicBool::new(true);
static FIRST_DELAY: AtomicBool = AtomicBool::new(true);

/// Its guards are true once.
#[actor]
#[supervise(
    on(Boom if |boom| boom.0 == "up" && FIRST_ESCALATION.swap(false, Ordering::Relaxed)) = Escalate,
    on(Boom if |boom| boom.0 == "later" && FIRST_DELAY.swap(false, Ordering::Relaxed))
        = Restart(backoff(min = "1s", max = "1s")),
    on(Boom) = Stop,
)]
struct Moody {
    probe: ProbeHandle<String>,
}

#[actor]
impl Moody {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) -> Result<(), supervise::SpawnError> {
        let probe = self.probe.clone();
        ctx.spawn("child", move || Witness::new("child", &probe))?;
        Ok(())
    }

    #[handler]
    fn child(&mut self, ctx: &mut Context<Self>) -> Option<WitnessRef> {
        ctx.child("child")?.downcast::<Witness>().map(Into::into)
    }
}

/// Rule 3.1.
#[supervise::test]
async fn other_a_guard_is_evaluated_once_for_each_failure(system: &TestSystem) {
    system.allow_failures();
    for (cause, directive) in
        [("up", Directive::Escalate), ("later", Directive::RestartAfter(Backoff::exponential(secs(1), secs(1))))]
    {
        let handle = system.probe().handle();
        let moody = system.spawn(cause, move || Moody { probe: handle.clone() }).unwrap();
        let child = moody.child().await.unwrap().unwrap();
        fail(&child, cause);
        assert_eq!(system.expect_decision(&child).await.directive, directive);
    }
}

/// Handles one message for an hour.
#[actor]
struct Stuck;

#[actor]
impl Stuck {
    #[handler]
    async fn hang(&mut self) {
        std::future::pending::<()>().await;
    }

    #[handler]
    fn adopt(
        &mut self,
        voice: ProbeHandle<String>,
        ctx: &mut Context<Self>,
    ) -> Option<crate::fixture::PingPongRef> {
        ctx.spawn("child", PingPong::factory(&voice)).ok()
    }
}

/// Rules 1.3, 1.6.
#[supervise::test]
async fn other_supervision_does_not_wait_behind_a_full_mailbox(system: &TestSystem) {
    let probe = system.probe();
    let props = Props::new(|| Stuck).mailbox(MailboxKind::Bounded { capacity: 1, overflow: Overflow::Fail });
    let stuck = system.spawn_with("stuck", props).unwrap();
    let child = stuck.adopt(probe.handle()).await.unwrap().unwrap();
    stuck.hang().tell().unwrap();
    system.settle().await;
    stuck.hang().tell().unwrap();
    assert!(stuck.hang().tell().is_err(), "the mailbox is full");
    child.die("boom").tell().unwrap();
    assert_eq!(probe.all().await, ["restarted for boom"], "without time moving");
    system.expect_restarts(&child, 1).await;
    let begun = tokio::time::Instant::now();
    system.stop(&stuck);
    assert_eq!(system.expect_terminated(&stuck).await, HowEnded::Aborted);
    assert_eq!(begun.elapsed(), secs(5), "the stop timeout");
    system.expect_dead_letter(&stuck).await;
}

/// Rule 2.1.
#[supervise::test]
async fn other_an_error_is_a_failure_told_or_asked(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper(system, Strategy::one_for_one());
    let actor = child(&keeper, "actor", PingPong::factory(&probe.handle())).await;
    actor.die("told").tell().unwrap();
    assert_eq!(system.expect_decision(&actor).await.failure.to_string(), "told");
    assert!(actor.die("asked").await.is_err());
    assert_eq!(system.expect_decision(&actor).await.failure.to_string(), "asked");
    actor.panic("a panic").tell().unwrap();
    let decision = system.expect_decision(&actor).await;
    assert_eq!(
        (decision.failure.kind(), decision.failure.to_string()),
        (FailureKind::Panic, "panicked: a panic".into())
    );
    assert_eq!(probe.all().await.len(), 3);
}

/// Rule 8.1.
#[supervise::test]
async fn other_the_end_of_a_child_is_no_failure_of_its_parent(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper(system, Strategy::one_for_one());
    let actor = child(&keeper, "actor", PingPong::factory(&probe.handle())).await;
    actor.actor_ref().stop();
    system.settle().await;
    assert!(actor.actor_ref().has_ended() && !keeper.actor_ref().has_ended());
    assert!(system.take_all(|event| matches!(event, Event::Decided { .. })).await.is_empty());
}

/// Stops as soon as it starts.
#[actor]
struct Ephemeral {
    starts: Arc<AtomicU32>,
}

#[actor]
impl Ephemeral {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) {
        self.starts.fetch_add(1, Ordering::SeqCst);
        ctx.stop_self();
    }
}

/// Rule 6.4.
#[supervise::test]
async fn other_an_actor_that_stops_while_it_starts_ends_once(system: &TestSystem) {
    let starts = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&starts);
    let actor = system.spawn("ephemeral", move || Ephemeral { starts: Arc::clone(&counted) }).unwrap();
    system.expect_terminated(&actor).await;
    system.advance(secs(60)).await;
    assert_eq!(starts.load(Ordering::SeqCst), 1);
    assert_eq!(how_ended(system, &actor).await, HowEnded::Graceful);
}

/// Children wait while their parent is failing, however deep.
/// Rule 2.2.
#[supervise::test]
async fn other_the_whole_subtree_waits_while_an_actor_is_failing(system: &TestSystem) {
    let probe = system.probe();
    let strategy = Strategy::one_for_one().backoff(Backoff::exponential(secs(10), secs(10)));
    let top = keeper(system, strategy);
    let middle =
        crate::fixture::keeper_under(&top, "middle", keeping(Strategy::one_for_one(), always_restart)).await;
    let low = crate::fixture::keeper_under(&middle, "low", keeping(Strategy::one_for_one(), always_restart)).await;
    let leaf = child(&low, "leaf", PingPong::factory(&probe.handle())).await;
    fail(&middle, "boom");
    system.settle().await;
    let waiting = leaf.count().ask().unwrap();
    system.advance(secs(9)).await;
    let late = leaf.count().timeout(ms(10)).await.unwrap_err().to_string();
    assert!(
        late.ends_with("within 10ms: it is suspended, because an actor above it or beside it failed"),
        "{late}"
    );
    system.advance(secs(1)).await;
    assert_eq!(waiting.await.unwrap(), 1);
    within(&low, |_| ()).await;
    for actor in [&middle, &low] {
        system.expect_restarts(actor, 1).await;
    }
    system.expect_restarts(&leaf, 1).await;
}

/// Fails on a message that is delivered again, and reports what `pre_restart` got.
#[actor]
struct Candid {
    probe: ProbeHandle<(String, Option<String>)>,
}

#[actor]
impl Candid {
    #[handler(redeliver = 1)]
    fn hello(&mut self, text: String) -> Result<(), Boom> {
        drop(text);
        Err(Boom("hello"))
    }

    #[handler]
    fn fine(&mut self) {}

    #[pre_restart]
    fn before(&mut self, cause: &Failure, message: Option<CandidMessage>) {
        let text = message.and_then(|message| match message {
            CandidMessage::Hello { text, .. } => Some(text),
            CandidMessage::Fine => None,
        });
        self.probe.note((cause.to_string(), text));
    }
}

/// Rule 4.4.
#[supervise::test]
async fn lif_11_pre_restart_sees_the_message_that_failed_and_no_other(system: &TestSystem) {
    let probe = system.probe();
    let voice = system.probe();
    let keeper = keeper(system, Strategy::all_for_one());
    let handle = probe.handle();
    let candid = child(&keeper, "candid", move || Candid { probe: handle.clone() }).await;
    let sibling = child(&keeper, "sibling", PingPong::factory(&voice.handle())).await;
    let asked = candid.hello("hello".to_owned()).await;
    assert!(
        matches!(asked, Err(AskError::Failed(failure)) if failure.to_string() == "hello"),
        "the asker is told"
    );
    let twice = ("hello".to_owned(), Some("hello".to_owned()));
    assert_eq!(probe.all().await, [twice.clone(), twice], "as often as it failed");
    candid.fine().await.unwrap();
    sibling.die("sibling").tell().unwrap();
    assert_eq!(probe.all().await, [("sibling".to_owned(), None)], "not its own failure");
    let letter = system.expect_dead_letter(&candid).await;
    assert_eq!(letter.reason, supervise::DeadLetterReason::Quarantined);
    system.take_all(|event| matches!(event, Event::Decided { .. })).await;
}
