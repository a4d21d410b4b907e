//! Coordinated shutdown (CSD).
//!
//! Rule 16.2.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{self, ProbeHandle, TestProbe, TestSystem};
use supervise::{
    ActorSystemBuilder, AddTaskError, CoordinatedShutdown, InvalidPhases, InvalidShutdown, Phase, ShutdownError,
    ShutdownReason, ShutdownSettings, StartError,
};
use tokio::time::Instant;

use crate::log::Log;

fn with(settings: ShutdownSettings) -> ActorSystemBuilder {
    ActorSystem::builder("test").coordinated_shutdown(settings)
}

/// `a`, then `b`, then `c`, in a shutdown that does nothing else.
fn abc() -> ShutdownSettings {
    ShutdownSettings::new()
        .leave_system_running()
        .terminate_directly()
        .phase(Phase::new("a"))
        .phase(Phase::new("b").after("a"))
        .phase(Phase::new("c").after("b"))
}

/// A task that notes a name.
#[expect(clippy::unused_async, reason = "a task is a future")]
async fn note<T>(handle: ProbeHandle<T>, value: T) {
    handle.note(value);
}

fn add(shutdown: &CoordinatedShutdown, phase: &str, probe: &TestProbe<&'static str>, name: &'static str) {
    shutdown.add_task(phase, name, note(probe.handle(), name)).unwrap();
}

/// Ends when it is told to.
#[actor]
struct Service;

#[actor]
impl Service {
    #[handler]
    fn close(&mut self, ctx: &mut Context<Self>) {
        ctx.stop_self();
    }
}

#[supervise::test]
async fn csd_01_each_phase_comes_after_those_it_depends_on(_: &TestSystem) {
    let shapes: [&[(&str, &[&str])]; 7] = [
        &[],
        &[("a", &[]), ("b", &["a"])],
        &[("b", &["a"]), ("a", &[])],
        &[("a", &[]), ("c", &["a"]), ("b", &["a"])],
        &[("d", &["b", "c"]), ("a", &[]), ("b", &["a"]), ("c", &["b"])],
        &[("e", &["d"]), ("d", &["b", "c"]), ("c", &["a"]), ("b", &["a"]), ("a", &[])],
        &[("b2", &["a2"]), ("b1", &["a1"]), ("c1", &["b1"]), ("c2", &["b2"]), ("a2", &[]), ("a1", &[])],
    ];
    for shape in shapes {
        let phases = shape
            .iter()
            .map(|(name, after)| after.iter().fold(Phase::new(*name), |phase, earlier| phase.after(*earlier)));
        let settings = phases.fold(ShutdownSettings::new(), ShutdownSettings::phase);
        let system = with(settings).start().unwrap();
        let shutdown = system.coordinated_shutdown();
        let order: Vec<&str> = shutdown.phases().collect();
        assert_eq!(order.len(), 12 + shape.len(), "{order:?}");
        let at = |name: &str| order.iter().position(|phase| *phase == name).unwrap();
        for (name, after) in shape {
            assert!(after.iter().all(|earlier| at(earlier) < at(name)), "{order:?}");
        }
        system.terminate().await;
    }
}

#[supervise::test]
async fn csd_02_phases_that_wait_for_each_other_are_refused(_: &TestSystem) {
    for (shape, cycle) in [
        (vec![("a", "a")], vec!["a", "a"]),
        (vec![("a", "b"), ("b", "a")], vec!["a", "b", "a"]),
        (vec![("a", "c"), ("b", "a"), ("c", "b")], vec!["a", "c", "b", "a"]),
    ] {
        let settings = shape.into_iter().fold(ShutdownSettings::new(), |settings, (name, after)| {
            settings.phase(Phase::new(name).after(after))
        });
        match with(settings).start().unwrap_err() {
            StartError::InvalidShutdown(InvalidShutdown::Phases(InvalidPhases::Cycle(found))) => {
                assert_eq!(found, cycle);
            }
            other => panic!("{other}"),
        }
    }
}

#[supervise::test]
async fn csd_03_twelve_phases_are_predefined(system: &TestSystem) {
    assert_eq!(
        system.coordinated_shutdown().phases().collect::<Vec<_>>(),
        [
            "before-service-unbind",
            "service-unbind",
            "service-requests-done",
            "service-stop",
            "before-cluster-shutdown",
            "cluster-sharding-shutdown-region",
            "cluster-leave",
            "cluster-exiting",
            "cluster-exiting-done",
            "cluster-shutdown",
            "before-actor-system-terminate",
            "actor-system-terminate",
        ]
    );
}

