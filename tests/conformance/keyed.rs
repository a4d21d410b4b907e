//! KEY: one child for each key, created when it is needed and passivated when it is idle.
//!
//! Rules 18.1 to 18.8.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::ParseIntError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestProbe, TestSystem};
use supervise::{ChildKey, ChildrenProps, HowEnded, MailboxKind, NeverFails, Overflow, SendErrorReason};
use tokio::time::Instant;

use crate::fixture::Boom;

const IDLE: Duration = Duration::from_secs(300);

/// What the sessions of a test have in common.
#[derive(Clone)]
struct Plan {
    probe: ProbeHandle<String>,
    /// How long a session takes to end.
    last_words: Duration,
    /// How many instances were made.
    made: Arc<AtomicU32>,
    factory_panics: Arc<AtomicBool>,
}

impl Plan {
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

    /// The sessions of this plan.
    fn sessions<K: ChildKey>(&self) -> ChildrenProps<K, Session, NeverFails> {
        let plan = self.clone();
        Children::of(move |key: &K| {
            assert!(!plan.factory_panics.load(Ordering::Relaxed), "as told");
            Session {
                key: key.to_string(),
                number: plan.made.fetch_add(1, Ordering::Relaxed) + 1,
                plan: plan.clone(),
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
    plan: Plan,
    /// Whether it sets orders aside.
    locked: bool,
}

#[actor]
impl Session {
    /// Notes the order, and replies with the number of the instance.
    #[handler]
    fn order(&self, order: u32) -> u32 {
        self.plan.probe.note(format!("{}.{} {order}", self.key, self.number));
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
        tokio::time::sleep(self.plan.last_words).await;
        self.plan.probe.note(format!("{}.{} stops", self.key, self.number));
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
async fn customers(system: &TestSystem, plan: &Plan) -> (ShopRef<u64>, Children<u64, Session>) {
    let plan = plan.clone();
    open(system, move || plan.sessions().idle(IDLE)).await
}

/// Rule 18.1.
#[supervise::test]
async fn key_01_a_key_has_one_child_which_sees_the_key(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Plan::new(&probe)).await;
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
    let plan = Plan::new(&probe);
    let (_shop, sessions) = open(system, move || plan.sessions::<String>()).await;
    let name =
        |key: &str| sessions.get_or_spawn(key.to_owned()).map(|child| child.actor_ref().path().name().to_owned());
    assert_eq!(name("$new/ä b").unwrap(), "%24new%2F%C3%A4%20b");
    assert_eq!(name("..").unwrap(), "%2E%2E");
    assert!(matches!(name(""), Err(SpawnError::InvalidName { .. })));
    assert_eq!(sessions.len(), 2);
}

/// Rule 18.6.
#[supervise::test]
async fn key_03_an_idle_child_is_passivated_and_one_in_use_is_not(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Plan::new(&probe)).await;
    let (idle, used, watched) = (sessions.get_or_spawn(1), sessions.get_or_spawn(2), sessions.get_or_spawn(3));
    let (idle, used, watched) = (idle.unwrap(), used.unwrap(), watched.unwrap());
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(280) {
        used.order(1).await.unwrap();
        watched.look_on().await.unwrap();
        assert_eq!(probe.next().await, "2.2 1");
        system.advance(Duration::from_secs(20)).await;
    }
    assert_eq!(sessions.len(), 3, "nobody was idle for so long");
    used.order(2).await.unwrap();
    assert_eq!(probe.next().await, "2.2 2");
    system.advance(IDLE / 4 + Duration::from_secs(30)).await;
    let mut stopped = [probe.next().await, probe.next().await];
    stopped.sort();
    assert_eq!(stopped, ["1.1 stops", "3.3 stops"]);
    assert_eq!(sessions.len(), 1);
    assert_eq!(sessions.get(&1), None);
    assert!(idle.actor_ref().has_ended() && watched.actor_ref().has_ended());
    system.advance(IDLE * 5 / 4).await;
    assert_eq!(probe.next().await, "2.2 stops");
    assert!(sessions.is_empty());
}

/// Rule 18.6.
#[supervise::test]
async fn key_04_a_child_that_handles_or_keeps_a_message_is_not_idle(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Plan::new(&probe)).await;
    let thinker = sessions.get_or_spawn(1).unwrap();
    thinker.think(IDLE * 3).tell().unwrap();
    system.advance(IDLE * 5 / 2).await;
    assert_eq!(sessions.len(), 1);
    system.advance(IDLE).await;
    assert_eq!(sessions.len(), 1, "it has been idle for half of the time");
    system.advance(IDLE).await;
    assert!(sessions.is_empty());
    assert_eq!(probe.next().await, "1.1 stops");
}

/// Rule 18.6.
#[supervise::test]
async fn key_22_a_child_that_waits_for_an_answer_beside_its_handlers_is_not_idle(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Plan::new(&probe)).await;
    let (waiting, restarted) = (sessions.get_or_spawn(1).unwrap(), sessions.get_or_spawn(2).unwrap());
    waiting.order_later(7, IDLE * 3).tell().unwrap();
    restarted.order_later(8, IDLE * 3).tell().unwrap();
    assert!(restarted.fail().await.is_err());
    system.expect_restarts(&restarted, 1).await;
    system.advance(IDLE * 5 / 2).await;
    assert_eq!(probe.next().await, "2.2 stops");
    assert_eq!(probe.next().await, "2.3 stops", "its answer was cancelled with its first instance");
    assert_eq!(sessions.len(), 1);
    system.advance(IDLE * 2).await;
    assert_eq!(probe.next().await, "1.1 7");
    assert_eq!(probe.next().await, "1.1 stops");
    assert!(sessions.is_empty());
}

/// Rules 18.3, 18.4.
#[supervise::test]
async fn key_05_what_arrives_during_a_passivation_waits_for_the_successor_in_order(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Plan::new(&probe).last_words(Duration::from_secs(10))).await;
    let session = sessions.get_or_spawn(1).unwrap();
    session.order(1).tell().unwrap();
    sessions.passivate(&1);
    session.order(2).tell().unwrap();
    let answer = session.order(3).ask().unwrap();
    system.advance(Duration::from_secs(5)).await;
    // A second passivation of one that is being passivated changes nothing, and so does a stop.
    sessions.passivate(&1);
    session.actor_ref().stop();
    session.order(4).tell().unwrap();
    sessions.get_or_spawn(1).unwrap().order(5).tell().unwrap();
    assert_eq!(sessions.get(&1), None, "it is ending");
    assert_eq!(probe.next().await, "1.1 1");
    assert_eq!(answer.await.unwrap(), 2);
    session.order(6).tell().unwrap();
    for expected in ["1.1 stops", "1.2 2", "1.2 3", "1.2 4", "1.2 5", "1.2 6"] {
        assert_eq!(probe.next().await, expected);
    }
    assert_eq!(sessions.len(), 1);
    assert_eq!(sessions.get(&1).unwrap().actor_ref().path(), session.actor_ref().path());
}

/// Rule 18.4.
#[supervise::test]
async fn key_06_a_kept_ref_brings_back_the_child_of_its_key(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Plan::new(&probe)).await;
    let first = sessions.get_or_spawn(1).unwrap();
    sessions.passivate(&1);
    system.expect_terminated(&first).await;
    assert!(sessions.is_empty());
    assert_eq!(first.order(1).await.unwrap(), 2);
    let second = sessions.get(&1).unwrap();
    sessions.passivate(&1);
    system.expect_terminated(&second).await;
    let third = sessions.get_or_spawn(1).unwrap();
    for session in [&first, &second, &third] {
        assert_eq!(session.order(2).await.unwrap(), 3, "all of them reach the one that is there");
        session.order(3).send().await.unwrap();
    }
    assert_eq!(sessions.len(), 1);
    system.settle().await;
}

