//! Tests that hang, under a watch that does not wait for minutes.

use std::sync::Mutex;
use std::sync::mpsc;

use super::*;
use crate::actor::{Actor, ActorRef, Context, Supervisor};

/// Waits for a message of a `std` channel.
struct Blocking(Arc<Mutex<mpsc::Receiver<()>>>);

impl Supervisor for Blocking {
    type Ref = ActorRef<Self>;
}

impl Actor for Blocking {
    type Message = ();

    async fn handle(&mut self, (): (), _: &mut Context<Self>) -> Result<(), Failure> {
        // `recv` fails when the test drops the sender, which releases this handler.
        let _released = self.0.lock().unwrap().recv().is_err();
        Ok(())
    }
}

/// Is always busy, in one of several ways.
struct Busy;

impl Supervisor for Busy {
    type Ref = ActorRef<Self>;
}

#[derive(Debug, Clone, Copy)]
enum Way {
    Not,
    TellsItself,
    Yields,
}

impl Actor for Busy {
    type Message = Way;

    async fn handle(&mut self, way: Way, ctx: &mut Context<Self>) -> Result<(), Failure> {
        match way {
            Way::Not => {}
            Way::TellsItself => ctx.me().tell(way).map_err(Failure::new)?,
            Way::Yields => loop {
                tokio::task::yield_now().await;
            },
        }
        Ok(())
    }
}

const NEVER: u32 = u32::MAX;

const PATIENT: Limits = Limits {
    look: Duration::from_millis(1),
    turns: u64::MAX,
    busy_looks: NEVER,
    idle_looks: NEVER,
    blocked_looks: NEVER,
};

/// The message of a test that must fail under these limits.
fn complaint(limits: Limits, test: impl AsyncFnOnce(&TestSystem)) -> String {
    let blocked = |why: &str| panic!("{why}");
    let failed = contained(|| {
        run_within(limits, blocked, ActorSystem::builder("test"), test);
    });
    *failed.expect_err("the test fails").into_inner().downcast::<String>().expect("a message")
}

#[test]
fn actors_that_never_rest_fail_the_test_and_are_named() {
    let limits = Limits { turns: 1000, ..PATIENT };
    for way in [Way::TellsItself, Way::Yields] {
        for waits_for_time in [false, true] {
            let said = complaint(limits, async |system| {
                system.spawn("calm", || Busy).unwrap().tell(Way::Not).unwrap();
                system.settle().await;
                for name in ["one", "two"] {
                    system.spawn(name, || Busy).unwrap().tell(way).unwrap();
                }
                if waits_for_time {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                } else {
                    system.settle().await;
                }
            });
            assert!(said.contains("never come to rest"), "{said}");
            assert!(said.contains("/user/one") && said.contains("/user/two"), "{said}");
            assert!(!said.contains("/user/calm"), "{said}");
        }
    }
}

#[test]
fn a_test_that_makes_progress_may_give_its_actors_any_number_of_turns() {
    let limits = Limits { turns: 1000, ..PATIENT };
    for settles in [false, true] {
        run_within(
            limits,
            |why| panic!("{why}"),
            ActorSystem::builder("test"),
            async |system| {
                let busy = system.spawn("busy", || Busy).unwrap();
                for _ in 0..20_000 {
                    busy.tell(Way::Not).unwrap();
                    if settles {
                        system.settle().await;
                    } else {
                        tokio::task::yield_now().await;
                    }
                }
            },
        );
    }
}

#[test]
fn a_task_that_never_rests_fails_the_test() {
    for test_waits in [false, true] {
        let said = complaint(Limits { busy_looks: 50, ..PATIENT }, async |system| {
            let yields = async {
                loop {
                    tokio::task::yield_now().await;
                }
            };
            if test_waits {
                tokio::spawn(yields);
                system.advance(Duration::from_secs(1)).await;
            } else {
                yields.await;
            }
        });
        assert!(said.contains("something has been ready to run"), "{said}");
    }
}

