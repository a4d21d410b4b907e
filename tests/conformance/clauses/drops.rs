//! A3: destructors of users' values are user code. Whatever they do, no decision changes, and no thread waits.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use supervise::prelude::*;
use supervise::{Backoff, ChildInfo, Directive, Props, RuntimeGone, Scope, Strategy};

use crate::fixture::{Keeper, KeeperRef, child, keeping, ms, within};
use crate::log::Log;

/// What a destructor does, and how often it was run.
struct Malice {
    act: Act,
    dropped: AtomicU32,
    scene: OnceLock<Scene>,
}

#[derive(Debug, Clone, Copy)]
enum Act {
    Panics,
    Looks,
    Tells,
    Spawns,
}

const ACTS: [Act; 4] = [Act::Panics, Act::Looks, Act::Tells, Act::Spawns];

/// The actors that a destructor may reach.
struct Scene {
    system: ActorSystem,
    boss: Option<KeeperRef>,
}

impl Malice {
    fn new(act: Act) -> Arc<Self> {
        Arc::new(Self { act, dropped: AtomicU32::new(0), scene: OnceLock::new() })
    }

    fn begin(&self, system: &ActorSystem, boss: Option<&KeeperRef>) {
        let scene = Scene { system: system.clone(), boss: boss.cloned() };
        assert!(self.scene.set(scene).is_ok(), "one scene");
    }

    fn dropped(&self) -> u32 {
        self.dropped.load(Ordering::SeqCst)
    }

    fn act(&self) {
        self.dropped.fetch_add(1, Ordering::SeqCst);
        let Some(Scene { system, boss }) = self.scene.get() else { return };
        match self.act {
            Act::Panics => panic!("dropped"),
            Act::Looks => drop(system.tree()),
            Act::Tells => {
                if let Some(boss) = boss {
                    boss.perform(Box::new(|_| Ok(()))).tell().ok();
                    drop(boss.perform(Box::new(|_| Ok(()))).ask());
                }
            }
            Act::Spawns => drop(system.spawn_anonymous(Keeper::new)),
        }
    }
}

/// An error, a reply, an argument: whatever is dropped.
struct Hostile(Arc<Malice>);

impl Drop for Hostile {
    fn drop(&mut self) {
        self.0.act();
    }
}

impl fmt::Debug for Hostile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hostile")
    }
}

impl fmt::Display for Hostile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hostile")
    }
}

impl std::error::Error for Hostile {}

/// Fails when it is told to, and at one of its starts.
#[actor(stop_timeout = "100ms")]
struct Fuse {
    malice: Arc<Malice>,
}

impl Fuse {
    fn factory(
        malice: &Arc<Malice>,
        fails_at: Option<u32>,
    ) -> impl FnMut() -> Result<Self, Hostile> + Send + 'static {
        let malice = Arc::clone(malice);
        let mut starts = 0;
        move || {
            starts += 1;
            if fails_at == Some(starts) {
                Err(Hostile(Arc::clone(&malice)))
            } else {
                Ok(Self { malice: Arc::clone(&malice) })
            }
        }
    }
}

#[actor]
impl Fuse {
    #[handler]
    fn fail(&mut self) -> Result<(), Hostile> {
        Err(Hostile(Arc::clone(&self.malice)))
    }

    #[handler]
    fn give(&mut self) -> Hostile {
        Hostile(Arc::clone(&self.malice))
    }

    #[handler]
    fn ping(&mut self) {}
}

/// Runs a test on a paused clock and on a thread of its own, so that a test that waits for itself is
/// detected.
fn apart<F: Future<Output = ()>>(what: &str, test: impl FnOnce() -> F + Send + 'static) {
    let (done, over) = mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().start_paused(true).build().unwrap();
        let log = Log::open();
        runtime.block_on(async {
            tokio::time::timeout(Duration::from_secs(600), test()).await.expect("it comes to an end");
        });
        let bugs: Vec<_> = log.errors().into_iter().filter(|text| text.contains("a bug in supervise")).collect();
        assert!(bugs.is_empty(), "{bugs:?}");
        drop(done);
    });
    match over.recv_timeout(Duration::from_secs(60)) {
        Err(RecvTimeoutError::Timeout) => panic!("{what}: it waits for itself"),
        Ok(()) | Err(RecvTimeoutError::Disconnected) => assert!(thread.join().is_ok(), "{what}"),
    }
}

