//! Rule 19.10 under attack: askers that wait for room give up, their actor is passivated, ends or fails, and their messages panic.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context as TaskContext, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use supervise::prelude::*;
use supervise::testkit::{self, TestSystem};
use supervise::{MailboxKind, Overflow, Props};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

#[derive(Debug, thiserror::Error)]
#[error("bad")]
struct Bad;

/// A value whose destructor panics.
struct Grenade(Arc<AtomicBool>);

impl Drop for Grenade {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
        assert!(thread::panicking(), "as told");
    }
}

/// Has room for one.
#[actor(mailbox = bounded(1))]
struct Locker {
    gate: Arc<Notify>,
    seen: Arc<Mutex<Vec<u32>>>,
}

#[actor]
impl Locker {
    /// Keeps the actor busy until the gate opens.
    #[handler]
    async fn hold(&mut self) {
        self.gate.notified().await;
    }

    #[handler]
    async fn hold_and_leave(&mut self, ctx: &mut Context<Self>) {
        self.gate.notified().await;
        ctx.passivate();
    }

    #[handler]
    fn put(&mut self, what: u32) -> u32 {
        self.seen.lock().unwrap().push(what);
        what
    }

    #[handler]
    fn put_grenade(&mut self, grenade: Grenade) {
        std::mem::forget(grenade);
    }

    #[handler]
    fn leave(&mut self, ctx: &mut Context<Self>) {
        ctx.passivate();
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Bad> {
        Err(Bad)
    }
}

#[derive(Default, Clone)]
struct World {
    gate: Arc<Notify>,
    seen: Arc<Mutex<Vec<u32>>>,
}

impl World {
    fn locker(&self) -> impl Fn() -> Locker + Send + Sync + 'static + use<> {
        let Self { gate, seen } = self.clone();
        move || Locker { gate: Arc::clone(&gate), seen: Arc::clone(&seen) }
    }

    /// A locker that holds, with a message that takes all its room.
    async fn full(&self, system: &TestSystem, name: &str, overflow: Overflow) -> LockerRef {
        let props = Props::new(self.locker()).mailbox(MailboxKind::Bounded { capacity: 1, overflow });
        let locker = system.spawn_with(name, props).unwrap();
        self.fill(system, &locker).await;
        locker
    }

    async fn fill(&self, system: &TestSystem, locker: &LockerRef) {
        locker.hold().tell().unwrap();
        system.settle().await;
        locker.put(0).tell().unwrap();
    }