#[test]
fn a_blocking_task_that_does_not_return_fails_the_test() {
    let (release, released) = mpsc::channel::<()>();
    let said = complaint(Limits { idle_looks: 50, ..PATIENT }, async |_| {
        tokio::task::spawn_blocking(move || released.recv()).await.unwrap().unwrap();
    });
    assert!(said.contains("spawn_blocking"), "{said}");
    drop(release);
}

/// Runs a test that blocks its thread until `release` is dropped. Returns the report about it, once that contains `expected`.
fn report(expected: &'static str, release: mpsc::Sender<()>, test: impl AsyncFnOnce(&TestSystem)) -> String {
    let (tell, told) = mpsc::channel();
    let mut release = Some(release);
    let blocked = move |why: &str| {
        if why.contains(expected) && release.take().is_some() {
            tell.send(why.to_owned()).unwrap();
        }
    };
    let limits = Limits { blocked_looks: 50, ..PATIENT };
    run_within(limits, blocked, ActorSystem::builder("test"), test);
    told.try_recv().expect("nothing else lets the test end")
}

#[test]
fn an_actor_that_blocks_the_thread_is_named() {
    let (release, released) = mpsc::channel();
    let released = Arc::new(Mutex::new(released));
    let why = report("in a turn of supervise://test/user/waits", release, async |system| {
        let waits = system.spawn("waits", move || Blocking(Arc::clone(&released))).unwrap();
        waits.tell(()).unwrap();
        system.settle().await;
    });
    assert!(why.contains("an_actor_that_blocks_the_thread_is_named"), "{why}");
}

#[test]
fn a_test_that_blocks_its_own_thread_is_told_of() {
    let (release, released) = mpsc::channel();
    let why = report("outside the turns of actors", release, async |_| assert!(released.recv().is_err()));
    assert!(why.contains("has been blocked"), "{why}");
}

#[test]
fn a_runtime_that_waits_for_a_blocking_task_is_told_of() {
    let (release, released) = mpsc::channel::<()>();
    let why = report("the test is over", release, async |_| {
        drop(tokio::task::spawn_blocking(move || released.recv()));
    });
    assert!(why.contains("spawn_blocking"), "{why}");
}

/// Fails with every message.
struct Printer;

impl Supervisor for Printer {
    type Ref = ActorRef<Self>;
}

impl Actor for Printer {
    type Message = ();

    async fn handle(&mut self, (): (), _: &mut Context<Self>) -> Result<(), Failure> {
        Err(Failure::new(fmt::Error))
    }
}

/// The message of a test that fails in `expect`. Its printer has failed once, and its probe has the values 1, 2 and 3.
fn said_by(expect: impl AsyncFnOnce(&TestSystem, &ActorRef<Printer>, &TestProbe<u32>)) -> String {
    complaint(PATIENT, async |system| {
        let printer = system.spawn("printer", || Printer).unwrap();
        let probe = system.probe();
        (1..4).for_each(|value| probe.handle().note(value));
        system.allow_failures();
        printer.tell(()).unwrap();
        system.settle().await;
        expect(system, &printer, &probe).await;
    })
}