async fn until(what: impl Fn() -> bool) {
    while !what() {
        tokio::time::sleep(ms(1)).await;
    }
}

fn directives() -> [Directive; 5] {
    let later = Directive::RestartAfter(Backoff::exponential(ms(10), ms(20)));
    [Directive::Resume, Directive::Restart, later, Directive::Stop, Directive::Escalate]
}

/// When it fails: while it runs, at its start, or at its restart.
const MOMENTS: [Option<u32>; 3] = [None, Some(1), Some(2)];

/// Rules 3.4, 3.5, 3.6, 11.2.
#[test]
fn a3_what_the_drop_of_an_error_does_changes_nothing_of_what_is_decided() {
    let scopes = [Strategy::one_for_one(), Strategy::all_for_one(), Strategy::rest_for_one()];
    for act in ACTS {
        for strategy in scopes {
            for directive in directives() {
                for fails_at in MOMENTS {
                    let what = format!("{act:?}, {directive:?} {:?}, fails at {fails_at:?}", strategy.scope);
                    apart(&what, move || decided(act, strategy, directive, fails_at));
                }
            }
        }
    }
}

async fn decided(act: Act, strategy: Strategy, directive: Directive, fails_at: Option<u32>) {
    let guardian = |_: &Failure, _: &ChildInfo| Ok(Directive::Restart);
    let system =
        ActorSystem::builder("drops").guardian_unchecked(Strategy::one_for_one(), guardian).start().unwrap();
    let boss = system.spawn_with("boss", keeping(strategy, move |_| directive)).unwrap();
    let malice = Malice::new(act);
    malice.begin(&system, Some(&boss));
    let factory = Fuse::factory(&malice, fails_at);
    let (fuse, witness) =
        within(&boss, |ctx| (ctx.spawn("fuse", factory).unwrap(), ctx.spawn("witness", Keeper::new).unwrap()))
            .await;
    let errors = match fails_at {
        // Its first failure is its last.
        Some(2) if matches!(directive, Directive::Stop | Directive::Resume) => 1,
        Some(2) => 2,
        _ => 1,
    };
    if fails_at != Some(1) {
        fuse.fail().tell().unwrap();
    }
    let stopped = matches!(directive, Directive::Stop);
    if stopped {
        system.ended(&fuse).await;
        // Its ref keeps the failure because of which it ended.
        drop(fuse);
    } else {
        fuse.ping().await.expect("it goes on");
    }
    until(|| malice.dropped() == errors).await;
    // The members of a group stop together.
    if stopped && strategy.scope != Scope::OneForOne {
        system.ended(&witness).await;
    } else {
        assert!(within(&witness, |_| true).await);
    }
    assert!(within(&boss, |_| true).await);
    system.terminate().await;
    assert_eq!(malice.dropped(), errors);
}

/// Rules 9.1, 11.2.
#[test]
fn a3_what_the_drop_of_an_error_does_changes_nothing_of_what_a_guardian_decides() {
    for act in ACTS {
        for directive in directives() {
            for fails_at in MOMENTS {
                let what = format!("{act:?}, {directive:?}, fails at {fails_at:?}");
                apart(&what, move || decided_by_user(act, directive, fails_at));
            }
        }
    }
}

async fn decided_by_user(act: Act, directive: Directive, fails_at: Option<u32>) {
    let guardian = move |_: &Failure, _: &ChildInfo| Ok(directive);
    let system =
        ActorSystem::builder("drops").guardian_unchecked(Strategy::one_for_one(), guardian).start().unwrap();
    let boss = system.spawn("boss", Keeper::new).unwrap();
    let malice = Malice::new(act);
    malice.begin(&system, Some(&boss));
    let fuse = system.spawn("fuse", Fuse::factory(&malice, fails_at)).unwrap();
    if fails_at != Some(1) {
        fuse.fail().tell().unwrap();
    }
    match directive {
        // `/` stops everything. The system keeps the failure, so that it can say how it ended.
        Directive::Escalate => assert!(system.when_terminated().await.is_err()),
        Directive::Stop => {
            system.ended(&fuse).await;
        }
        _ => fuse.ping().await.expect("it goes on"),
    }
    // The ref of an actor that was stopped keeps the failure.
    drop(fuse);
    if directive != Directive::Escalate {
        until(|| malice.dropped() > 0).await;
    }
    system.terminate().await;
}