    fn seen(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

#[actor]
struct Hall {
    world: World,
    #[child(|this| { let new = this.world.locker(); move |_: &u32| new() })]
    lockers: Children<u32, Locker>,
}

#[actor]
impl Hall {
    #[handler]
    fn lockers(&self) -> Children<u32, Locker> {
        self.lockers.clone()
    }
}

async fn lockers(system: &TestSystem, world: &World) -> Children<u32, Locker> {
    let own = world.clone();
    let hall = system.spawn("hall", move || Hall { world: own.clone(), lockers: Children::default() }).unwrap();
    hall.lockers().await.unwrap()
}

/// The first child of a key, which has left, and the second, which is full.
async fn succeeded(system: &TestSystem, world: &World) -> (LockerRef, LockerRef) {
    let lockers = lockers(system, world).await;
    let first = lockers.get_or_spawn(1).unwrap();
    first.leave().await.unwrap();
    system.settle().await;
    let second = lockers.get_or_spawn(1).unwrap();
    assert_ne!(first, second);
    world.fill(system, &second).await;
    (first, second)
}

/// How something is put into a locker when there is room.
#[derive(Debug, Clone, Copy)]
enum How {
    Ask,
    /// Hands on the reply slot of another actor.
    HandOn,
}

impl How {
    const ALL: [Self; 2] = [Self::Ask, Self::HandOn];

    fn put(self, system: &TestSystem, locker: &LockerRef, what: u32) -> JoinHandle<u32> {
        let locker = locker.clone();
        match self {
            Self::Ask => tokio::spawn(async move { locker.put(what).when_room().await.unwrap() }),
            Self::HandOn => {
                let porter = system.spawn(format!("porter-{what}"), || Porter).unwrap();
                tokio::spawn(async move { porter.put(locker, what).await.unwrap() })
            }
        }
    }
}

#[actor]
struct Porter;

#[actor]
impl Porter {
    #[handler]
    async fn put(&mut self, locker: LockerRef, what: u32, reply: ReplyTo<u32>) {
        locker.put(what).send_reply_to(reply).await;
    }
}

/// Rules 1.6, 18.4, 19.2 and 19.10.
#[test]
fn messages_get_room_in_a_successor_in_their_order() {
    for how in How::ALL {
        testkit::run(async |system| {
            let world = World::default();
            let (first, second) = succeeded(system, &world).await;
            let mut put = Vec::new();
            for what in 1..20 {
                put.push(how.put(system, if what % 2 == 0 { &second } else { &first }, what));
                system.settle().await;
            }
            world.gate.notify_one();
            for (put, what) in put.into_iter().zip(1..) {
                assert_eq!(put.await.unwrap(), what);
            }
            assert_eq!(*world.seen.lock().unwrap(), (0..20).collect::<Vec<_>>(), "{how:?}");
        });
    }
}

/// Rules 18.3, 19.2 and 19.10. What this takes must not grow faster than the number of messages.
#[test]
fn very_many_messages_move_to_a_successor_in_their_order() {
    const MESSAGES: u32 = 4_000;
    for how in How::ALL {
        testkit::run(async |system| {
            let world = World::default();
            let first = lockers(system, &world).await.get_or_spawn(1).unwrap();
            first.hold_and_leave().tell().unwrap();
            system.settle().await;
            first.put(0).tell().unwrap();
            let put: Vec<_> = (1..=MESSAGES).map(|what| how.put(system, &first, what)).collect();
            system.settle().await;
            let began = Instant::now();
            world.gate.notify_one();
            for put in put {
                put.await.unwrap();
            }
            let mut seen = world.seen.lock().unwrap();
            if matches!(how, How::HandOn) {
                // The porters have their turns in any order.
                seen.sort_unstable();
            }
            assert!(seen.iter().copied().eq(0..=MESSAGES), "{how:?}");
            assert!(began.elapsed() < Duration::from_secs(30), "{how:?}: it took {:?}", began.elapsed());
        });
    }
}

struct Quiet;

impl Wake for Quiet {
    fn wake(self: Arc<Self>) {}
}

/// Rules 18.4 and 19.10.
#[supervise::test]
async fn an_asker_that_gives_up_leaves_nothing_at_a_successor(system: &TestSystem) {
    let (world, quiet) = (World::default(), Arc::new(Quiet));
    let (first, _second) = succeeded(system, &world).await;
    {
        let waker = Waker::from(Arc::clone(&quiet));
        let asked = pin!(first.put(1).when_room().into_future());
        assert!(asked.poll(&mut TaskContext::from_waker(&waker)).is_pending());
    }
    assert_eq!(Arc::strong_count(&quiet), 1, "the successor keeps the waker of a future that is gone");
    world.gate.notify_one();
}

/// Rules 11.2, 19.6 and 19.10.
#[supervise::test]
async fn an_asker_gets_its_error_although_the_destructor_of_its_message_panics(system: &TestSystem) {
    system.allow_dead_letters();
    let world = World::default();
    let locker = world.full(system, "locker", Overflow::Fail).await;
    let dropped = [(); 4].map(|()| Arc::<AtomicBool>::default());
    let grenade = |number: usize| Grenade(Arc::clone(&dropped[number]));
    let late = locker.put_grenade(grenade(0)).when_room().timeout(Duration::from_secs(1)).await;
    assert!(matches!(late, Err(AskError::Timeout(_))), "{late:?}");
    let full = locker.put_grenade(grenade(1)).await;
    assert!(matches!(full, Err(AskError::MailboxFull)), "{full:?}");
    let (own, last) = (locker.clone(), grenade(2));
    let asked = tokio::spawn(async move { own.put_grenade(last).when_room().await });
    system.settle().await;
    locker.actor_ref().stop();
    world.gate.notify_one();
    assert!(matches!(asked.await.unwrap(), Err(AskError::Stopped)));
    let ended = locker.put_grenade(grenade(3)).await;
    assert!(matches!(ended, Err(AskError::Stopped)), "{ended:?}");
    assert!(dropped.iter().all(|dropped| dropped.load(Ordering::SeqCst)), "{dropped:?}");
}

/// Rules 1.6 and 19.10: a message that waits for room is not dropped for another one.
#[supervise::test]
async fn an_asker_waits_for_room_whatever_the_overflow_policy(system: &TestSystem) {
    system.allow_dead_letters();
    for (name, overflow) in [("oldest", Overflow::DropOldest), ("newest", Overflow::DropNewest)] {
        let world = World::default();
        let locker = world.full(system, name, overflow).await;
        let asks = |what| {
            let locker = locker.clone();
            tokio::spawn(async move { locker.put(what).when_room().await })
        };
        let asked: Vec<_> = (1..5).map(asks).collect();
        system.settle().await;
        for _ in 0..10 {
            locker.put(9).tell().unwrap();
        }
        assert!(!asked.iter().any(tokio::task::JoinHandle::is_finished));
        world.gate.notify_one();
        for (what, asked) in (1..).zip(asked) {
            assert_eq!(asked.await.unwrap().unwrap(), what);
        }
        assert_eq!(world.seen(), 5);
    }
}

/// Rules 1.5, 6.6 and 19.10.
#[test]
fn an_asker_hears_that_the_runtime_of_its_actor_is_gone() {
    let world = World::default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let locker = runtime.block_on(async {
        let system = ActorSystem::new("gone");
        let locker = system.spawn("locker", world.locker()).unwrap();
        locker.hold().send().await.unwrap();
        locker.put(0).send().await.unwrap();
        // If the first was already being handled, there is room for one more.
        let _full = locker.put(0).tell();
        locker
    });
    let (waits, is_waiting) = mpsc::channel();
    let asker = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut asked = pin!(locker.put(1).when_room().into_future());
            std::future::poll_fn(|cx| {
                let polled = asked.as_mut().poll(cx);
                let _told = waits.send(());
                polled
            })
            .await
        })
    });
    is_waiting.recv().unwrap();
    drop(runtime);
    assert!(matches!(asker.join().unwrap(), Err(AskError::Stopped)));
}

