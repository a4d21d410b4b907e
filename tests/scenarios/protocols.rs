//! Actors behind protocols: traits whose refs hide the actor's type.

use std::collections::HashMap;
use std::sync::Mutex;

use supervise::pattern::Pool;
use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{HowEnded, SendErrorReason};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum PutError {
    #[error("no room")]
    Full,
    #[error("no answer: {0}")]
    NoAnswer(String),
}

impl From<AskError> for PutError {
    fn from(error: AskError) -> Self {
        Self::NoAnswer(error.to_string())
    }
}

#[protocol]
#[async_trait]
trait Storage {
    async fn put(&self, key: String, value: u8) -> Result<(), PutError>;

    async fn get(&self, key: String) -> Result<Option<u8>, AskError>;

    fn forget(&self, key: String) -> Result<(), SendErrorReason>;

    /// Not a message: it calls the others.
    async fn put_all(&self, keys: &[&str], value: u8) -> Result<(), PutError> {
        for key in keys {
            self.put((*key).to_owned(), value).await?;
        }
        Ok(())
    }
}

/// Holds at most two rows. A third one makes it fail, and it forgets all.
#[actor(mailbox = bounded(2))]
#[derive(Default)]
struct Database {
    rows: HashMap<String, u8>,
}

#[actor(implements(Storage))]
impl Database {
    #[handler]
    fn put(&mut self, key: String, value: u8) -> Result<(), PutError> {
        if self.rows.len() == 2 {
            return Err(PutError::Full);
        }
        self.rows.insert(key, value);
        Ok(())
    }

    #[handler]
    async fn get(&self, key: String) -> Option<u8> {
        tokio::task::yield_now().await;
        self.rows.get(&key).copied()
    }

    #[handler]
    fn forget(&mut self, key: String) -> usize {
        self.rows.remove(&key);
        self.rows.len()
    }

    /// Not part of the protocol.
    #[handler]
    fn rows(&self) -> usize {
        self.rows.len()
    }
}

/// Keeps nothing, and replies with an error, which is not a failure.
#[actor]
struct Wall {
    probe: ProbeHandle<String>,
}

#[actor(implements(Storage))]
impl Wall {
    #[handler]
    fn put(&self, _key: String, _value: u8) -> Reply<Result<(), PutError>> {
        Reply(Err(PutError::Full))
    }

    #[handler]
    async fn get(&self, key: String) -> Result<Option<u8>, AskError> {
        tokio::task::yield_now().await;
        Err(if key == "stopped" { AskError::Stopped } else { AskError::MailboxFull })
    }

    #[handler]
    fn forget(&self, key: String) {
        self.probe.note(key);
    }
}

/// The storage in a test of an actor that uses one.
#[derive(Debug, Default)]
struct Fake {
    rows: Mutex<HashMap<String, u8>>,
}

#[async_trait]
impl Storage for Fake {
    async fn put(&self, key: String, value: u8) -> Result<(), PutError> {
        self.rows.lock().unwrap().insert(key, value);
        Ok(())
    }

    async fn get(&self, key: String) -> Result<Option<u8>, AskError> {
        Ok(self.rows.lock().unwrap().get(&key).copied())
    }

    fn forget(&self, key: String) -> Result<(), SendErrorReason> {
        self.rows.lock().unwrap().remove(&key);
        Ok(())
    }
}

/// Rules 20.1, 20.2, 20.4.
#[supervise::test]
async fn a_protocol_ref_reaches_the_handlers_of_an_actor(system: &TestSystem) {
    let database = system.spawn("database", Database::default).unwrap();
    let storage = StorageRef::from(database.clone());

    storage.put("a".to_owned(), 1).await.unwrap();
    assert_eq!(storage.get("a".to_owned()).await.unwrap(), Some(1));
    storage.forget("a".to_owned()).unwrap();
    assert_eq!(database.rows().await.unwrap(), 0);
    storage.put_all(&["b", "c"], 2).await.unwrap();
    assert_eq!(database.rows().await.unwrap(), 2);

    assert_eq!(storage.actor(), Some(&database.actor_ref().to_any()));
    assert_eq!(storage.to_string(), database.to_string());
    assert_eq!(format!("{storage:?}"), format!("{database:?}"));
    assert_eq!(storage, StorageRef::from(database));
    let other = system.spawn("other", Database::default).unwrap();
    assert_ne!(storage, other.into());
}

