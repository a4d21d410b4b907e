//! The stores of the table, each with what it promises when it says that a message is stored.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use apalis::prelude::*;
use apalis_sqlite::SqliteStorage;
use rusqlite::Connection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use supervise::durable::SqliteStore;
use supervise::{ActorSystem, Sender};
use tokio::sync::Mutex;

/// How long a producer may wait for apalis's only connection.
const PATIENCE: Duration = Duration::from_secs(600);

/// Something that stores messages. Each producer has a clone.
pub trait Side: Clone + Send + 'static {
    /// Completes when the message is stored.
    fn store(&mut self, body: String) -> impl Future<Output = ()> + Send;
}

mod orders {
    use supervise::prelude::*;

    #[actor(mailbox = durable(capacity = 100_000_000))]
    pub struct Orders;

    #[actor]
    impl Orders {
        #[handler]
        fn place(&mut self, order: String) {
            drop(order);
        }
    }
}

/// A message survives a power cut, and is stored in one transaction with those of the other producers.
#[derive(Clone)]
pub struct Supervise {
    system: ActorSystem,
    sender: Sender<orders::Orders>,
}

impl Supervise {
    pub async fn start(path: &Path) -> Self {
        let system = ActorSystem::builder("bench").store(SqliteStore::new(path)).start();
        let system = system.expect("the name is valid");
        system.store().ready().await.expect("it opens");
        let sender = system.store().sender("orders");
        Self { system, sender }
    }

    pub async fn end(self) {
        self.system.terminate().await;
    }
}

impl Side for Supervise {
    async fn store(&mut self, body: String) {
        let message = orders::OrdersMessage::Place { order: body };
        self.sender.accepted(message).await.expect("there is room");
    }
}

/// A message survives a power cut, and is stored in a transaction of its own, unless `is_synced` is false: apalis's `setup` turns syncing
/// off.
#[derive(Clone)]
pub struct Apalis(SqliteStorage<String>);

impl Apalis {
    pub async fn create(path: &Path, is_synced: bool) -> Self {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full);
        // SQLite has one writer at a time, and several connections would wait for each other.
        let pool = SqlitePoolOptions::new().max_connections(1).acquire_timeout(PATIENCE).connect_with(options);
        let pool = pool.await.expect("it is new");
        if is_synced {
            SqliteStorage::migrations().run(&pool).await.expect("it is new");
        } else {
            SqliteStorage::setup(&pool).await.expect("it is new");
        }
        Self(SqliteStorage::new(&pool))
    }
}

impl Side for Apalis {
    async fn store(&mut self, body: String) {
        self.0.push(body).await.expect("there is room");
    }
}

/// A message survives the death of the process. yaque never syncs, so a power cut loses what the system has not yet written.
#[derive(Clone)]
pub struct Yaque(Arc<Mutex<yaque::Sender>>);

impl Yaque {
    pub fn create(path: &Path) -> Self {
        Self(Arc::new(Mutex::new(yaque::Sender::open(path).expect("it is new"))))
    }
}

impl Side for Yaque {
    async fn store(&mut self, body: String) {
        // It has one sender.
        self.0.lock().await.send(body).await.expect("there is room");
    }
}

/// A loop without producers. A message survives a power cut.
pub struct Bare {
    connection: Connection,
    last: i64,
}

impl Bare {
    pub fn create(path: &Path) -> Self {
        let connection = Connection::open(path).expect("it can be written");
        connection
            .execute_batch(
                "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
                 CREATE TABLE message (id INTEGER PRIMARY KEY, body BLOB NOT NULL);",
            )
            .expect("it is new");
        Self { connection, last: 0 }
    }

    /// Stores a message for each producer.
    pub fn group(&mut self, producers: u32, body: &str) {
        let mut insert = self.connection.prepare_cached("INSERT INTO message VALUES (?, ?)").expect("it is there");
        self.connection.execute_batch("BEGIN IMMEDIATE").expect("it is ours");
        for _ in 0..producers {
            self.last += 1;
            insert.execute((self.last, body)).expect("there is room");
        }
        self.connection.execute_batch("COMMIT").expect("there is room");
    }
}