#[test]
fn csd_04_a_phase_begins_when_all_tasks_of_the_one_before_are_done() {
    testkit::run_with(with(abc()), async |system| {
        let (shutdown, probe) = (system.coordinated_shutdown(), system.probe());
        add(&shutdown, "a", &probe, "A");
        add(&shutdown, "b", &probe, "B");
        let slow = probe.handle();
        shutdown
            .add_task("b", "b2", async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                slow.note("B slow");
            })
            .unwrap();
        add(&shutdown, "c", &probe, "C");
        shutdown.run("test").await.unwrap();
        assert_eq!(probe.all().await, ["A", "B", "B slow", "C"]);
    });
}

#[test]
fn csd_05_a_cancelled_task_does_not_run() {
    testkit::run_with(with(abc()), async |system| {
        let (shutdown, probe) = (system.coordinated_shutdown(), system.probe());
        add(&shutdown, "a", &probe, "1");
        let second = shutdown.add_task("b", "2", note(probe.handle(), "2")).unwrap();
        add(&shutdown, "b", &probe, "3");
        assert!(second.cancel());
        assert!(!second.cancel());
        shutdown.run("test").await.unwrap();
        assert_eq!(probe.all().await, ["1", "3"]);
    });
}

#[test]
fn csd_06_a_task_registered_again_runs_again() {
    testkit::run_with(with(abc()), async |system| {
        let (shutdown, probe) = (system.coordinated_shutdown(), system.probe());
        let tasks = [(); 3].map(|()| shutdown.add_task("a", "same", note(probe.handle(), "ran")).unwrap());
        assert!(tasks[1].cancel());
        shutdown.run("test").await.unwrap();
        assert_eq!(probe.all().await, ["ran", "ran"]);
    });
}

#[test]
fn csd_07_only_later_phases_take_changes() {
    testkit::run_with(with(abc()), async |system| {
        let (shutdown, probe) = (system.coordinated_shutdown(), system.probe::<&str>());
        let of_a = shutdown.add_task("a", "a2", pending::<()>()).unwrap();
        assert!(of_a.cancel());
        let cancelled = shutdown.add_task("b", "cancelled", note(probe.handle(), "cancelled")).unwrap();
        let (own, handle) = (shutdown.clone(), probe.handle());
        shutdown
            .add_task("a", "A", async move {
                handle.note("A");
                assert!(cancelled.cancel());
                own.add_task("b", "B", note(handle.clone(), "A adds B")).unwrap();
                let late = own.add_task("a", "late", note(handle, "late"));
                assert!(matches!(late, Err(AddTaskError::TooLate { phase }) if phase == "a"));
            })
            .unwrap();
        let (own, handle) = (shutdown.clone(), probe.handle());
        let kept = shutdown.add_task("a", "kept", note(probe.handle(), "kept")).unwrap();
        shutdown
            .add_task("b", "B", async move {
                assert!(own.add_task("a", "too late", note(handle.clone(), "B adds A")).is_err());
                assert!(!kept.cancel());
                own.add_task("c", "C", note(handle, "B adds C")).unwrap();
            })
            .unwrap();
        shutdown.run("test").await.unwrap();
        assert_eq!(probe.all().await, ["A", "kept", "A adds B", "B adds C"]);
    });
}

#[test]
fn csd_08_tasks_come_and_go_across_threads() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    runtime.block_on(async {
        let system = with(abc()).start().unwrap();
        let shutdown = system.coordinated_shutdown();
        let ran = Arc::new(AtomicUsize::new(0));
        let registrations: Vec<_> = (0..20)
            .map(|n| {
                let (shutdown, ran) = (shutdown.clone(), Arc::clone(&ran));
                tokio::spawn(async move {
                    let own = shutdown.clone();
                    let task = shutdown.add_task("a", format!("{n}"), async move {
                        ran.fetch_add(1, Ordering::Relaxed);
                        let next = async move {
                            ran.fetch_add(1, Ordering::Relaxed);
                        };
                        own.add_task("b", "next", next).unwrap();
                    });
                    if n % 2 == 0 {
                        assert!(task.unwrap().cancel());
                    }
                })
            })
            .collect();
        for registration in registrations {
            registration.await.unwrap();
        }
        shutdown.run("test").await.unwrap();
        assert_eq!(ran.load(Ordering::Relaxed), 20);
        system.terminate().await;
    });
}