/// Rules 20.3, 20.4.
#[supervise::test]
async fn the_ref_of_a_protocol_survives_a_restart_whose_error_the_asker_gets(system: &TestSystem) {
    let database = system.spawn("database", Database::default).unwrap();
    let storage = StorageRef::from(database.clone());
    assert_eq!(storage.put_all(&["a", "b", "c"], 1).await, Err(PutError::Full));
    system.expect_restarts(&database, 1).await;
    assert_eq!(storage.put_all(&["a", "b"], 1).await, Ok(()));
}

/// Rule 20.3.
#[supervise::test]
async fn an_error_that_is_an_answer_fails_no_actor(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    let wall = system.spawn("wall", move || Wall { probe: handle.clone() }).unwrap();
    let storage = StorageRef::from(wall.clone());
    assert_eq!(storage.put("a".to_owned(), 1).await, Err(PutError::Full));
    storage.forget("b".to_owned()).unwrap();
    assert_eq!(probe.all().await, ["b"]);
    system.expect_restarts(&wall, 0).await;
}

/// Rule 20.3. Otherwise `Stopped` would seem to be about the wall, although the wall reports it about another
/// actor.
#[supervise::test]
async fn an_actor_that_fails_with_an_ask_error_has_failed(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    let wall = system.spawn("wall", move || Wall { probe: handle.clone() }).unwrap();
    let storage = StorageRef::from(wall.clone());
    let Err(AskError::Failed(failure)) = storage.get("stopped".to_owned()).await else { panic!("it fails") };
    assert!(matches!(failure.downcast_ref(), Some(AskError::Stopped)), "{failure}");
    system.expect_decision(&wall).await;
}

/// Rules 20.2, 20.3.
#[supervise::test]
async fn a_call_that_reaches_nobody_says_so(system: &TestSystem) {
    let database = system.spawn("database", Database::default).unwrap();
    let storage = StorageRef::from(database.clone());
    storage.forget("a".to_owned()).unwrap();
    storage.forget("a".to_owned()).unwrap();
    assert_eq!(storage.forget("a".to_owned()), Err(SendErrorReason::MailboxFull));
    assert!(matches!(storage.get("a".to_owned()).await, Err(AskError::MailboxFull)));

    system.allow_dead_letters();
    storage.actor().unwrap().stop();
    system.ended(&database).await;
    assert_eq!(storage.forget("a".to_owned()), Err(SendErrorReason::Stopped));
    assert!(matches!(storage.get("a".to_owned()).await, Err(AskError::Stopped)));
    let no_answer = PutError::NoAnswer(AskError::Stopped.to_string());
    assert_eq!(storage.put("a".to_owned(), 1).await, Err(no_answer));
}

// ---- what is not an actor -------------------------------------------------------------------------------------------

/// A protocol whose error cannot be cloned.
#[protocol]
#[async_trait]
trait Counter {
    async fn count(&self, text: String) -> Result<usize, CountError>;
}