/// The message of an expectation that fails names its line in the test, and what happened instead.
#[test]
fn an_expectation_that_fails_names_its_place_in_the_test() {
    const FAILED: &str = "supervise://test/user/printer failed in handle: an error occurred when formatting an argument; outcome: restart";
    const FIRST: u32 = line!();
    let failing: [(String, &[&str]); 11] = [
        (
            said_by(async |system, printer, _| system.expect_restarts(printer, 3).await),
            &[
                "expected 3 restarts of supervise://test/user/printer, but there was 1; what happened:",
                FAILED,
                "supervise://test/user/printer restarted",
            ],
        ),
        (
            said_by(async |system, printer, _| drop(system.expect_dead_letter(printer).await)),
            &["expected a dead letter for supervise://test/user/printer", FAILED],
        ),
        (
            said_by(async |system, printer, _| drop(system.expect_escalated(printer).await)),
            &["expected an escalated failure of supervise://test/user/printer", FAILED],
        ),
        (
            said_by(async |system, printer, _| {
                system.take_all(|_| true).await;
                drop(system.expect_decision(printer).await);
            }),
            &["expected a decision about supervise://test/user/printer; nothing happened"],
        ),
        (
            said_by(async |system, _, _| system.expect("a miracle", |_| None).await),
            &["expected a miracle", FAILED],
        ),
        (
            said_by(async |system, printer, _| _ = system.expect_terminated(printer).await),
            &[
                "expected supervise://test/user/printer to end, but it did not; it is Running; what happened:",
                FAILED,
            ],
        ),
        (
            said_by(async |_, _, probe| probe.expect(7).await),
            &["the probe expected 7, but got 1, and after it [2, 3]"],
        ),
        (
            said_by(async |_, _, probe| probe.expect_none().await),
            &["the probe expected nothing, but got [1, 2, 3]"],
        ),
        (
            said_by(async |_, _, probe| probe.fish_for(|value| (value == 7).then_some(())).await),
            &["the probe expected another value, but none came; it skipped 3"],
        ),
        (
            said_by(async |system, _, _| drop(system.probe::<String>().next().await)),
            &["the probe expected a value, but none came"],
        ),
        (
            said_by(async |system, _, _| system.probe().expect("it").await),
            &["the probe expected \"it\", but nothing came"],
        ),
    ];
    let last = line!();
    for (said, parts) in &failing {
        let place = said.split_once(concat!(file!(), ":")).and_then(|(_, place)| place.split(':').next());
        let line = place.and_then(|line| line.parse::<u32>().ok());
        assert!(line.is_some_and(|line| (FIRST..last).contains(&line)), "{said}");
        for part in *parts {
            assert!(said.contains(part), "`{part}` is missing: {said}");
        }
    }
}

/// A private child is found by its path. What is there instead is named.
#[test]
fn an_actor_is_found_by_its_path_and_type() {
    let place = format!("{}:", file!());
    let missing = |path: &'static str| {
        complaint(PATIENT, async move |system| {
            system.spawn("printer", || Printer).unwrap();
            system.spawn("busy", || Busy).unwrap();
            assert_eq!(system.actor::<Printer>("/user/printer").await.path().local(), "/user/printer");
            drop(system.actor::<Printer>(path).await);
        })
    };
    for (path, parts) in [
        ("/user/busy", "expected a `Printer` at /user/busy, but the actor there is a `Busy`"),
        (
            "/user/pinter",
            "expected an actor at /user/pinter, but /user has `printer` (`Printer`), `busy` (`Busy`)",
        ),
        ("/user/printer/tray/1", "expected an actor at /user/printer/tray/1, but /user/printer has no children"),
    ] {
        let said = missing(path);
        assert!(said.starts_with(&place) && said.ends_with(parts), "{said}");
    }
}

/// Dead letters, more than a test keeps by default.
async fn lose_many(system: &TestSystem) {
    system.allow_dead_letters();
    let actor: ActorRef<Busy> = system.spawn("busy", || Busy).unwrap();
    actor.stop();
    system.expect_terminated(&actor).await;
    for _ in 0..70_000 {
        assert!(actor.tell(Way::Not).is_err());
    }
}

/// The panic says what to do.
#[test]
fn a_test_that_misses_events_says_how_to_keep_more() {
    let said = complaint(PATIENT, lose_many);
    assert!(said.contains("more events than the test keeps: ") && said.contains("`event_capacity`"), "{said}");
    run_with(ActorSystem::builder("test").event_capacity(1 << 17), async |system| {
        lose_many(system).await;
        let lost = system.take_all(|event| matches!(event, Event::DeadLetter(_))).await;
        assert_eq!(lost.len(), 70_000);
    });
}
