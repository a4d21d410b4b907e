//! KEY: one child for each key, created when it is needed and passivated when it is idle.
//!
//! Rules 18.1 to 18.8.

mod hostile_keys;
mod passivation;
mod successors;

use std::fmt;
use std::num::ParseIntError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestProbe, TestSystem};
use supervise::{ChildKey, ChildrenProps, NeverFails, SendErrorReason};

use crate::fixture::Boom;

const IDLE: Duration = Duration::from_secs(300);

/// What the sessions of a test have in common.
#[derive(Clone)]
struct Common {
    probe: ProbeHandle<String>,
    /// How long a session takes to end.
    last_words: Duration,
    /// How many instances were made.
    made: Arc<AtomicU32>,
    factory_panics: Arc<AtomicBool>,
}

impl Common {
    fn new(probe: &TestProbe<String>) -> Self {
        Self {
            probe: probe.handle(),
            last_words: Duration::ZERO,
            made: Arc::default(),
            factory_panics: Arc::default(),
        }
    }

    fn last_words(self, time: Duration) -> Self {
        Self { last_words: time, ..self }
    }

    /// The sessions of this common.
    fn sessions<K: ChildKey>(&self) -> ChildrenProps<K, Session, NeverFails> {
        let common = self.clone();
        Children::of(move |key: &K| {
            assert!(!common.factory_panics.load(Ordering::Relaxed), "as told");
            Session {
                key: key.to_string(),
                number: common.made.fetch_add(1, Ordering::Relaxed) + 1,
                common: common.clone(),
                locked: false,
            }
        })
    }
}

#[actor(stop_timeout = "30s")]
struct Session {
    key: String,
    /// The number of the instance among all.
    number: u32,
    common: Common,
    /// Whether it sets orders aside.
    locked: bool,
}

#[actor]
impl Session {
    /// Notes the order, and replies with the number of the instance.
    #[handler]
    fn order(&self, order: u32) -> u32 {
        self.common.probe.note(format!("{}.{} {order}", self.key, self.number));
        self.number
    }

    #[handler(not_influencing)]
    fn look_on(&self) {}

    #[handler]
    async fn think(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Notes an order when `time` has passed, beside the handlers.
    #[handler]
    fn order_later(&self, order: u32, time: Duration, ctx: &mut Context<Self>) {
        ctx.pipe(tokio::time::sleep(time), move |me, ()| me.order(order));
    }

    #[handler]
    fn leave(&self, ctx: &mut Context<Self>) {
        ctx.passivate();
    }

    #[handler]
    fn finish(&self, ctx: &mut Context<Self>) {
        ctx.stop_self();
    }

    #[handler]
    fn lock(&mut self) {
        self.locked = true;
    }

    #[handler]
    fn fail(&self) -> Result<(), Boom> {
        Err(Boom("restart"))
    }

    #[handler]
    fn give_up(&self) -> Result<(), fmt::Error> {
        Err(fmt::Error)
    }

    #[handler]
    fn escalate(&self) -> Result<(), ParseIntError> {
        "x".parse().map(|_: u32| ())
    }

    #[stash_while]
    fn is_locked(&self, message: &SessionMessage) -> bool {
        self.locked && matches!(message, SessionMessage::Order { .. })
    }

    #[post_stop]
    async fn last_words(&self) {
        tokio::time::sleep(self.common.last_words).await;
        self.common.probe.note(format!("{}.{} stops", self.key, self.number));
    }
}

type Make<K> = Arc<dyn Fn() -> ChildrenProps<K, Session, NeverFails> + Send + Sync>;

/// Has the sessions.
#[actor]
#[supervise(
    one_for_one(max_retries = 3, within = "1s"),
    on(Boom) = Restart,
    on(fmt::Error) = Stop,
    on(ParseIntError) = Escalate,
    on(Panic) = Stop,
)]
struct Shop<K: ChildKey> {
    make: Make<K>,
    sessions: Children<K, Session>,
}

#[actor]
impl<K: ChildKey> Shop<K> {
    #[pre_start]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        self.sessions = (self.make)().spawn(ctx, "sessions")?;
        Ok(())
    }

    #[handler]
    fn sessions(&self) -> Children<K, Session> {
        self.sessions.clone()
    }

    #[handler]
    fn close(&self, ctx: &mut Context<Self>) {
        ctx.stop_self();
    }
}

/// A shop, and the sessions it has.
async fn open<K: ChildKey>(
    system: &TestSystem,
    make: impl Fn() -> ChildrenProps<K, Session, NeverFails> + Send + Sync + 'static,
) -> (ShopRef<K>, Children<K, Session>) {
    let make: Make<K> = Arc::new(make);
    let shop =
        system.spawn("shop", move || Shop { make: Arc::clone(&make), sessions: Children::default() }).unwrap();
    let sessions = shop.sessions().await.unwrap();
    (shop, sessions)
}

/// Sessions of customers, by number, that are passivated when they are idle.
async fn customers(system: &TestSystem, common: &Common) -> (ShopRef<u64>, Children<u64, Session>) {
    let common = common.clone();
    open(system, move || common.sessions().idle(IDLE)).await
}