#[derive(Debug, thiserror::Error)]
enum CountError {
    #[error("nothing to count")]
    Empty,
    #[error(transparent)]
    NoAnswer(#[from] AskError),
    #[error(transparent)]
    NotKept(#[from] PutError),
}

/// Adapts `Counter` to `Storage`.
struct Counted(StorageRef);

#[async_trait]
impl Counter for Counted {
    async fn count(&self, text: String) -> Result<usize, CountError> {
        let length = text.len();
        self.0.put(text, 1).await?;
        Ok(length)
    }

    fn actor(&self) -> Option<supervise::AnyActorRef> {
        self.0.actor().cloned()
    }
}

/// Rules 20.4, 20.5.
#[supervise::test]
async fn a_struct_stands_in_for_an_actor_in_a_test() {
    let storage = StorageRef::from(Fake::default());
    storage.put("a".to_owned(), 1).await.unwrap();
    assert_eq!(storage.clone().get("a".to_owned()).await.unwrap(), Some(1));
    assert_eq!(storage.actor(), None);
    assert!(storage.to_string().ends_with("Fake"), "{storage}");
    assert_eq!(storage, storage.clone());
    assert_ne!(storage, Fake::default().into());
}

/// Rule 20.5.
#[supervise::test]
async fn a_struct_adapts_one_protocol_to_another(system: &TestSystem) {
    let database = system.spawn("database", Database::default).unwrap();
    let counter = CounterRef::from(Counted(database.clone().into()));
    assert_eq!(counter.count("abc".to_owned()).await.unwrap(), 3);
    assert_eq!(database.get("abc".to_owned()).await.unwrap(), Some(1));
    assert_eq!(counter.actor(), Some(&database.actor_ref().to_any()));

    system.allow_dead_letters();
    database.actor_ref().stop();
    system.ended(&database).await;
    let error = counter.count("abc".to_owned()).await.unwrap_err();
    assert!(matches!(error, CountError::NotKept(PutError::NoAnswer(_))), "{error:?}");
}

// ---- where a ref may be -----------------------------------------------------------------------------------------------

/// Counts with whatever storage it has, and gets another one by message.
#[actor]
struct Tally {
    storage: StorageRef,
    probe: ProbeHandle<String>,
}

#[actor(implements(Counter))]
impl Tally {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) {
        if let Some(actor) = self.storage.actor() {
            ctx.watch_any(actor);
        }
    }

    #[handler]
    async fn count(&mut self, text: String) -> Result<usize, CountError> {
        if text.is_empty() {
            return Err(CountError::Empty);
        }
        let length = text.len();
        self.storage.put(text, 1).await?;
        Ok(length)
    }

    #[handler]
    fn replace(&mut self, storage: StorageRef) -> StorageRef {
        std::mem::replace(&mut self.storage, storage)
    }

    #[watch]
    fn gone(&mut self, gone: Terminated) {
        let how = if gone.how() == HowEnded::Graceful { "has ended" } else { "was gone" };
        self.probe.note(format!("{} {how}", gone.path().local()));
    }
}

/// Rules 20.3, 20.4, 20.6.
#[supervise::test]
async fn an_actor_holds_watches_and_exchanges_what_is_behind_a_protocol(system: &TestSystem) {
    let probe = system.probe();
    let database = system.spawn("database", Database::default).unwrap();
    let (storage, handle) = (StorageRef::from(database.clone()), probe.handle());
    let tally = system.spawn("tally", move || Tally { storage: storage.clone(), probe: handle.clone() }).unwrap();
    let counter = CounterRef::from(tally.clone());
    assert_eq!(counter.count("abc".to_owned()).await.unwrap(), 3);

    let before = tally.replace(Fake::default().into()).await.unwrap();
    assert_eq!(before, StorageRef::from(database.clone()));
    assert_eq!(counter.count("abcd".to_owned()).await.unwrap(), 4);
    assert_eq!(database.rows().await.unwrap(), 1);

    before.actor().unwrap().stop();
    system.ended(&database).await;
    system.settle().await;
    assert_eq!(probe.all().await, ["/user/database has ended"]);

    // An error that is not `Clone` stays with the failure.
    let Err(CountError::NoAnswer(AskError::Failed(failure))) = counter.count(String::new()).await else {
        panic!("it fails")
    };
    assert!(matches!(failure.downcast_ref(), Some(CountError::Empty)));
    system.expect_decision(&tally).await;
}

/// Rule 20.4.
#[supervise::test]
async fn a_pool_stands_behind_a_protocol(system: &TestSystem) {
    let pool = system.spawn_with("pool", Pool::round_robin(2, Database::default).props()).unwrap();
    let storage = StorageRef::from(pool);
    for key in ["a", "b", "c", "d"] {
        storage.put(key.to_owned(), 1).await.unwrap();
    }
    // Each of the two has two rows, which is the most that one can hold.
    system.allow_failures();
    assert_eq!(storage.put("e".to_owned(), 1).await, Err(PutError::Full));
}

/// Rule 20.3: a handler that awaits an answer of its own actor.
#[actor]
struct Mirror {
    me: Option<CounterRef>,
}

#[actor(implements(Counter))]
impl Mirror {
    #[handler]
    async fn count(&mut self, text: String, ctx: &mut Context<Self>) -> Result<usize, CountError> {
        let me = self.me.get_or_insert_with(|| ctx.me().into());
        me.count(text).await
    }
}

/// Rule 20.3.
#[supervise::test]
async fn an_actor_that_asks_itself_through_a_protocol_is_told(system: &TestSystem) {
    let mirror = system.spawn("mirror", || Mirror { me: None }).unwrap();
    let counter = CounterRef::from(mirror.clone());
    let Err(CountError::NoAnswer(AskError::Failed(failure))) = counter.count("a".to_owned()).await else {
        panic!("it fails")
    };
    let error = failure.downcast_ref();
    assert!(matches!(error, Some(CountError::NoAnswer(AskError::AskedItself(_)))), "{failure}");
    system.expect_decision(&mirror).await;
}

// ---- several protocols, generic protocols, implementations by hand --------------------------------------------------

#[protocol]
#[async_trait]
trait Source<T: Send + 'static>: std::fmt::Debug {
    async fn get(&self, key: String) -> Result<Option<T>, AskError>;
}

