//! The parent of the customers and of the connections.

use supervise::Envelope;
use supervise::pattern::Pool;
use supervise::prelude::*;
use tokio_postgres::Config;

use crate::customer::{Customer, CustomerError, CustomerRef};
use crate::writer::{Writer, WriterMessage};

/// How many connections there are.
pub(crate) const WRITERS: usize = 4;
/// How many customers may have an actor at a time. Clients choose the names, so they could make up any number.
const CUSTOMERS: usize = 500;

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
        limit = CUSTOMERS,
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
    /// The customer of this name. A refusal, of a bad name or of one customer too many, is an answer and not a failure.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// No database is running, so the customers keep waiting for one. The clock is paused, so that they never give up.
    #[tokio::test(start_paused = true)]
    async fn one_customer_too_many_is_refused_and_the_others_stay() {
        let system = ActorSystem::new("intake");
        let intake = system.spawn("intake", || Intake::new(Config::new())).unwrap();
        let first = intake.customer("customer-1".to_owned()).await.unwrap().unwrap();
        for number in 2..=CUSTOMERS {
            intake.customer(format!("customer-{number}")).await.unwrap().unwrap();
        }
        let refused = intake.customer("one too many".to_owned()).await.unwrap();
        assert!(matches!(refused, Err(SpawnError::TooManyChildren { limit: CUSTOMERS, .. })), "{refused:?}");
        assert_eq!(intake.customer("customer-1".to_owned()).await.unwrap().unwrap(), first);
    }
}
