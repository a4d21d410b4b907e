//! Fails a test that hangs where no virtual time passes. The paused clock stands still while a task is ready to run,
//! and while a blocking task runs, so no timeout on that clock can end such a test. A separate thread watches the test
//! in real time.
//!
//! | what it sees | how it interprets this | what it does |
//! |---|---|---|
//! | turns of actors, never a moment without a ready task, and a test that waits | actors that never become idle | fails the test |
//! | the same without turns, for a while | a task that never becomes idle | fails the test |
//! | an idle runtime, and a clock that does not move | a blocking task that does not return | fails the test |
//! | a runtime that does not react at all | user code that blocks the thread | reports this and aborts the process |

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::actor::Activity;
use crate::base::ActorPath;

/// When the watch considers a test as hanging.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The interval between two looks, in real time. The other limits count looks rather than time, so that a process
    /// that is suspended or stopped in a debugger does not reach them.
    pub(super) look: Duration,
    /// How many turns all actors may have without an idle moment, while the test itself waits.
    pub(super) turns: u64,
    /// How many looks may find the runtime busy without an idle moment in between.
    pub(super) busy_looks: u32,
    /// How many looks may find that nothing has happened.
    pub(super) idle_looks: u32,
    /// How many looks the runtime may fail to notice.
    pub(super) blocked_looks: u32,
}

/// How many turns are counted to find the busy actors.
const NAMING_TURNS: u64 = 1000;

impl Limits {
    pub(super) const GENEROUS: Self = Self {
        look: Duration::from_millis(100),
        // A few seconds in a debug build.
        turns: 2_000_000,
        // A minute.
        busy_looks: 600,
        // Five minutes.
        idle_looks: 3000,
        blocked_looks: 3000,
    };
}

/// What the runtime tells the watch.
#[derive(Debug, Default)]
pub(super) struct Signs {
    /// How often no task was ready to run.
    rests: AtomicU64,
    /// How often the test itself made progress.
    progress: AtomicU64,
    /// How many looks the runtime has noticed.
    noticed: AtomicU64,
    /// The virtual time at the last noticed look, in milliseconds.
    clock: AtomicU64,
    looks: Notify,
    /// The test is over, but its runtime still exists.
    over: AtomicBool,
}

impl Signs {
    /// No task is ready to run.
    pub(super) fn rest(&self) {
        self.rests.fetch_add(1, Ordering::Relaxed);
    }

