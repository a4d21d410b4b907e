//! BKS, BKF: supervisors that start their child again after a delay. `on_stop` does so after any end of the child,
//! `on_failure` after a failure for which the decision is `Restart`.

use std::time::Duration;

use supervise::pattern::{BackoffSupervisor, BackoffSupervisorProps, BackoffSupervisorRef};
use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestProbe, TestSystem};
use supervise::{Backoff, Directive, Envelope, Event, MailboxKind, Overflow, Props, SendErrorReason};
use tokio::time::Instant;

#[derive(Debug, thiserror::Error)]
enum Bang {
    #[error("boom")]
    Boom,
    #[error("enough")]
    Enough,
}

#[derive(Debug, PartialEq)]
enum Seen {
    Made,
    Heard(&'static str),
}

/// Tells the probe which messages it gets, and tells its supervisor that it is well.
#[actor]
struct Child {
    probe: ProbeHandle<Seen>,
}

#[actor]
impl Child {
    #[handler]
    fn hear(&self, text: &'static str, ctx: &mut Context<Self>) {
        if let Some(supervisor) = BackoffSupervisorRef::above(ctx) {
            supervisor.actor_ref().reset();
        }
        self.probe.note(Seen::Heard(text));
    }

    #[handler]
    fn echo(&self, text: &'static str) -> &'static str {
        text
    }

    #[handler]
    fn fail(&self, bang: Bang) -> Result<(), Bang> {
        Err(bang)
    }

    #[handler]
    fn finish(&self, ctx: &mut Context<Self>) {
        ctx.stop_self();
    }

    #[handler]
    async fn dawdle(&self) {
        std::future::pending::<()>().await;
    }
}

type SupervisorRef = BackoffSupervisorRef<Child>;
type Options = BackoffSupervisorProps<Child>;

const MIN: Duration = Duration::from_millis(100);
const MAX: Duration = Duration::from_secs(3);

/// 100 ms, 200 ms, … 3 s.
fn delays() -> Backoff {
    Backoff::exponential(MIN, MAX)
}

fn making(probe: &TestProbe<Seen>) -> impl Fn() -> Child + Send + Sync + use<> {
    let probe = probe.handle();
    move || {
        probe.note(Seen::Made);
        Child { probe: probe.clone() }
    }
}

fn on_stop(probe: &TestProbe<Seen>) -> Options {
    BackoffSupervisor::on_stop("c1", making(probe), delays())
}

fn on_failure(probe: &TestProbe<Seen>) -> Options {
    BackoffSupervisor::on_failure("c1", making(probe), delays())
}

async fn start<T>(
    system: &TestSystem,
    options: BackoffSupervisorProps<Child, T>,
    probe: &TestProbe<Seen>,
) -> SupervisorRef {
    let supervisor = system.spawn_with("supervisor", options.props()).unwrap();
    probe.expect(Seen::Made).await;
    supervisor
}

async fn current_child(supervisor: &SupervisorRef) -> Option<ChildRef> {
    supervisor.actor_ref().current_child().await.unwrap()
}

async fn child(supervisor: &SupervisorRef) -> ChildRef {
    current_child(supervisor).await.expect("there is a child")
}

async fn count(supervisor: &SupervisorRef) -> u32 {
    supervisor.actor_ref().restart_count().await.unwrap()
}

/// Makes the child fail, so that its supervisor stops it.
async fn fail(system: &TestSystem, supervisor: &SupervisorRef, bang: Bang) {
    let child = child(supervisor).await;
    supervisor.fail(bang).tell().unwrap();
    assert_eq!(system.expect_decision(&child).await.directive, Directive::Stop);
    assert!(child.actor_ref().has_ended());
}

async fn boom(system: &TestSystem, supervisor: &SupervisorRef) {
    fail(system, supervisor, Bang::Boom).await;
}

async fn poison_child(system: &TestSystem, supervisor: &SupervisorRef) {
    let child = child(supervisor).await;
    child.actor_ref().poison();
    system.expect_terminated(&child).await;
}

/// Rule 13.2.
#[supervise::test]
async fn bks_01_a_child_that_stops_is_started_again(system: &TestSystem) {
    let probe = system.probe();
    let supervisor = start(system, on_stop(&probe), &probe).await;
    let first = child(&supervisor).await;
    poison_child(system, &supervisor).await;
    assert_eq!(current_child(&supervisor).await, None);
    probe.expect(Seen::Made).await;
    let second = child(&supervisor).await;
    assert_ne!(second, first);
    assert_eq!(second.actor_ref().path(), first.actor_ref().path());
}

/// Rule 13.1.
#[supervise::test]
async fn bks_02_bkf_01_messages_go_to_the_child_with_their_reply_slots(system: &TestSystem) {
    for (name, options) in [("on_stop", on_stop as fn(&_) -> _), ("on_failure", on_failure)] {
        let probe = system.probe();
        let supervisor = system.spawn_with(name, options(&probe).props()).unwrap();
        supervisor.hear("hello").tell().unwrap();
        probe.expect(Seen::Made).await;
        probe.expect(Seen::Heard("hello")).await;
        assert_eq!(supervisor.echo("hello").await.unwrap(), "hello");
    }
}

/// Rule 13.3.
#[supervise::test]
async fn bks_04_the_stopping_strategy_delays_the_start_after_a_failure(system: &TestSystem) {
    let probe = system.probe();
    let supervisor = start(system, on_stop(&probe).stopping(), &probe).await;
    assert_eq!(count(&supervisor).await, 0);
    let first = child(&supervisor).await;
    boom(system, &supervisor).await;
    probe.expect(Seen::Made).await;
    assert_ne!(child(&supervisor).await, first);
    assert_eq!(count(&supervisor).await, 1);
}

/// Rule 13.5.
#[supervise::test]
async fn bks_05_bkf_03_a_count_that_is_reset_by_hand(system: &TestSystem) {
    let probe = system.probe();
    let by_hand = delays().manual_reset();
    let on_stop = BackoffSupervisor::on_stop("c1", making(&probe), by_hand).stopping();
    let on_failure = BackoffSupervisor::on_failure("c1", making(&probe), by_hand);
    let on_stop = system.spawn_with("on_stop", on_stop.props()).unwrap();
    probe.expect(Seen::Made).await;
    let on_failure = system.spawn_with("on_failure", on_failure.props()).unwrap();
    probe.expect(Seen::Made).await;
    for supervisor in [on_stop, on_failure] {
        boom(system, &supervisor).await;
        assert_eq!(count(&supervisor).await, 1);
        probe.expect(Seen::Made).await;
        system.advance(MIN * 9000).await;
        assert_eq!(count(&supervisor).await, 1, "time does not reset it");
        supervisor.hear("hello").tell().unwrap();
        supervisor.hear("hello").tell().unwrap();
        probe.expect(Seen::Heard("hello")).await;
        probe.expect(Seen::Heard("hello")).await;
        assert_eq!(count(&supervisor).await, 0);
    }
}

/// Rule 13.6.
#[supervise::test]
async fn bks_06_bkf_04_a_constant_reply_while_there_is_no_child(system: &TestSystem) {
    let probe = system.probe();
    let closed = |message: Envelope<ChildMessage>| {
        if let (ChildMessage::Echo { .. }, reply) = message.into_parts() {
            reply.answer("closed");
        }
    };
    let on_stop = on_stop(&probe).stopping().while_stopped(closed).props();
    let on_stop = system.spawn_with("on_stop", on_stop).unwrap();
    probe.expect(Seen::Made).await;
    let on_failure = system.spawn_with("on_failure", on_failure(&probe).while_stopped(closed).props()).unwrap();
    probe.expect(Seen::Made).await;
    for supervisor in [on_stop, on_failure] {
        boom(system, &supervisor).await;
        assert_eq!(supervisor.echo("hello").await.unwrap(), "closed");
        assert!(matches!(supervisor.hear("hello").await, Err(AskError::Unanswered)), "the handler dropped it");
        probe.expect(Seen::Made).await;
        assert_eq!(supervisor.echo("hello").await.unwrap(), "hello");
    }
}

/// Rule 13.6.
#[supervise::test]
async fn bkf_05_another_actor_answers_while_there_is_no_child(system: &TestSystem) {
    let probe = system.probe();
    let elsewhere = system.probe();
    let handle = elsewhere.handle();
    let substitute = system.spawn("substitute", move || Child { probe: handle.clone() }).unwrap();
    let supervisor = start(system, on_failure(&probe).replaced_by(&substitute), &probe).await;
    boom(system, &supervisor).await;
    assert_eq!(supervisor.echo("hello").await.unwrap(), "hello");
    supervisor.hear("hello").await.unwrap();
    elsewhere.expect(Seen::Heard("hello")).await;
    probe.expect(Seen::Made).await;
    supervisor.hear("welcome back").await.unwrap();
    probe.expect(Seen::Heard("welcome back")).await;
    elsewhere.expect_none().await;
}

/// Rule 13.6.
#[supervise::test]
async fn bkf_06_without_an_answer_a_message_is_a_dead_letter(system: &TestSystem) {
    let probe = system.probe();
    let supervisor = start(system, on_failure(&probe), &probe).await;
    boom(system, &supervisor).await;
    assert!(matches!(supervisor.echo("hello").await, Err(AskError::Stopped)));
    assert_eq!(system.expect_dead_letter(&supervisor).await.message, "Echo");
}

/// Rule 13.5.
#[supervise::test]
async fn bks_07_on_stop_gives_up_after_max_retries(system: &TestSystem) {
    let probe = system.probe();
    let supervisor = start(system, on_stop(&probe).max_retries(2), &probe).await;
    for retry in 1..=2 {
        poison_child(system, &supervisor).await;
        assert_eq!(count(&supervisor).await, retry);
        probe.expect(Seen::Made).await;
    }
    poison_child(system, &supervisor).await;
    system.expect_terminated(&supervisor).await;
}

/// Rule 13.5.
#[supervise::test]
async fn bkf_07_on_failure_gives_up_after_max_retries(system: &TestSystem) {
    let probe = system.probe();
    let supervisor = start(system, on_failure(&probe).max_retries(2), &probe).await;
    for retry in 1..=2 {
        boom(system, &supervisor).await;
        assert_eq!(count(&supervisor).await, retry);
        probe.expect(Seen::Made).await;
    }
    boom(system, &supervisor).await;
    system.expect_terminated(&supervisor).await;
}

/// Rule 13.6.
#[supervise::test]
async fn bks_08_after_the_final_message_the_supervisor_stops_with_its_child(system: &TestSystem) {
    let probe = system.probe();
    let options = on_stop(&probe).final_stop(|message| matches!(message.message(), ChildMessage::Finish));
    let supervisor = start(system, options, &probe).await;
    supervisor.finish().await.unwrap();
    system.expect_terminated(&supervisor).await;
    probe.expect_none().await;
}

/// Rule 13.6.
#[supervise::test]
async fn bks_09_bks_10_without_a_child_the_final_message_stops_the_supervisor(system: &TestSystem) {
    let probe = system.probe();
    let options = on_stop(&probe).final_stop(|message| matches!(message.message(), ChildMessage::Finish));
    let supervisor = start(system, options, &probe).await;
    let first = child(&supervisor).await;
    first.actor_ref().kill();
    assert_eq!(system.expect_decision(&first).await.directive, Directive::Stop);
    supervisor.hear("ping").tell().unwrap();
    assert_eq!(system.expect_dead_letter(&supervisor).await.message, "Hear");
    system.advance(Duration::from_millis(20)).await;
    assert!(!supervisor.actor_ref().has_ended());
    // Any dead letter but the one above would fail the test.
    assert!(matches!(supervisor.finish().await, Err(AskError::Stopped)));
    system.expect_terminated(&supervisor).await;
}

/// Rule 13.4.
#[supervise::test]
async fn bkf_08_a_child_that_stops_itself_ends_the_supervisor(system: &TestSystem) {
    let probe = system.probe();
    let supervisor = start(system, on_failure(&probe), &probe).await;
    supervisor.finish().tell().unwrap();
    system.expect_terminated(&supervisor).await;
}

/// Rule 13.4.
#[supervise::test]
async fn bkf_10_a_failure_decided_with_stop_ends_the_supervisor(system: &TestSystem) {
    let probe = system.probe();
    let stop_when_enough = |failure: &Failure| match failure.downcast_ref::<Bang>() {
        Some(Bang::Enough) => Some(Directive::Stop),
        _ => None,
    };
    let supervisor = start(system, on_failure(&probe).decider_unchecked(stop_when_enough), &probe).await;
    boom(system, &supervisor).await;
    probe.expect(Seen::Made).await;
    fail(system, &supervisor, Bang::Enough).await;
    system.expect_terminated(&supervisor).await;
}

/// Has a child behind a backoff supervisor. The child sends it messages through its own ref.
#[actor]
#[supervise(on(Panic) = Stop, on(_) = Stop)]
struct Parent {
    heard: ProbeHandle<&'static str>,
}

/// Speaks to its supervisor's parent, which it was given.
#[actor]
struct Messenger {
    parent: ParentRef,
}

#[actor]
impl Messenger {
    #[handler]
    fn report(&self) {
        // The test waits for it.
        let _told = self.parent.note("a report").tell();
    }
}

#[actor]
impl Parent {
    #[handler]
    fn keep(&mut self, ctx: &mut Context<Self>) -> Result<BackoffSupervisorRef<Messenger>, SpawnError> {
        let parent = ctx.me();
        let messenger =
            BackoffSupervisor::on_failure("messenger", move || Messenger { parent: parent.clone() }, delays());
        let messenger = ctx.spawn_with("supervisor", messenger.props())?;
        ctx.watch(&*messenger);
        Ok(messenger)
    }

