//! One customer. It gives the customer's orders their numbers, and answers when they are in the database.

use std::time::Duration;

use supervise::pattern::PoolRef;
use supervise::prelude::*;

use crate::writer::{Book, Row, Writer, Written};

/// How long an order may wait for the writers. The HTTP front end waits longer, so it learns what became of the order.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Why a customer's state can no longer be trusted, or is not known yet.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CustomerError {
    #[error("the customer's orders cannot be read: {0}")]
    Load(#[source] AskError),
    #[error("it is not known whether the order was written: {0}")]
    Unknown(#[source] AskError),
    #[error("another order has the number")]
    NumberTaken,
}

#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) id: String,
    pub(crate) article: String,
}

/// The answer to an order.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Placed {
    New(i64),
    Before(i64),
    /// Too many orders wait. This one was not written.
    Full,
}

/// An order that comes back from the writers.
pub(crate) struct Returned {
    number: i64,
    outcome: Result<Written, AskError>,
    reply: ReplyTo<Placed>,
}

#[actor(mailbox = bounded(64))]
pub(crate) struct Customer {
    name: String,
    writers: PoolRef<Writer>,
    book: Book,
}

impl Customer {
    pub(crate) fn new(name: String, writers: PoolRef<Writer>) -> Self {
        Self { name, writers, book: Book::default() }
    }
}

#[actor]
impl Customer {
    #[pre_start]
    async fn load(&mut self) -> Result<(), CustomerError> {
        let book = self.writers.book(self.name.clone()).timeout(PATIENCE).await;
        self.book = book.map_err(CustomerError::Load)?;
        Ok(())
    }

    /// Does not wait for the writers, so that the orders of one customer fill a batch.
    #[handler(skip_abandoned)]
    fn place(&mut self, order: Order, reply: ReplyTo<Placed>, ctx: &mut Context<Self>) {
        assert!(order.article != "poison", "a bug that one article brings to light");
        self.book.last_number += 1;
        let number = self.book.last_number;
        let row = Row { id: order.id, customer: self.name.clone(), number, article: order.article };
        let writers = self.writers.clone();
        let returned =
            async move { Returned { number, outcome: writers.write(row).timeout(PATIENCE).await, reply } };
        ctx.pipe(returned, CustomerRef::returned);
    }

    /// If the outcome of an order is unknown, so is the customer's state. It fails, and the next order starts
    /// one that reads the state again. Orders on their way get this failure as their answer; their senders may send them again.
    #[handler]
    fn returned(&mut self, returned: Returned) -> Result<(), CustomerError> {
        let Returned { number, outcome, reply } = returned;
        match outcome {
            Ok(Written::New) => {
                self.book.orders += 1;
                reply.answer(Placed::New(number));
            }
            Ok(Written::Before(number)) => reply.answer(Placed::Before(number)),
            Ok(Written::NumberTaken) => return Err(CustomerError::NumberTaken),
            Err(AskError::MailboxFull) => reply.answer(Placed::Full),
            Err(error) => return Err(CustomerError::Unknown(error)),
        }
        Ok(())
    }

    #[handler]
    fn orders(&self) -> i64 {
        self.book.orders
    }
}