    /// The test itself makes progress: it does not only wait for busy actors to settle.
    pub(super) fn progress(&self) {
        self.progress.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn test_is_over(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Shows the watch that the runtime is alive.
    async fn notice(self: Arc<Self>) {
        let began = Instant::now();
        loop {
            self.looks.notified().await;
            let clock = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.clock.store(clock, Ordering::Relaxed);
            self.noticed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Watches a test until it is dropped.
pub(super) struct Watch {
    /// The thread ends when this is dropped.
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Begins to watch, from within the test's runtime. The second part of the result receives the reason if the test
    /// must fail.
    ///
    /// While the test cannot end, each look calls `blocked` with the reason.
    pub(super) fn begin(
        limits: Limits,
        signs: &Arc<Signs>,
        activity: &Activity,
        blocked: impl FnMut(&str) + Send + 'static,
    ) -> (Self, oneshot::Receiver<String>) {
        drop(tokio::spawn(Arc::clone(signs).notice()));
        activity.record();
        let (fail, failure) = oneshot::channel();
        let (stop, stopped) = mpsc::channel();
        let mut watcher = Watcher {
            limits,
            test: thread::current().name().unwrap_or("the test").to_owned(),
            signs: Arc::clone(signs),
            activity: activity.clone(),
            fail: Some(fail),
            blocked,
            before: Sight::default(),
            turns_before: 0,
            busy: 0,
            idle: 0,
            unnoticed: 0,
            naming: None,
        };
        let thread = thread::Builder::new().name("testkit".to_owned()).spawn(move || {
            while stopped.recv_timeout(limits.look) == Err(mpsc::RecvTimeoutError::Timeout) {
                watcher.look();
            }
        });
        match thread {
            Ok(thread) => (Self { stop: Some(stop), thread: Some(thread) }, failure),
            Err(error) => panic!("no thread to watch the test: {error}"),
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // It panics only if this crate has a bug, and the panic has been printed.
            let _ended = thread.join();
        }
    }
}

/// Reports why the process ends, and aborts it: nothing else can end code that blocks its thread.
pub(super) fn abort(why: &str) {
    // Not `eprintln!`: the test harness captures it, and an abort loses it.
    let _unheard = writeln!(std::io::stderr(), "\n{why}");
    std::process::abort();
}

/// What one look sees.
#[derive(Debug, Default, Clone, Copy)]
struct Sight {
    rests: u64,
    progress: u64,
    noticed: u64,
    clock: u64,
    turns: u64,
}

/// The state of the watch's thread.
struct Watcher<B> {
    limits: Limits,
    /// The test's name.
    test: String,
    signs: Arc<Signs>,
    activity: Activity,
    fail: Option<oneshot::Sender<String>>,
    blocked: B,
    before: Sight,
    /// The number of turns when a look last saw an idle moment or progress of the test.
    turns_before: u64,
    /// Looks that the runtime noticed since the last idle moment.
    busy: u32,
    /// Looks since the last turn of an actor or the last move of the clock.
    idle: u32,
    /// Looks since the last one that the runtime noticed.
    unnoticed: u32,
    /// The number of turns when the watch began to count the turns of each actor.
    naming: Option<u64>,
}

impl<B: FnMut(&str)> Watcher<B> {
    fn look(&mut self) {
        let now = Sight {
            rests: self.signs.rests.load(Ordering::Relaxed),
            progress: self.signs.progress.load(Ordering::Relaxed),
            noticed: self.signs.noticed.load(Ordering::Relaxed),
            clock: self.signs.clock.load(Ordering::Relaxed),
            turns: self.activity.so_far(),
        };
        let before = std::mem::replace(&mut self.before, now);
        let noticed = now.noticed != before.noticed;
        self.unnoticed = if noticed { 0 } else { self.unnoticed + 1 };
        self.idle = if (now.clock, now.turns) == (before.clock, before.turns) { self.idle + 1 } else { 0 };
        if (now.rests, now.progress) != (before.rests, before.progress) {
            (self.turns_before, self.naming) = (now.turns, None);
        }
        if now.rests != before.rests {
            self.busy = 0;
        } else if noticed {
            self.busy += 1;
        }
        self.judge(now);
        self.signs.looks.notify_one();
    }

    fn judge(&mut self, now: Sight) {
        let Limits { look, turns, busy_looks, idle_looks, blocked_looks } = self.limits;
        if self.unnoticed >= blocked_looks {
            self.report_blocked(look * self.unnoticed);
        } else if let Some(since) = self.naming {
            if now.turns - since >= NAMING_TURNS {
                let names = self.activity.busiest();
                self.fail(never_rests(now.turns - self.turns_before, &names));
            }
        } else if now.turns - self.turns_before > turns {
            self.activity.count_by_actor();
            self.naming = Some(now.turns);
        } else if self.busy >= busy_looks {
            self.fail(format!(
                "the test never comes to rest: something has been ready to run for {:?}, and the clock moves only when nothing \
                 is; does a task yield in a loop?",
                look * self.busy
            ));
        } else if self.idle >= idle_looks && self.unnoticed == 0 {
            self.fail(format!(
                "nothing has happened for {:?}; the clock stands still while a blocking task (`spawn_blocking`) runs, so the \
                 test probably waits for one that does not return",
                look * self.idle
            ));
        }
    }

    fn fail(&mut self, why: String) {
        if let Some(fail) = self.fail.take() {
            // The test is over.
            let _late = fail.send(why);
        }
    }

    fn report_blocked(&mut self, time: Duration) {
        let Self { test, signs, activity, blocked, .. } = self;
        blocked(&if signs.over.load(Ordering::Relaxed) {
            format!(
                "{test}: the test is over, but its runtime has waited for {time:?} for a blocking task (`spawn_blocking`) that \
                 does not return, or for a value that blocks when it is dropped"
            )
        } else {
            let place = activity
                .current()
                .map_or_else(|| "outside the turns of actors".to_owned(), |actor| format!("in a turn of {actor}"));
            format!(
                "{test}: the test's thread has been blocked for {time:?}, {place}: it waits for a lock, a channel of \
                 `std` or another thread, or computes without an `.await`. All actors of a test share its thread, and only \
                 the end of the process can end this"
            )
        });
    }
}

fn never_rests(turns: u64, names: &[ActorPath]) -> String {
    let mut why = format!(
        "the actors of the test never come to rest: they had {turns} turns in a row while the test waited, and the clock moves \
         only when none is ready; busy:"
    );
    for name in names {
        // Writing to a string cannot fail.
        let _written = write!(why, " {name}");
    }
    why
}
