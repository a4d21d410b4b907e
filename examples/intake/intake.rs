//! The parent of the customers and of the connections.

use supervise::Envelope;
use supervise::pattern::Pool;
use supervise::prelude::*;
use tokio_postgres::Config;

use crate::customer::{Customer, CustomerError, CustomerRef};
use crate::writer::{Writer, WriterMessage};

/// How many connections there are.
pub(crate) const WRITERS: usize = 4;

/// The table of the connections. A database comes back sooner or later, so the table has no limit.
#[supervise(one_for_one(backoff(min = "100ms", max = "500ms", jitter = 0.2)), on(_) = Restart)]
struct Connections;

/// A customer whose state is in doubt ends. The next order starts one that reads the state.
#[actor]
#[supervise(one_for_one, on(CustomerError) = Stop, on(Panic) = Restart, on(_) = Escalate)]
pub(crate) struct Intake {
    database: Config,
    #[child(|this| {
        let database = this.database.clone();
        Pool::by_key(WRITERS, customer, move || Writer::new(database.clone())).supervised_by::<Connections>().props()
    })]
    writers: Child<Pool<Writer>>,
    #[child(
        |this| {
            let writers = this.writers.actor();
            move |name: &String| Customer::new(name.clone(), writers.clone())
        },
        idle = "2s",
    )]
    customers: Children<String, Customer>,
}

impl Intake {
    pub(crate) fn new(database: Config) -> Self {
        Self { database, writers: Child::default(), customers: Children::default() }
    }
}

#[actor]
impl Intake {
    /// The customer of this name. A name that is refused is the caller's mistake and not a failure.
    #[handler(inline)]
    fn customer(&self, name: String) -> Reply<Result<CustomerRef, SpawnError>> {
        Reply(self.customers.get_or_spawn(name))
    }
}

fn customer(envelope: &Envelope<WriterMessage>) -> String {
    match envelope.message() {
        WriterMessage::Write { rows } => rows.customer.clone(),
        WriterMessage::Book { customer } => customer.clone(),
        WriterMessage::Closed { .. } | WriterMessage::Check => String::new(),
    }
}