/// Rule 18.1.
#[supervise::test]
async fn key_01_a_key_has_one_child_which_sees_the_key(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Common::new(&probe)).await;
    assert!(sessions.is_empty());
    assert_eq!(sessions.get(&7), None);

    let seven = sessions.get_or_spawn(7).unwrap();
    let eight = sessions.get_or_spawn(8).unwrap();
    assert_eq!(sessions.get_or_spawn(7).unwrap(), seven);
    assert_eq!(sessions.get(&8), Some(eight.clone()));
    assert_ne!(seven, eight);
    seven.order(1).tell().unwrap();
    assert_eq!(eight.order(2).await.unwrap(), 2);
    assert_eq!(probe.next().await, "7.1 1");
    assert_eq!(probe.next().await, "8.2 2");

    assert_eq!(seven.actor_ref().path().local(), "/user/shop/sessions/7");
    assert_eq!(sessions.path().local(), "/user/shop/sessions");
    let mut seen = Vec::new();
    sessions.for_each(|key, child| seen.push((*key, child.clone())));
    seen.sort_by_key(|(key, _)| *key);
    assert_eq!(seen, [(7, seven), (8, eight)]);
    assert_eq!(sessions.len(), 2);
}

/// Rule 18.1.
#[supervise::test]
async fn key_02_a_key_is_a_name_whatever_it_is_shown_as(system: &TestSystem) {
    let probe = system.probe();
    let common = Common::new(&probe);
    let (_shop, sessions) = open(system, move || common.sessions::<String>()).await;
    let name =
        |key: &str| sessions.get_or_spawn(key.to_owned()).map(|child| child.actor_ref().path().name().to_owned());
    assert_eq!(name("$new/ä b").unwrap(), "%24new%2F%C3%A4%20b");
    assert_eq!(name("..").unwrap(), "%2E%2E");
    assert!(matches!(name(""), Err(SpawnError::InvalidName { .. })));
    assert_eq!(sessions.len(), 2);
}

/// Rules 18.2, 18.5.
#[supervise::test]
async fn key_09_the_table_of_the_owner_decides(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Common::new(&probe)).await;
    let session = sessions.get_or_spawn(1).unwrap();
    session.fail().await.unwrap_err();
    system.expect_restarts(&session, 1).await;
    assert_eq!(session.order(1).await.unwrap(), 2, "a new instance");
    assert_eq!(sessions.get_or_spawn(1).unwrap(), session, "of the same child");
    session.give_up().await.unwrap_err();
    system.expect_decision(&session).await;
    system.expect_terminated(&session).await;
    assert!(sessions.is_empty());
    assert_eq!(sessions.get_or_spawn(1).unwrap().order(2).await.unwrap(), 3);
}

/// Rule 18.7.
#[supervise::test]
async fn key_10_what_the_table_escalates_the_owner_decides_again(system: &TestSystem) {
    system.allow_failures();
    let probe = system.probe();
    let (shop, sessions) = customers(system, &Common::new(&probe)).await;
    let (first, other) = (sessions.get_or_spawn(1).unwrap(), sessions.get_or_spawn(2).unwrap());
    first.escalate().await.unwrap_err();
    system.expect_escalated(&first).await;
    system.expect_restarts(&shop, 1).await;
    system.expect_terminated(&other).await;
    assert!(matches!(sessions.get_or_spawn(1), Err(SpawnError::Stopping { .. })), "they went with the instance");
    let sessions = shop.sessions().await.unwrap();
    assert!(sessions.is_empty());
    assert_eq!(sessions.get_or_spawn(1).unwrap().order(1).await.unwrap(), 3);
}

/// Rule 18.8.
#[supervise::test]
async fn key_13_the_end_of_the_owner_ends_them_all_and_every_ask(system: &TestSystem) {
    system.allow_dead_letters();
    let probe = system.probe();
    let (shop, sessions) = customers(system, &Common::new(&probe).last_words(Duration::from_secs(10))).await;
    let (leaving, staying) = (sessions.get_or_spawn(1).unwrap(), sessions.get_or_spawn(2).unwrap());
    sessions.passivate(&1);
    system.settle().await;
    let waiting = leaving.order(1).ask().unwrap();
    shop.close().await.unwrap();
    assert!(matches!(waiting.await, Err(AskError::Stopped)));
    system.expect_terminated(&shop).await;
    for session in [leaving, staying] {
        assert!(session.actor_ref().has_ended());
        assert_eq!(session.order(2).tell().unwrap_err().reason(), SendErrorReason::Stopped);
        assert!(matches!(session.order(3).await, Err(AskError::Stopped)));
    }
    assert!(sessions.is_empty());
    assert!(matches!(sessions.get_or_spawn(1), Err(SpawnError::Stopping { .. })));
}

/// Rule 18.2.
#[supervise::test]
async fn key_15_a_factory_that_panics_is_the_childs_failure(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let probe = system.probe();
    let common = Common::new(&probe);
    let (_shop, sessions) = customers(system, &common).await;
    common.factory_panics.store(true, Ordering::Relaxed);
    let session = sessions.get_or_spawn(1).unwrap();
    assert!(session.order(1).await.is_err());
    system.settle().await;
    assert!(sessions.is_empty(), "its table stops it");
    common.factory_panics.store(false, Ordering::Relaxed);
    assert_eq!(sessions.get_or_spawn(1).unwrap().order(2).await.unwrap(), 1);
}