#[test]
fn csd_09_a_run_can_begin_at_a_later_phase() {
    testkit::run_with(with(abc()), async |system| {
        let (shutdown, probe) = (system.coordinated_shutdown(), system.probe());
        for (phase, name) in [("a", "A"), ("b", "B"), ("c", "C")] {
            add(&shutdown, phase, &probe, name);
        }
        assert!(matches!(shutdown.run_from("d", "test").await, Err(ShutdownError::UnknownPhase(_))));
        assert_eq!(shutdown.reason(), None);
        shutdown.run_from("b", "test").await.unwrap();
        assert_eq!(probe.all().await, ["B", "C"]);
    });
}

#[test]
fn csd_10_it_runs_once_and_the_first_reason_stays() {
    testkit::run_with(with(abc()), async |system| {
        let (shutdown, probe) = (system.coordinated_shutdown(), system.probe());
        add(&shutdown, "a", &probe, "A");
        let (first, second) = tokio::join!(shutdown.run("first"), shutdown.run("second"));
        first.unwrap();
        second.unwrap();
        shutdown.run_from("a", "third").await.unwrap();
        assert_eq!(probe.all().await, ["A"]);
        assert_eq!(shutdown.reason(), Some("first".into()));
    });
}

#[test]
fn csd_11_a_failure_or_a_timeout_does_not_hold_up_the_rest() {
    testkit::run_with(with(abc().phase_timeout(Duration::from_secs(2))), async |system| {
        let (shutdown, probe) = (system.coordinated_shutdown(), system.probe());
        shutdown.add_task("a", "fails", async { Err("boom") }).unwrap();
        shutdown.add_task("a", "panics", async { boom() }).unwrap();
        add(&shutdown, "a", &probe, "A");
        let dropped = probe.handle();
        let on_drop = OnDrop(move || dropped.note("dropped"));
        shutdown
            .add_task("b", "hangs", async move {
                let _alive = on_drop;
                pending::<()>().await;
            })
            .unwrap();
        add(&shutdown, "b", &probe, "B");
        add(&shutdown, "c", &probe, "C");
        let begun = Instant::now();
        shutdown.run("test").await.unwrap();
        assert_eq!(begun.elapsed(), Duration::from_secs(2));
        let mut noted = probe.all().await;
        noted.sort_unstable();
        assert_eq!(noted, ["A", "B", "C", "dropped"]);
    });
}

fn boom() {
    panic!("boom");
}

struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn csd_12_a_phase_without_recovery_ends_the_shutdown() {
    let settings = || abc().phase(Phase::new("b").abort_on_failure().timeout(Duration::from_secs(1)));
    testkit::run_with(with(settings()), async |system| {
        let (shutdown, probe) = (system.coordinated_shutdown(), system.probe());
        shutdown.add_task("b", "fails", async { Err("boom") }).unwrap();
        add(&shutdown, "b", &probe, "B");
        add(&shutdown, "c", &probe, "C");
        let error = shutdown.run("test").await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the coordinated shutdown was aborted in `b`: the task `fails` failed: boom"
        );
        assert_eq!(probe.all().await, ["B"], "what ran beside the failure was not cut short");
    });
    testkit::run_with(with(settings()), async |system| {
        let (shutdown, probe) = (system.coordinated_shutdown(), system.probe());
        shutdown.add_task("b", "hangs", pending::<()>()).unwrap();
        add(&shutdown, "c", &probe, "C");
        match shutdown.run("test").await.unwrap_err() {
            ShutdownError::TimedOut { phase, tasks, .. } => {
                assert_eq!((phase.as_str(), tasks), ("b", vec!["hangs".to_owned()]));
            }
            other => panic!("{other}"),
        }
        probe.expect_none().await;
    });
}

#[test]
fn csd_12_terminate_ends_the_system_although_the_shutdown_is_aborted() {
    let settings = ShutdownSettings::new().phase(Phase::new(Phase::SERVICE_STOP).abort_on_failure());
    testkit::run_with(with(settings), async |system| {
        let service = system.spawn("service", || Service).unwrap();
        system.coordinated_shutdown().add_task(Phase::SERVICE_STOP, "fails", async { Err("boom") }).unwrap();
        system.terminate().await;
        assert!(service.actor_ref().has_ended());
    });
}

#[test]
fn csd_13_the_tasks_of_a_skipped_phase_do_not_run() {
    testkit::run_with(with(abc().phase(Phase::new("b").skip())), async |system| {
        let (shutdown, probe) = (system.coordinated_shutdown(), system.probe());
        for (phase, name) in [("a", "A"), ("b", "B"), ("c", "C")] {
            add(&shutdown, phase, &probe, name);
        }
        let log = Log::open();
        shutdown.run("test").await.unwrap();
        assert_eq!(probe.all().await, ["A", "C"]);
        let said: Vec<_> =
            log.at(tracing::Level::INFO).into_iter().filter(|text| text.contains("skipped")).collect();
        assert!(
            matches!(&said[..], [one] if one.contains("phase=\"b\"") && one.contains("tasks=[\"B\"]")),
            "{said:?}"
        );
    });
}