    #[handler]
    fn note(&self, text: &'static str) {
        self.heard.note(text);
    }

    #[watch]
    fn gone(&mut self, gone: Terminated<Messenger>) {
        assert_eq!(gone.path().name(), "supervisor");
        self.heard.note("gone");
    }
}

/// Rule 13.1.
#[supervise::test]
async fn bkf_11_a_child_reaches_its_supervisors_parent_by_the_ref_it_was_given(system: &TestSystem) {
    let probe = system.probe();
    let heard = probe.handle();
    let parent = system.spawn("parent", move || Parent { heard: heard.clone() }).unwrap();
    let messenger = parent.keep().await.unwrap();
    messenger.report().tell().unwrap();
    probe.expect("a report").await;
    messenger.actor_ref().stop();
    probe.expect("gone").await;
}

/// The fixture of Akka's second suite: no jitter, 200 ms to 10 s, at most five within 30 s.
fn five_in_a_row(probe: &TestProbe<Seen>) -> Options {
    let delays = Backoff::exponential(Duration::from_millis(200), Duration::from_secs(10));
    BackoffSupervisor::on_failure("c1", making(probe), delays).max_retries(5).within(Duration::from_secs(30))
}

/// Rule 13.5.
#[supervise::test]
async fn bkf_13_lim_16_the_sixth_failure_in_a_row_is_the_last(system: &TestSystem) {
    let probe = system.probe();
    let supervisor = start(system, five_in_a_row(&probe), &probe).await;
    for _ in 0..5 {
        boom(system, &supervisor).await;
        probe.expect(Seen::Made).await;
    }
    boom(system, &supervisor).await;
    system.expect_terminated(&supervisor).await;
    probe.expect_none().await;
}

/// Rule 13.5.
#[supervise::test]
async fn bkf_14_bkf_16_lim_17_the_retries_count_within_their_window(system: &TestSystem) {
    let probe = system.probe();
    let shortest = Duration::from_millis(300);
    // As in Akka by default.
    let delays = Backoff::exponential(shortest, Duration::from_secs(10)).reset_after(shortest);
    let options =
        BackoffSupervisor::on_failure("c1", making(&probe), delays).max_retries(3).within(Duration::from_secs(1));
    let supervisor = start(system, options, &probe).await;
    for _ in 0..3 {
        boom(system, &supervisor).await;
        probe.expect(Seen::Made).await;
    }
    system.advance(Duration::from_secs(1)).await;
    for _ in 0..3 {
        boom(system, &supervisor).await;
        probe.expect(Seen::Made).await;
    }
    boom(system, &supervisor).await;
    system.expect_terminated(&supervisor).await;
}

/// Rules 7.3, 13.5.
#[supervise::test]
async fn bkf_14_a_window_shorter_than_the_delay_is_never_exceeded(system: &TestSystem) {
    let probe = system.probe();
    let options = on_failure(&probe).max_retries(3).within(Duration::from_millis(10));
    let supervisor = start(system, options, &probe).await;
    for _ in 0..8 {
        boom(system, &supervisor).await;
        assert_eq!(count(&supervisor).await, 1);
        let begun = Instant::now();
        probe.expect(Seen::Made).await;
        assert_eq!(begun.elapsed(), MIN, "a new streak begins, and with it the delay");
        assert_eq!(count(&supervisor).await, 0);
    }
}

/// Rule 13.3.
#[supervise::test]
async fn z_37_on_stop_restarts_a_failed_child_in_place_and_at_once(system: &TestSystem) {
    let probe = system.probe();
    let supervisor = start(system, on_stop(&probe), &probe).await;
    let before = child(&supervisor).await;
    supervisor.fail(Bang::Boom).tell().unwrap();
    system.expect_restarts(&before, 1).await;
    assert_eq!(probe.now().await, Some(Seen::Made));
    assert_eq!(child(&supervisor).await, before);
    assert_eq!(count(&supervisor).await, 0);
}

/// Rule 13.4.
#[supervise::test]
async fn z_38_on_failure_a_child_that_cannot_start_ends_the_supervisor(system: &TestSystem) {
    let broken = BackoffSupervisor::on_failure("c1", || Err::<Child, Bang>(Bang::Boom), delays());
    let supervisor = system.spawn_with("supervisor", broken.props()).unwrap();
    system.expect_terminated(&supervisor).await;
    system.allow_failures();
}

/// Rule 13.3.
#[supervise::test]
async fn on_stop_a_child_that_cannot_start_is_tried_again_after_a_delay(system: &TestSystem) {
    let broken = BackoffSupervisor::on_stop("c1", || Err::<Child, Bang>(Bang::Boom), delays()).max_retries(2);
    let begun = Instant::now();
    let supervisor = system.spawn_with("supervisor", broken.props()).unwrap();
    system.expect_terminated(&supervisor).await;
    assert_eq!(begun.elapsed(), MIN * 3);
    system.allow_failures();
}

/// Rule 13.2.
#[supervise::test]
async fn delays_double_up_to_the_cap_and_jitter_comes_on_top(system: &TestSystem) {
    let probe = system.probe();
    let delays = Backoff::exponential(MIN, MIN * 4).manual_reset().jitter(0.2);
    let options = BackoffSupervisor::on_failure("c1", making(&probe), delays);
    let supervisor = start(system, options, &probe).await;
    for shortest in [1, 2, 4, 4].map(|factor| MIN * factor) {
        boom(system, &supervisor).await;
        let begun = Instant::now();
        probe.expect(Seen::Made).await;
        let delay = begun.elapsed();
        // The clock's grain is a millisecond.
        let longest = shortest.mul_f64(1.2) + Duration::from_millis(1);
        assert!(shortest <= delay && delay <= longest, "{delay:?} is not in {shortest:?}..={longest:?}");
    }
}

/// Rule 13.5.
#[supervise::test]
async fn a_quiet_time_resets_the_count(system: &TestSystem) {
    let probe = system.probe();
    let supervisor = start(system, on_failure(&probe), &probe).await;
    boom(system, &supervisor).await;
    probe.expect(Seen::Made).await;
    supervisor.actor_ref().reset();
    assert_eq!(count(&supervisor).await, 1, "not by hand");
    system.advance(MAX * 9 / 10).await;
    assert_eq!(count(&supervisor).await, 1);
    system.advance(MAX / 10).await;
    assert_eq!(count(&supervisor).await, 0);
}

/// Rule 13.5.
#[supervise::test]
async fn the_window_counts_across_quiet_times(system: &TestSystem) {
    let probe = system.probe();
    let options = on_failure(&probe).max_retries(2).within(Duration::from_secs(90));
    let supervisor = start(system, options, &probe).await;
    for _ in 0..2 {
        boom(system, &supervisor).await;
        probe.expect(Seen::Made).await;
        system.advance(Duration::from_secs(10)).await;
        assert_eq!(count(&supervisor).await, 0);
    }
    boom(system, &supervisor).await;
    system.expect_terminated(&supervisor).await;
}

/// Rule 13.6.
#[supervise::test]
async fn the_supervisor_can_be_asked_while_its_child_is_dying(system: &TestSystem) {
    let probe = system.probe();
    let supervisor = start(system, on_stop(&probe), &probe).await;
    let dying = child(&supervisor).await;
    supervisor.dawdle().tell().unwrap();
    system.settle().await;
    dying.actor_ref().stop();
    assert_eq!(child(&supervisor).await, dying);
    assert_eq!(count(&supervisor).await, 0);
    supervisor.hear("too late").tell().unwrap();
    system.expect_terminated(&dying).await;
    assert_eq!(system.expect_dead_letter(&dying).await.message, "Hear");
    assert_eq!(count(&supervisor).await, 1);
}

/// Rule 13.7.
#[supervise::test]
async fn a_restarted_supervisor_starts_its_child_at_once_and_counts_anew(system: &TestSystem) {
    let probe = system.probe();
    let supervisor = start(system, on_failure(&probe).while_stopped(|_| panic!("on purpose")), &probe).await;
    boom(system, &supervisor).await;
    supervisor.hear("hello").tell().unwrap();
    system.expect_restarts(&supervisor, 1).await;
    assert_eq!(probe.now().await, Some(Seen::Made));
    assert_eq!(count(&supervisor).await, 0);
    system.advance(MIN * 2).await;
    probe.expect_none().await;
}

/// Rule 13.2.
#[supervise::test]
async fn a_stopped_supervisor_starts_no_child(system: &TestSystem) {
    let probe = system.probe();
    let supervisor = start(system, on_failure(&probe), &probe).await;
    boom(system, &supervisor).await;
    supervisor.actor_ref().stop();
    system.expect_terminated(&supervisor).await;
    system.advance(MIN * 2).await;
    probe.expect_none().await;
    assert!(matches!(supervisor.actor_ref().restart_count().await, Err(AskError::Stopped)));
}

/// Rule 13.1.
#[supervise::test]
async fn a_full_child_holds_up_the_senders_of_its_supervisor(system: &TestSystem) {
    let probe = system.probe::<Seen>();
    let handle = probe.handle();
    let bounded = MailboxKind::Bounded { capacity: 1, overflow: Overflow::Fail };
    let template = move || {
        let probe = handle.clone();
        Props::new(move || Child { probe: probe.clone() }).mailbox(bounded)
    };
    let supervisor =
        system.spawn_with("supervisor", BackoffSupervisor::on_stop("c1", template, delays()).props()).unwrap();
    supervisor.dawdle().tell().unwrap();
    // One waits with the child, one is being passed on, one waits with the supervisor.
    for text in ["one", "two", "three"] {
        system.settle().await;
        supervisor.hear(text).tell().unwrap();
    }
    system.settle().await;
    assert_eq!(supervisor.hear("four").tell().unwrap_err().reason(), SendErrorReason::MailboxFull);
    let begun = Instant::now();
    supervisor.actor_ref().stop();
    system.expect_terminated(&supervisor).await;
    assert_eq!(begun.elapsed(), Duration::from_secs(5), "the child's stop timeout, not the supervisor's too");
    let lost = system.take_all(|event| matches!(event, Event::DeadLetter(_))).await;
    assert_eq!(lost.len(), 3);
}

/// Rule 13.5.
#[test]
#[should_panic(expected = "lies between its shortest and its longest delay")]
fn a_quiet_time_shorter_than_the_shortest_delay_is_refused() {
    let hasty = delays().reset_after(MIN / 2);
    let _refused = BackoffSupervisor::on_stop("c1", || Err::<Child, Bang>(Bang::Boom), hasty);
}