/// The events keep their failures until they are read, or nobody reads them any more. Rules 10.2, 11.2.
#[test]
fn a3_what_the_drop_of_an_error_does_to_the_events_harms_nobody() {
    for act in ACTS {
        apart(&format!("{act:?}"), move || async move {
            let system = ActorSystem::builder("drops").event_capacity(1).start().unwrap();
            let boss = system.spawn_with("boss", keeping(Strategy::one_for_one(), |_| Directive::Resume)).unwrap();
            let malice = Malice::new(act);
            malice.begin(&system, Some(&boss));
            let fuse = child(&boss, "fuse", Fuse::factory(&malice, None)).await;
            let mut read = system.events().subscribe();
            let unread = system.events().subscribe();
            for _ in 0..3 {
                fuse.fail().tell().unwrap();
                fuse.ping().await.unwrap();
            }
            until(|| malice.dropped() >= 2).await;
            while read.try_recv().is_some() {}
            drop(unread);
            drop(read);
            fuse.ping().await.unwrap();
            system.terminate().await;
            assert_eq!(malice.dropped(), 3);
        });
    }
}

/// Rules 1.5, 11.2.
#[test]
fn a3_what_the_drop_of_a_reply_does_is_no_failure_of_its_actor() {
    for act in ACTS {
        apart(&format!("{act:?}"), move || async move {
            let system = ActorSystem::new("drops");
            let boss =
                system.spawn_with("boss", keeping(Strategy::one_for_one(), |_| Directive::Restart)).unwrap();
            let malice = Malice::new(act);
            malice.begin(&system, Some(&boss));
            let (made, starts) = mpsc::channel();
            let shared = Arc::clone(&malice);
            let fuse = child(&boss, "fuse", move || {
                made.send(()).unwrap();
                Fuse { malice: Arc::clone(&shared) }
            })
            .await;
            // Three replies: to a message that was told, to an asker that has gone, and to an asker that goes
            // while the handler runs.
            fuse.give().tell().unwrap();
            drop(fuse.give().ask().unwrap());
            let late = fuse.give().ask().unwrap();
            fuse.ping().await.unwrap();
            drop(late);
            assert_eq!(malice.dropped(), 3);
            fuse.ping().await.unwrap();
            assert_eq!(starts.try_iter().count(), 1, "no restart");
            system.terminate().await;
        });
    }
}

/// Holds whatever an actor can hold, all of it hostile.
#[actor(stop_timeout = "100ms")]
struct Hoard {
    _own: Hostile,
    malice: Arc<Malice>,
}

#[actor]
impl Hoard {
    #[handler]
    fn gather(&mut self, subject: KeeperRef, ctx: &mut Context<Self>) {
        let hostile = || Hostile(Arc::clone(&self.malice));
        let me = ctx.me();
        for key in ["one", "two"] {
            ctx.start_timer(key, ms(1_000_000), me.take(hostile()));
        }
        let (me, kept) = (ctx.me(), hostile());
        ctx.start_periodic_timer("many", ms(1_000_000), move || {
            let _kept = &kept;
            me.ping().into_message()
        });
        // Twice, because a value that is replaced is dropped.
        for _ in 0..2 {
            let (me, kept) = (ctx.me(), hostile());
            ctx.set_receive_timeout(ms(1_000_000), move || {
                let _kept = &kept;
                me.ping().into_message()
            });
        }
        let me = ctx.me();
        ctx.watch_with(&subject, me.take(hostile())).unwrap();
        ctx.unwatch(&subject);
        ctx.watch_with(&subject, me.take(hostile())).unwrap();
    }

    #[handler]
    async fn hang(&mut self) {
        let _first = Hostile(Arc::clone(&self.malice));
        std::future::pending::<()>().await;
    }

    #[handler]
    fn take(&mut self, what: Hostile) {
        drop(what);
    }

    #[handler]
    fn ping(&mut self) {}
}

/// How many hostile values there are when the actor hangs: those that it holds, and those that were replaced
/// before.
const HOARD: u32 = 2 + 1 + 2 + 2 + 1 + 2 + 1 + 1;