/// A panic while another one unwinds would end the process.
#[test]
fn csd_13_tasks_that_panic_when_they_are_dropped_harm_nobody() {
    testkit::run_with(with(abc().phase(Phase::new("b").skip())), async |system| {
        let (shutdown, probe) = (system.coordinated_shutdown(), system.probe());
        for phase in ["a", "a", "b", "b"] {
            let on_drop = OnDrop(boom);
            shutdown.add_task(phase, "never runs", async move { drop(on_drop) }).unwrap();
        }
        add(&shutdown, "c", &probe, "C");
        shutdown.run_from("b", "test").await.unwrap();
        probe.expect("C").await;
    });
}

#[test]
fn csd_14_a_task_can_add_one_to_a_later_phase() {
    testkit::run_with(with(abc()), async |system| {
        let (shutdown, probe) = (system.coordinated_shutdown(), system.probe());
        let (own, handle) = (shutdown.clone(), probe.handle());
        shutdown.add_task("a", "A", async move { own.add_task("c", "C", note(handle, "C")).map(drop) }).unwrap();
        shutdown.run("test").await.unwrap();
        assert_eq!(probe.all().await, ["C"]);
    });
}

#[test]
fn csd_15_a_setting_of_a_phase_counts_for_that_phase() {
    let settings =
        abc().phase_timeout(Duration::from_secs(3)).phase(Phase::new("b").timeout(Duration::from_secs(1)));
    testkit::run_with(with(settings), async |system| {
        let shutdown = system.coordinated_shutdown();
        shutdown.add_task("a", "hangs", pending::<()>()).unwrap();
        shutdown.add_task("b", "hangs", pending::<()>()).unwrap();
        let begun = Instant::now();
        shutdown.run("test").await.unwrap();
        assert_eq!(begun.elapsed(), Duration::from_secs(4));
    });
}

#[supervise::test]
async fn csd_16_the_last_phase_ends_the_system(system: &TestSystem) {
    let (shutdown, probe) = (system.coordinated_shutdown(), system.probe());
    let service = system.spawn("service", || Service).unwrap();
    add(&shutdown, Phase::BEFORE_ACTOR_SYSTEM_TERMINATE, &probe, "before");
    shutdown.run("enough").await.unwrap();
    assert!(system.has_terminated() && service.actor_ref().has_ended());
    assert_eq!(shutdown.reason(), Some("enough".into()));
    assert_eq!(probe.all().await, ["before"]);
}

#[supervise::test]
async fn csd_17_terminate_runs_it(system: &TestSystem) {
    let (shutdown, probe) = (system.coordinated_shutdown(), system.probe());
    let service = system.spawn("service", || Service).unwrap();
    let (handle, alive) = (probe.handle(), service.clone());
    shutdown
        .add_task(Phase::SERVICE_STOP, "look", async move { handle.note(!alive.actor_ref().has_ended()) })
        .unwrap();
    system.terminate().await;
    assert_eq!(shutdown.reason(), Some(ShutdownReason::Terminate));
    assert_eq!(probe.all().await, [true]);
    assert!(service.actor_ref().has_ended());
}

#[supervise::test]
async fn csd_17_terminate_gives_the_reason_even_with_nothing_to_run(system: &TestSystem) {
    let shutdown = system.coordinated_shutdown();
    assert_eq!(shutdown.reason(), None);
    system.terminate().await;
    assert_eq!(shutdown.reason(), Some(ShutdownReason::Terminate));
    assert!(matches!(shutdown.add_task(Phase::SERVICE_STOP, "late", async {}), Err(AddTaskError::TooLate { .. })));
    shutdown.run("late").await.unwrap();
}

#[supervise::test]
async fn csd_17_terminate_ends_the_system_although_nobody_waits(system: &TestSystem) {
    let (shutdown, probe) = (system.coordinated_shutdown(), system.probe());
    add(&shutdown, Phase::SERVICE_STOP, &probe, "ran");
    let waited = tokio::time::timeout(Duration::ZERO, system.terminate()).await;
    assert!(waited.is_err());
    system.when_terminated().await.unwrap();
    assert_eq!(probe.all().await, ["ran"]);
}