/// Rule 18.5.
#[supervise::test]
async fn key_07_a_stopped_child_leaves_its_entry_free(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Plan::new(&probe).last_words(Duration::from_secs(10))).await;
    let first = sessions.get_or_spawn(1).unwrap();
    first.think(Duration::from_secs(1)).tell().unwrap();
    first.order(1).tell().unwrap();
    system.settle().await;
    first.actor_ref().stop();
    system.advance(Duration::from_secs(5)).await;
    assert_eq!(sessions.get(&1), None);
    assert_eq!(sessions.len(), 1);
    system.advance(Duration::from_secs(10)).await;
    assert_eq!(probe.next().await, "1.1 stops");
    assert_eq!(system.expect_dead_letter(&first).await.message, "Order");
    assert!(sessions.is_empty());
    assert_eq!(first.order(2).tell().unwrap_err().reason(), SendErrorReason::Stopped);
    assert_eq!(system.expect_dead_letter(&first).await.message, "Order");
    let second = sessions.get_or_spawn(1).unwrap();
    assert_eq!(second.order(3).await.unwrap(), 2);

    // Between the end and the moment when the key is free.
    second.actor_ref().stop();
    system.ended(&second).await;
    drop(second.order(4).tell());
    assert_eq!(system.expect_dead_letter(&second).await.message, "Order");
    assert!(sessions.is_empty(), "nobody has asked for the child of this key");
}

