//! A connection to the database that writes batches. It connects when it starts, so a restart is a new connection.

use std::collections::HashMap;
use std::time::Duration;

use supervise::prelude::*;
use tokio::time::timeout;
use tokio_postgres::{Client, Config, NoTls, Statement};

/// After this long without an answer, the database counts as gone.
const PATIENCE: Duration = Duration::from_secs(1);

/// After this long without a message, the writer checks the connection.
const IDLE: Duration = Duration::from_millis(500);

/// The statement that writes a batch. It leaves out rows whose id or number is already in the table.
const INSERT: &str = "INSERT INTO orders (id, customer, number, article) \
    SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) ON CONFLICT DO NOTHING RETURNING id";
const FIND: &str = "SELECT id, number FROM orders WHERE id = ANY($1)";
const CHECK: &str = "SELECT 1 FROM orders LIMIT 0";
const LAST: &str = "SELECT coalesce(max(number), 0), count(*) FROM orders WHERE customer = $1";

#[derive(Debug, thiserror::Error)]
pub(crate) enum DatabaseError {
    #[error("the database refuses: {0}")]
    Refuses(#[from] tokio_postgres::Error),
    #[error("the database does not answer within {PATIENCE:?}")]
    Silent,
    #[error("the database has closed the connection")]
    Closed,
}

#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) customer: String,
    pub(crate) number: i64,
    pub(crate) article: String,
}

/// What became of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    New,
    /// The order was in the table, with this number.
    Before(i64),
    /// Another order has the number, so the customer's actor that gave it does not know the latest orders.
    NumberTaken,
}

/// What the table knows about a customer.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Book {
    pub(crate) last_number: i64,
    pub(crate) orders: i64,
}

#[actor(mailbox = bounded(256))]
pub(crate) struct Writer {
    database: Config,
    /// Set when the writer has started.
    session: Option<Session>,
}

struct Session {
    client: Client,
    insert: Statement,
    find: Statement,
    last: Statement,
}

impl Writer {
    pub(crate) fn new(database: Config) -> Self {
        Self { database, session: None }
    }

    fn session(&self) -> Result<&Session, DatabaseError> {
        self.session.as_ref().ok_or(DatabaseError::Closed)
    }
}

#[actor]
impl Writer {
    #[pre_start]
    async fn connect(&mut self, ctx: &mut Context<Self>) -> Result<(), DatabaseError> {
        let (client, connection) = in_time(self.database.connect(NoTls)).await?;
        // The task of the connection ends with this instance. If it ends earlier, the writer fails, even if nobody
        // writes.
        ctx.pipe(connection, WriterRef::closed);
        let insert = in_time(client.prepare(INSERT)).await?;
        let find = in_time(client.prepare(FIND)).await?;
        let last = in_time(client.prepare(LAST)).await?;
        self.session = Some(Session { client, insert, find, last });
        ctx.set_receive_timeout(IDLE, || WriterMessage::Check);
        Ok(())
    }

    /// A database that hangs does not close the connection, so the writer has to ask it. It asks for the table, because a writer to
    /// which no customer sends would not notice that the table is missing.
    #[handler]
    async fn check(&mut self) -> Result<(), DatabaseError> {
        in_time(self.session()?.client.simple_query(CHECK)).await?;
        Ok(())
    }

    #[handler]
    fn closed(&mut self, how: Result<(), tokio_postgres::Error>) -> Result<(), DatabaseError> {
        how?;
        Err(DatabaseError::Closed)
    }

    /// Writes the orders of many customers in one statement. The answers come when it is committed.
    #[handler(batch = 100, linger = "2ms", skip_abandoned)]
    async fn write(&mut self, rows: Vec<Row>) -> Result<Vec<Written>, DatabaseError> {
        let Session { client, insert, find, .. } = self.session()?;
        let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        let customers: Vec<&str> = rows.iter().map(|row| row.customer.as_str()).collect();
        let numbers: Vec<i64> = rows.iter().map(|row| row.number).collect();
        let articles: Vec<&str> = rows.iter().map(|row| row.article.as_str()).collect();
        let new = in_time(client.query(insert, &[&ids, &customers, &numbers, &articles])).await?;
        let mut written: HashMap<String, Written> = new.iter().map(|row| (row.get(0), Written::New)).collect();
        if written.len() < rows.len() {
            let left_out: Vec<&str> = ids.into_iter().filter(|id| !written.contains_key(*id)).collect();
            let before = in_time(client.query(find, &[&left_out])).await?;
            written.extend(before.iter().map(|row| (row.get(0), Written::Before(row.get(1)))));
        }
        Ok(rows.iter().map(|row| written.get(&row.id).copied().unwrap_or(Written::NumberTaken)).collect())
    }

    /// Reads what there is of a customer. All messages about one customer go to the same writer in order, so this comes after what
    /// was written before.
    #[handler(skip_abandoned)]
    async fn book(&mut self, customer: String) -> Result<Book, DatabaseError> {
        let Session { client, last, .. } = self.session()?;
        let row = in_time(client.query_one(last, &[&customer])).await?;
        Ok(Book { last_number: row.get(0), orders: row.get(1) })
    }
}

async fn in_time<T>(work: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, DatabaseError> {
    match timeout(PATIENCE, work).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(DatabaseError::Silent),
    }
}