#[actor]
struct Memory<T> {
    value: T,
}

#[actor(implements(Source<T>))]
impl<T: Clone + Send + Sync + 'static> Memory<T> {
    #[handler]
    fn get(&self, key: String) -> Option<T> {
        (!key.is_empty()).then(|| self.value.clone())
    }
}

#[actor]
struct Both;

#[actor(implements(Source<u8>, Storage))]
impl Both {
    #[handler]
    fn get(&self, key: String) -> Option<u8> {
        key.bytes().next()
    }
    #[handler]
    fn put(&mut self, _key: String, _value: u8) {}
    #[handler]
    fn forget(&self, _key: String) {}
}

/// A protocol for which the actor has handlers of other names and types.
#[async_trait]
impl Counter for DatabaseRef {
    async fn count(&self, _text: String) -> Result<usize, CountError> {
        Ok(self.rows().await?)
    }
}

/// Rules 20.1, 20.5.
#[supervise::test]
async fn an_actor_may_implement_several_protocols_in_several_ways(system: &TestSystem) {
    let memory = system.spawn("memory", || Memory { value: "x".to_owned() }).unwrap();
    let source = SourceRef::<String>::new(memory);
    assert_eq!(source.get("a".to_owned()).await.unwrap().as_deref(), Some("x"));

    let both = system.spawn("both", || Both).unwrap();
    assert_eq!(StorageRef::from(both.clone()).get("a".to_owned()).await.unwrap(), Some(97));
    assert_eq!(SourceRef::<u8>::new(both).get("b".to_owned()).await.unwrap(), Some(98));

    let database = system.spawn("database", Database::default).unwrap();
    assert_eq!(CounterRef::from(database).count(String::new()).await.unwrap(), 0);
}

fn travels<T: Send + Sync + Clone + 'static>() {}

/// Rule 20.4.
#[test]
fn a_protocol_ref_travels() {
    travels::<StorageRef>();
    travels::<SourceRef<Mutex<u8>>>();
}