/// Rule 18.5.
#[supervise::test]
async fn key_08_who_asks_for_a_child_that_is_being_stopped_gets_its_successor(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Plan::new(&probe).last_words(Duration::from_secs(10))).await;
    for by_itself in [false, true] {
        let first = sessions.get_or_spawn(1).unwrap();
        let before = first.order(1).await.unwrap();
        if by_itself {
            first.finish().await.unwrap();
            system.settle().await;
        } else {
            first.actor_ref().stop();
        }
        let again = sessions.get_or_spawn(1).unwrap();
        assert_eq!(again.order(2).await.unwrap(), before + 1);
        assert_eq!(again.order(3).await.unwrap(), before + 1);
        assert_eq!(sessions.get_or_spawn(1).unwrap().order(4).await.unwrap(), before + 1);
    }
    // After the lane was emptied and before the parent knows.
    let last = sessions.get_or_spawn(1).unwrap();
    last.actor_ref().stop();
    system.ended(&last).await;
    assert_eq!(sessions.get_or_spawn(1).unwrap().order(5).await.unwrap(), 4);
}

/// Rules 18.2, 18.5.
#[supervise::test]
async fn key_09_the_table_of_the_owner_decides(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Plan::new(&probe)).await;
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
    let (shop, sessions) = customers(system, &Plan::new(&probe)).await;
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

/// Rule 18.3.
#[supervise::test]
async fn key_11_a_bound_holds_for_what_waits_for_the_successor(system: &TestSystem) {
    let probe = system.probe();
    let plan = Plan::new(&probe).last_words(Duration::from_secs(10));
    let bounded = MailboxKind::Bounded { capacity: 2, overflow: Overflow::Fail };
    let (_shop, sessions) = open(system, move || plan.sessions::<u64>().mailbox(bounded)).await;
    let session = sessions.get_or_spawn(1).unwrap();
    session.leave().await.unwrap();
    system.settle().await;
    session.order(1).tell().unwrap();
    session.order(2).tell().unwrap();
    assert_eq!(session.order(9).tell().unwrap_err().reason(), SendErrorReason::MailboxFull);
    let kept = session.clone();
    let waits = tokio::spawn(async move {
        kept.order(3).send().await.unwrap();
        kept.order(4).send().await.unwrap();
        kept.order(5).send().await.unwrap();
    });
    waits.await.unwrap();
    for expected in ["1.1 stops", "1.2 1", "1.2 2", "1.2 3", "1.2 4", "1.2 5"] {
        assert_eq!(probe.next().await, expected);
    }
}

/// Rule 18.3.
#[supervise::test]
async fn key_12_what_was_set_aside_goes_to_the_successor_first(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Plan::new(&probe)).await;
    let session = sessions.get_or_spawn(1).unwrap();
    session.lock().tell().unwrap();
    session.order(1).tell().unwrap();
    session.order(2).tell().unwrap();
    session.leave().tell().unwrap();
    session.order(3).tell().unwrap();
    session.think(Duration::ZERO).await.unwrap();
    system.settle().await;
    sessions.passivate(&1);
    system.settle().await;
    for expected in ["1.1 stops", "1.2 1", "1.2 2", "1.2 3", "1.2 stops"] {
        assert_eq!(probe.next().await, expected);
    }
}

/// Rule 18.8.
#[supervise::test]
async fn key_13_the_end_of_the_owner_ends_them_all_and_every_ask(system: &TestSystem) {
    system.allow_dead_letters();
    let probe = system.probe();
    let (shop, sessions) = customers(system, &Plan::new(&probe).last_words(Duration::from_secs(10))).await;
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

/// Rule 18.3.
#[supervise::test]
async fn key_14_a_child_whose_end_hangs_is_aborted_and_succeeded(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Plan::new(&probe).last_words(Duration::MAX)).await;
    let session = sessions.get_or_spawn(1).unwrap();
    sessions.passivate(&1);
    system.settle().await;
    let start = Instant::now();
    assert_eq!(session.order(1).await.unwrap(), 2);
    assert_eq!(start.elapsed(), Duration::from_secs(30), "the stop timeout");
    assert_eq!(system.expect_terminated(&session).await, HowEnded::Aborted);
    sessions.stop();
    system.advance(Duration::from_secs(60)).await;
}

/// Rule 18.2.
#[supervise::test]
async fn key_15_a_factory_that_panics_is_the_childs_failure(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let probe = system.probe();
    let plan = Plan::new(&probe);
    let (_shop, sessions) = customers(system, &plan).await;
    plan.factory_panics.store(true, Ordering::Relaxed);
    let session = sessions.get_or_spawn(1).unwrap();
    assert!(session.order(1).await.is_err());
    system.settle().await;
    assert!(sessions.is_empty(), "its table stops it");
    plan.factory_panics.store(false, Ordering::Relaxed);
    assert_eq!(sessions.get_or_spawn(1).unwrap().order(2).await.unwrap(), 1);
}

