//! BKS, BKF: supervisors that start their child again after a delay. `on_stop` does so after any end of the child,
//! `on_failure` after a failure for which the decision is `Restart`.

mod delays;
mod limits;
mod lines;
mod messages;

use std::time::Duration;

use supervise::pattern::{BackoffSupervisor, BackoffSupervisorProps, BackoffSupervisorRef};
use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestProbe, TestSystem};
use supervise::{Backoff, Directive};

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

/// An actor with a child behind a backoff supervisor. The child sends it messages through its own ref.
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