/// Rules 1.5, 11.2 and 19.10.
#[supervise::test]
async fn an_actor_that_asks_itself_gets_the_error_although_the_destructor_of_its_message_panics(
    system: &TestSystem,
) {
    let told = Arc::<Mutex<Vec<_>>>::default();
    let own = Arc::clone(&told);
    let bomber = system.spawn("bomber", move || Bomber { told: Arc::clone(&own) }).unwrap();
    let dropped = [(); 3].map(|()| Arc::<AtomicBool>::default());
    bomber.bomb_itself(dropped.clone().map(Grenade)).await.unwrap();
    let told = told.lock().unwrap();
    assert!(told.iter().all(|told| matches!(told, Err(AskError::AskedItself(_)))), "{told:?}");
    assert!(dropped.iter().all(|dropped| dropped.load(Ordering::SeqCst)), "{dropped:?}");
}

/// Rules 11.2, 19.7 and 19.10.
#[supervise::test]
async fn an_ask_that_closes_a_circle_gets_the_error_although_the_destructor_of_its_message_panics(
    system: &TestSystem,
) {
    let told = Arc::<Mutex<Vec<_>>>::default();
    let own = Arc::clone(&told);
    let one = system.spawn("one", move || Bomber { told: Arc::clone(&own) }).unwrap();
    let own = Arc::clone(&told);
    let other = system.spawn("other", move || Bomber { told: Arc::clone(&own) }).unwrap();
    let dropped = [(); 2].map(|()| Arc::<AtomicBool>::default());
    one.let_bomb(other, dropped.clone().map(Grenade)).await.unwrap();
    let told = told.lock().unwrap();
    assert!(told.iter().all(|told| matches!(told, Err(AskError::AskedInCircle(_)))), "{told:?}");
    assert_eq!(told.len(), 2);
    assert!(dropped.iter().all(|dropped| dropped.load(Ordering::SeqCst)), "{dropped:?}");
}

/// Asks with grenades.
#[actor]
struct Bomber {
    told: Arc<Mutex<Vec<Result<(), AskError>>>>,
}

#[actor]
impl Bomber {
    #[handler]
    async fn bomb_itself(&mut self, grenades: [Grenade; 3], ctx: &mut Context<Self>) {
        let (me, [first, second, third]) = (ctx.me(), grenades);
        let told = [
            me.catch(first).await,
            me.catch(second).timeout(Duration::from_secs(1)).await,
            me.catch(third).when_room().await,
        ];
        self.told.lock().unwrap().extend(told);
    }

    #[handler]
    async fn let_bomb(&mut self, other: BomberRef, grenades: [Grenade; 2], ctx: &mut Context<Self>) {
        other.bomb(ctx.me(), grenades).await.expect("it answers");
    }