/// Ends with a handler that hangs, and messages behind it.
async fn hoard(system: &ActorSystem, malice: &Arc<Malice>) -> HoardRef {
    malice.begin(system, None);
    let subject = system.spawn("subject", Keeper::new).unwrap();
    let (shared, kept, decides) = (Arc::clone(malice), Hostile(Arc::clone(malice)), Hostile(Arc::clone(malice)));
    let props = Props::new(move || {
        let _kept = &kept;
        Hoard { _own: Hostile(Arc::clone(&shared)), malice: Arc::clone(&shared) }
    });
    let props = props.supervision_unchecked(Strategy::one_for_one(), move |_, _| {
        let _decides = &decides;
        Ok(Directive::Stop)
    });
    let hoard = system.spawn_with("hoard", props).unwrap();
    hoard.gather(subject).await.unwrap();
    assert_eq!(malice.dropped(), 2, "a receive timeout and the message of a watch");
    hoard.hang().tell().unwrap();
    hoard.take(Hostile(Arc::clone(malice))).tell().unwrap();
    tokio::time::sleep(ms(1)).await;
    for _ in 0..2 {
        let kept = Hostile(Arc::clone(malice));
        system.on_termination(async move { drop(kept) }).unwrap();
    }
    hoard
}

/// Rules 6.3, 11.2.
#[test]
fn a3_whatever_an_actor_holds_is_dropped_each_on_its_own() {
    for act in ACTS {
        apart(&format!("{act:?}"), move || async move {
            let system = ActorSystem::new("hoard");
            let malice = Malice::new(act);
            hoard(&system, &malice).await;
            system.terminate().await;
            assert_eq!(malice.dropped(), HOARD + 2);
        });
    }
}

/// Rules 6.6, 11.2.
#[test]
fn a3_whatever_an_actor_holds_is_dropped_each_on_its_own_with_its_runtime() {
    let runtime =
        || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    for act in ACTS {
        let (going, staying) = (runtime(), runtime());
        let malice = Malice::new(act);
        let (system, subject) = going.block_on(async {
            let system = ActorSystem::new("hoard");
            (system.clone(), hoard(&system, &malice).await)
        });
        let log = Log::open();
        drop(going);
        let gone = staying.block_on(system.when_terminated()).unwrap_err();
        assert!(gone.downcast_ref::<RuntimeGone>().is_some(), "{gone}");
        assert!(subject.actor_ref().has_ended());
        assert_eq!(malice.dropped(), HOARD + 2, "{act:?}");
        let bugs: Vec<_> = log.errors().into_iter().filter(|text| text.contains("a bug in supervise")).collect();
        assert!(bugs.is_empty(), "{bugs:?}");
    }
}

/// A payload is a user's value too, even of a panic that nobody looks at. Rules 11.1, 11.2.
#[test]
fn a3_what_the_drop_of_a_panics_payload_does_harms_nobody() {
    #[actor]
    struct Thrower {
        malice: Arc<Malice>,
        calls: u32,
    }

    #[actor]
    impl Thrower {
        #[handler(redeliver = 1)]
        fn throw(&mut self) {
            std::panic::panic_any(Hostile(Arc::clone(&self.malice)));
        }

        #[handler]
        fn ping(&mut self) {}

        #[stash_while]
        fn thrown(&self, message: &ThrowerMessage) -> bool {
            if self.calls > 0 && matches!(message, ThrowerMessage::Throw) {
                std::panic::panic_any(Hostile(Arc::clone(&self.malice)));
            }
            false
        }
    }

    for act in ACTS {
        apart(&format!("{act:?}"), move || async move {
            let system = ActorSystem::new("payloads");
            let malice = Malice::new(act);
            malice.begin(&system, None);
            let (shared, mut calls) = (Arc::clone(&malice), 0);
            let thrower = system.spawn("thrower", move || {
                calls += 1;
                Thrower { malice: Arc::clone(&shared), calls: calls - 1 }
            });
            let thrower = thrower.unwrap();
            thrower.throw().tell().unwrap();
            thrower.ping().await.unwrap();
            until(|| malice.dropped() >= 2).await;
            thrower.ping().await.unwrap();
            system.terminate().await;
        });
    }
}
