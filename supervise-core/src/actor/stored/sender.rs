//! Sending to a queue whose actor this process does not have.
//!
//! Rule 27.11.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::SystemTime;

use tokio::sync::oneshot;

use super::request::{encoded, when_room};
use crate::actor::definition::{Actor, Durable};
use crate::actor::envelope::MessageFor;
use crate::base::drop_contained;
use crate::durable::{AcceptError, Asker, Copied, HandedOver, Held, Outlet, Store};

/// Stores messages for the actor of a queue, wherever and whenever that actor lives. See [`Store::sender`](crate::durable::Store::sender).
pub struct Sender<A> {
    /// `None` without a store.
    outlet: Option<Arc<Outlet>>,
    actor: PhantomData<fn(A)>,
}

impl Store {
    /// Stores messages for an actor `A` that has this queue: later in this process, or in another one.
    ///
    /// ```
    /// # use supervise_core::{Durable, Actor};
    /// # async fn sends<A: Actor + Durable>(system: &supervise_core::ActorSystem, message: A::Message) -> Result<(), Box<dyn std::error::Error>> {
    /// let orders = system.store().sender::<A>("orders");
    /// orders.accepted::<supervise_core::ByHand>(message).await?; // such as `OrdersMessage::Place { order }`
    /// # Ok(())
    /// # }
    /// ```
    pub fn sender<A: Actor + Durable>(&self, queue: impl Into<Arc<str>>) -> Sender<A> {
        let settings = A::DURABLE.unwrap_or(crate::durable::DurableMailbox::DEFAULT);
        let outlet = self.inbox().map(|inbox| inbox.sender(queue.into(), settings));
        Sender { outlet, actor: PhantomData }
    }
}

impl<A: Actor + Durable> Sender<A> {
    /// Stores a message, and completes when it is durable: an actor of the queue will handle it. Its reply goes nowhere.
    /// Rule [27.11](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.11).
    ///
    /// # Errors
    ///
    /// If the message was not accepted, see [`AcceptError`]. `Full` also if the queue holds as many messages as its mailbox has
    /// capacity for: a sender does not wait for room. `NotEncodable` also for a message whose handler is `transient`.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before its first poll, nothing was sent. If it is dropped later, the message may be stored.
    pub async fn accepted<By>(&self, message: impl MessageFor<A, By>) -> Result<(), AcceptError> {
        self.store(message.into_message(), None).await
    }

    /// Stores a message under a key, unless one with that key is known. See [`Request::key`](crate::Request::key).
    ///
    /// # Errors
    ///
    /// As [`accepted`](Self::accepted).
    ///
    /// # Cancel safety
    ///
    /// As [`accepted`](Self::accepted).
    pub async fn accepted_once<By>(
        &self,
        key: impl Into<String>,
        message: impl MessageFor<A, By>,
    ) -> Result<(), AcceptError> {
        self.store(message.into_message(), Some(key.into())).await
    }

    async fn store(&self, message: A::Message, key: Option<String>) -> Result<(), AcceptError> {
        let encoded = encoded::<A>(&message);
        drop_contained(message);
        let is_transient = || AcceptError::NotEncodable("its handler is transient".into());
        let encoded = encoded?.ok_or_else(is_transient)?;
        let Some(outlet) = &self.outlet else {
            let text = "the system has no store: write `ActorSystem::builder(..).store(..)`";
            return Err(AcceptError::StoreDown(text.into()));
        };
        let (receipt, stored) = oneshot::channel();
        let handed_over = HandedOver {
            outlet: Arc::clone(outlet),
            owner: None,
            kind: encoded.kind,
            body: encoded.body.into(),
            accepted_at: SystemTime::now(),
            key: key.map(Into::into),
            held: Held::new(Box::new(Nobody), Some(receipt)),
            is_told: false,
        };
        when_room(handed_over).await.map_err(|(why, _)| why)?;
        stored.await.map_or(Err(AcceptError::Stopped), |stored| stored.map_err(|(why, _)| why))
    }
}

impl<A> Clone for Sender<A> {
    fn clone(&self) -> Self {
        Self { outlet: self.outlet.clone(), actor: PhantomData }
    }
}

impl<A> fmt::Debug for Sender<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("queue", &self.outlet.as_ref().map(|outlet| &outlet.name)).finish()
    }
}

/// A sender keeps no copy of its message, and nobody waits for an answer.
struct Nobody;

impl Copied for Nobody {
    fn refuse(self: Box<Self>, _: &AcceptError) {}

    fn into_asker(self: Box<Self>) -> Option<Asker> {
        None
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}
