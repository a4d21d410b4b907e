//! An actor whose handlers do what their argument says.

use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use supervise::durable::{Delivery, MessageId, QueueId, Seq};
use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{Props, Strategy};
use tokio::sync::Notify;

/// What the handler of an order does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Does {
    /// It returns.
    Return,
    /// It fails as often as this, over all attempts.
    Fail(u32),
    /// It waits until the gate is opened.
    Wait,
    /// It waits for ever, unless a process has died with it.
    Hang,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) number: u32,
    pub(crate) does: Does,
}

#[derive(Debug, thiserror::Error)]
#[error("order {0} failed")]
pub(crate) struct Failed(pub(crate) u32);

/// What a handler saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) number: u32,
    pub(crate) id: MessageId,
    pub(crate) attempt: u32,
    pub(crate) after_crash: bool,
}

/// The state that outlives the process: what the handlers saw, in order, and how often each order has failed.
#[derive(Debug, Clone, Default)]
pub(crate) struct World {
    pub(crate) seen: Arc<Mutex<Vec<Seen>>>,
    pub(crate) gate: Arc<Notify>,
}

impl World {
    /// The numbers of the orders whose handlers have begun, in their order.
    pub(crate) fn begun(&self) -> Vec<u32> {
        self.seen().iter().map(|seen| seen.number).collect()
    }

    /// Notes that a handler of another actor has begun.
    pub(crate) fn note(&self, number: u32) {
        let id = MessageId { queue: QueueId(0), seq: Seq(0) };
        let seen = Seen { number, id, attempt: 0, after_crash: false };
        self.seen.lock().expect("nobody panics with it").push(seen);
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("nobody panics with it").clone()
    }

    pub(crate) fn spawn(&self, system: &TestSystem) -> OrdersRef {
        self.spawn_as(system, "orders")
    }

    /// A parent that spawns `orders` and decides all failures like this.
    pub(crate) fn under(&self, system: &TestSystem, (strategy, directive): (Strategy, Directive)) -> ParentRef {
        let world = self.clone();
        let props = Props::new(move || Parent { world: world.clone() })
            .supervision_unchecked(strategy, move |_, _| Ok(directive));
        system.spawn_with("parent", props).expect("the name is free")
    }

    pub(crate) fn spawn_as(&self, system: &TestSystem, name: &str) -> OrdersRef {
        let world = self.clone();
        system.spawn(name, move || Orders { world: world.clone() }).expect("the name and the queue are free")
    }
}

#[actor(mailbox = durable(capacity = 1000, window = 8))]
pub(crate) struct Orders {
    world: World,
}

#[actor]
impl Orders {
    #[handler]
    async fn place(&mut self, order: Order, ctx: &mut Context<Self>) -> Result<u32, Failed> {
        let delivery = ctx.delivery();
        let Some(delivery) = delivery else { panic!("an order is stored") };
        self.note(order.number, &delivery);
        match order.does {
            Does::Fail(times) if delivery.attempt() <= times => return Err(Failed(order.number)),
            Does::Wait => self.world.gate.notified().await,
            Does::Hang if !delivery.after_crash() => std::future::pending().await,
            Does::Return | Does::Fail(_) | Does::Hang => {}
        }
        Ok(order.number)
    }

    #[handler(transient)]
    fn count(&self, ctx: &mut Context<Self>) -> (usize, bool) {
        (self.world.seen().len(), ctx.delivery().is_some())
    }
}

impl Orders {
    pub(crate) fn new(world: &World) -> Self {
        Self { world: world.clone() }
    }

    fn note(&self, number: u32, delivery: &Delivery) {
        let seen =
            Seen { number, id: delivery.id(), attempt: delivery.attempt(), after_crash: delivery.after_crash() };
        self.world.seen.lock().expect("nobody panics with it").push(seen);
    }
}

/// The parent of `orders`, and of `more` if a test asks for it.
#[actor]
#[supervise(one_for_one, on(_) = Restart)]
pub(crate) struct Parent {
    world: World,
}

#[actor]
impl Parent {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        self.make("orders", ctx).map(|_| ())
    }

    #[handler]
    fn orders(&self, ctx: &mut Context<Self>) -> OrdersRef {
        ctx.child("orders").and_then(|child| child.downcast()).expect("it has been spawned").into()
    }

    #[handler]
    fn both(&mut self, ctx: &mut Context<Self>) -> (OrdersRef, OrdersRef) {
        let second = self.make("more", ctx).expect("the name is free");
        (self.orders(ctx), second)
    }

    #[handler]
    fn again(&mut self, ctx: &mut Context<Self>) -> Reply<Result<OrdersRef, SpawnError>> {
        Reply(self.make("orders", ctx))
    }
}

impl Parent {
    fn make(&self, name: &str, ctx: &mut Context<Self>) -> Result<OrdersRef, SpawnError> {
        let world = self.world.clone();
        ctx.spawn(name, move || Orders { world: world.clone() })
    }
}

/// An order that is handled.
pub(crate) fn order(number: u32) -> Order {
    Order { number, does: Does::Return }
}

/// An order that does something else.
pub(crate) fn that(number: u32, does: Does) -> Order {
    Order { number, does }
}