/// A key that can be told to panic, and to change.
#[derive(Clone)]
struct Treacherous {
    name: &'static str,
    hash: Arc<AtomicU32>,
    panics: Arc<AtomicBool>,
}

impl Treacherous {
    fn new(name: &'static str) -> Self {
        Self { name, hash: Arc::default(), panics: Arc::default() }
    }

    fn check(&self) {
        assert!(!self.panics.load(Ordering::Relaxed), "as told");
    }
}

impl Hash for Treacherous {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.check();
        self.hash.load(Ordering::Relaxed).hash(state);
    }
}

impl PartialEq for Treacherous {
    fn eq(&self, other: &Self) -> bool {
        self.check();
        self.name == other.name
    }
}

impl Eq for Treacherous {}

impl fmt::Display for Treacherous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.check();
        f.write_str(self.name)
    }
}

/// Rule 18.1.
#[supervise::test]
async fn key_16_keys_of_one_hash_have_children_of_their_own(system: &TestSystem) {
    let probe = system.probe();
    let plan = Plan::new(&probe);
    let (_shop, sessions) = open(system, move || plan.sessions::<Treacherous>()).await;
    let keys = ["a", "b", "c"].map(Treacherous::new);
    let children = keys.clone().map(|key| sessions.get_or_spawn(key).unwrap());
    for (key, child) in keys.iter().zip(&children) {
        assert_eq!(sessions.get(key).as_ref(), Some(child));
        assert_eq!(child.actor_ref().path().name(), key.name);
    }
    sessions.passivate(&keys[1]);
    system.settle().await;
    assert_eq!(sessions.get(&keys[1]), None);
    assert_eq!(sessions.get(&keys[2]).as_ref(), Some(&children[2]));
    assert_eq!(children[1].order(1).await.unwrap(), 4);
    assert_eq!(sessions.len(), 3);
}

/// Rule 18.1.
#[supervise::test]
async fn key_17_a_key_that_panics_or_changes_harms_nobody_else(system: &TestSystem) {
    system.allow_dead_letters();
    let probe = system.probe();
    let plan = Plan::new(&probe);
    let (_shop, sessions) = open(system, move || plan.sessions::<Treacherous>()).await;
    let (bad, good) = (Treacherous::new("bad"), Treacherous::new("good"));
    good.hash.store(1, Ordering::Relaxed);
    let child = sessions.get_or_spawn(bad.clone()).unwrap();
    let fine = sessions.get_or_spawn(good.clone()).unwrap();
    system.settle().await;

    bad.panics.store(true, Ordering::Relaxed);
    let asked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sessions.get(&bad)));
    assert!(asked.is_err());
    child.leave().tell().unwrap();
    child.order(9).tell().unwrap();
    system.settle().await;
    assert_eq!(sessions.len(), 1, "its seat is free though it cannot be shown");
    assert!(child.order(1).tell().is_err(), "nobody can be made for it");
    bad.panics.store(false, Ordering::Relaxed);
    assert_eq!(child.order(2).await.unwrap(), 3);

    // It is no longer found, and it is not created twice under one name.
    bad.hash.store(2, Ordering::Relaxed);
    assert_eq!(sessions.get(&bad), None);
    assert!(matches!(sessions.get_or_spawn(bad.clone()), Err(SpawnError::NameTaken { .. })));
    child.leave().await.unwrap();
    system.settle().await;
    assert_eq!(sessions.len(), 1);
    assert_eq!(fine.order(1).await.unwrap(), 2);
    assert_eq!(sessions.get(&good), Some(fine));
}

/// Rule 18.6.
#[supervise::test]
async fn key_18_ten_thousand_idle_children_are_passivated_together(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Plan::new(&probe)).await;
    let children: Vec<_> = (0..10_000).map(|key| sessions.get_or_spawn(key).unwrap()).collect();
    system.settle().await;
    assert_eq!(sessions.len(), 10_000);
    system.advance(IDLE * 5 / 4).await;
    assert_eq!(sessions.len(), 0);
    for child in children.iter().step_by(100) {
        assert!(child.order(1).await.unwrap() > 10_000);
    }
    assert_eq!(sessions.len(), 100);
}

/// Rules 18.3, 18.6.
#[supervise::test]
async fn key_19_a_suspended_child_is_passivated_when_it_is_well(system: &TestSystem) {
    let probe = system.probe();
    let (_shop, sessions) = customers(system, &Plan::new(&probe)).await;
    let session = sessions.get_or_spawn(1).unwrap();
    session.fail().tell().unwrap();
    sessions.passivate(&1);
    session.order(1).tell().unwrap();
    system.expect_restarts(&session, 1).await;
    system.settle().await;
    for expected in ["1.1 stops", "1.2 stops", "1.3 1"] {
        assert_eq!(probe.next().await, expected);
    }
}