    #[handler]
    async fn bomb(&mut self, other: BomberRef, grenades: [Grenade; 2]) {
        let [first, second] = grenades;
        let told = [other.catch(first).await, other.catch(second).when_room().await];
        self.told.lock().unwrap().extend(told);
    }

    #[handler]
    fn catch(&mut self, grenade: Grenade) {
        std::mem::forget(grenade);
    }
}

/// Asks itself wherever it can.
#[actor(mailbox = bounded(1))]
struct Selfish {
    told: Arc<Mutex<Vec<Result<u32, AskError>>>>,
}

#[actor]
impl Selfish {
    #[pre_start]
    async fn begin(&mut self, ctx: &mut Context<Self>) {
        self.ask(&ctx.me()).await;
    }

    #[post_stop]
    async fn end(&mut self, ctx: &mut Context<Self>) {
        self.ask(&ctx.me()).await;
    }

    #[handler]
    fn put(&mut self, what: u32) -> u32 {
        what
    }
}

impl Selfish {
    async fn ask(&self, me: &SelfishRef) {
        let told = me.put(1).when_room().await;
        self.told.lock().unwrap().push(told);
        tokio::task::yield_now().await;
        let told = me.put(1).when_room().timeout(Duration::from_secs(1)).await;
        self.told.lock().unwrap().push(told);
    }
}

/// Rules 1.5 and 19.10.
#[supervise::test]
async fn a_hook_that_waits_for_room_in_its_own_mailbox_is_told_at_once(system: &TestSystem) {
    let told = Arc::<Mutex<Vec<_>>>::default();
    let own = Arc::clone(&told);
    let selfish = system.spawn("selfish", move || Selfish { told: Arc::clone(&own) }).unwrap();
    system.settle().await;
    selfish.actor_ref().stop();
    system.expect_terminated(&selfish).await;
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 4);
    assert!(told.iter().all(|told| matches!(told, Err(AskError::AskedItself(_)))), "{told:?}");
}

/// Rules 1.5, 1.6 and 19.10: on real threads, askers give up at every moment while the actor fails or ends. Every ask resolves, and all room is
/// free afterwards.
#[test]
fn no_ask_hangs_and_no_place_stays_taken() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    runtime.block_on(async {
        let system = ActorSystem::new("threads");
        for round in 0..9 {
            let (world, capacity) = (World::default(), 1 + round % 4);
            let props =
                Props::new(world.locker()).mailbox(MailboxKind::Bounded { capacity, overflow: Overflow::Fail });
            let locker = system.spawn_with(format!("locker-{round}"), props).unwrap();
            let asks = |number: usize| {
                let locker = locker.clone();
                tokio::spawn(async move { ask_at_random(&locker, (round * 1000 + number) as u64).await })
            };
            let asked: Vec<_> = (0..64).map(asks).collect();
            let ends = round % 3 == 0;
            if ends {
                locker.put(1).when_room().await.unwrap();
                locker.actor_ref().stop();
            }
            let mut answered = 0;
            for asked in asked {
                answered += soon(asked).await.unwrap();
            }
            assert!(answered <= world.seen());
            if !ends {
                for _ in 0..capacity {
                    soon(locker.put(1).send()).await.unwrap();
                }
                soon(locker.put(1).when_room().into_future()).await.unwrap();
            }
        }
        system.terminate().await;
    });
}

/// Asks in several ways, and says how often it got an answer.
async fn ask_at_random(locker: &LockerRef, seed: u64) -> usize {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut answered = 0;
    for _ in 0..100 {
        let limit = Duration::from_micros(rng.u64(0..300));
        let is_answered = match rng.u8(0..10) {
            0..3 => {
                let asked = tokio::time::timeout(limit, locker.put(1).when_room().into_future()).await;
                matches!(asked, Ok(Ok(_)))
            }
            3 => locker.put(1).when_room().timeout(limit).await.is_ok(),
            4 => locker.fail().when_room().await.is_ok(),
            5 => {
                let _ended = locker.put(1).send().await;
                false
            }
            _ => match locker.put(1).when_room().await {
                Ok(_) => true,
                Err(AskError::Stopped) => false,
                Err(other) => panic!("{other:?}"),
            },
        };
        answered += usize::from(is_answered);
    }
    answered
}

/// What must happen, however slow the machine is.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), what).await.expect("it happens within a minute")
}