#[test]
fn csd_18_terminate_can_do_without_it() {
    testkit::run_with(with(ShutdownSettings::new().terminate_directly()), async |system| {
        let (shutdown, probe) = (system.coordinated_shutdown(), system.probe());
        add(&shutdown, Phase::SERVICE_STOP, &probe, "ran");
        system.terminate().await;
        assert_eq!(shutdown.reason(), None);
        probe.expect_none().await;
    });
}

#[supervise::test]
async fn csd_19_terminate_must_not_run_what_leaves_the_system_running(_: &TestSystem) {
    let error = with(ShutdownSettings::new().leave_system_running()).start().unwrap_err();
    assert_eq!(error, StartError::InvalidShutdown(InvalidShutdown::TerminatesNothing));
}

#[supervise::test]
async fn csd_20_a_phase_waits_for_an_actor_with_or_without_a_message(system: &TestSystem) {
    let (shutdown, probe) = (system.coordinated_shutdown(), system.probe());
    let [told, awaited] = ["told", "awaited"].map(|name| system.spawn(name, || Service).unwrap());
    shutdown.add_actor_termination_with(Phase::SERVICE_UNBIND, "told", told.close()).unwrap();
    shutdown.add_actor_termination(Phase::SERVICE_STOP, "awaited", &awaited).unwrap();
    add(&shutdown, Phase::SERVICE_REQUESTS_DONE, &probe, "told is gone");
    add(&shutdown, Phase::BEFORE_CLUSTER_SHUTDOWN, &probe, "awaited is gone");
    let run = tokio::spawn({
        let shutdown = shutdown.clone();
        async move { shutdown.run("test").await }
    });
    probe.expect("told is gone").await;
    assert!(told.actor_ref().has_ended() && !awaited.actor_ref().has_ended());
    system.advance(Duration::from_secs(4)).await;
    probe.expect_none().await;
    awaited.close().tell().unwrap();
    probe.expect("awaited is gone").await;
    run.await.unwrap().unwrap();
}

#[supervise::test]
async fn csd_21_an_actor_that_has_ended_holds_up_nothing(system: &TestSystem) {
    let shutdown = system.coordinated_shutdown();
    let service = system.spawn("service", || Service).unwrap();
    system.stop(&service);
    system.expect_terminated(&service).await;
    shutdown.add_actor_termination(Phase::SERVICE_STOP, "without", &service).unwrap();
    shutdown.add_actor_termination_with(Phase::SERVICE_STOP, "with", service.close()).unwrap();
    system.allow_dead_letters();
    let begun = Instant::now();
    shutdown.run("test").await.unwrap();
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[supervise::test]
async fn csd_22_an_actor_may_be_awaited_twice_in_a_phase(system: &TestSystem) {
    awaits_twice(system, [Phase::SERVICE_STOP, Phase::SERVICE_STOP]).await;
}

#[supervise::test]
async fn csd_23_an_actor_may_be_awaited_in_two_phases(system: &TestSystem) {
    system.allow_dead_letters();
    awaits_twice(system, [Phase::SERVICE_UNBIND, Phase::SERVICE_STOP]).await;
}

async fn awaits_twice(system: &TestSystem, phases: [&str; 2]) {
    let shutdown = system.coordinated_shutdown();
    let service = system.spawn("service", || Service).unwrap();
    system.allow_dead_letters();
    for phase in phases {
        shutdown.add_actor_termination_with(phase, "service", service.close()).unwrap();
    }
    let begun = Instant::now();
    shutdown.run("test").await.unwrap();
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert!(service.actor_ref().has_ended());
}

#[supervise::test]
async fn tasks_that_never_run_are_dropped_with_the_system(system: &TestSystem) {
    let probe = system.probe();
    let dropped = probe.handle();
    let on_drop = OnDrop(move || dropped.note("dropped"));
    let task = async move { drop(on_drop) };
    let shutdown = system.coordinated_shutdown();
    shutdown.add_task(Phase::SERVICE_STOP, "never", task).unwrap();
    system.user_guardian().stop();
    system.when_terminated().await.unwrap();
    probe.expect("dropped").await;
    assert_eq!(shutdown.reason(), None);
    assert!(shutdown.add_task(Phase::SERVICE_STOP, "late", async {}).is_err());
}

#[supervise::test]
async fn a_task_that_waits_for_the_end_it_holds_up_is_given_up(system: &TestSystem) {
    let own = (**system).clone();
    let task = async move { own.terminate().await };
    system.coordinated_shutdown().add_task(Phase::SERVICE_STOP, "terminates", task).unwrap();
    let begun = Instant::now();
    system.terminate().await;
    assert_eq!(begun.elapsed(), Duration::from_secs(5));
}
