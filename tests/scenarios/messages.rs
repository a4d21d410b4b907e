//! The generated messages are ordinary values: built, matched, cloned, compared, written and sent like any other enum.
//!
//! Rules 1.5 and 1.7.

use std::time::Duration;

use serde::Serialize;
use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestProbe, TestSystem};
use supervise::{Backoff, Envelope, pattern};

/// Does not implement `Debug`.
#[derive(Clone, PartialEq, Serialize)]
struct Address(String);

#[derive(Debug, thiserror::Error)]
#[error("out of stock")]
struct OutOfStock;

#[actor(stash = 10)]
struct Order {
    open: bool,
    seen: ProbeHandle<String>,
}

#[actor(message(name = OrderCommand, vis = pub(crate), derive(Clone, PartialEq, Serialize)))]
impl Order {
    #[handler]
    fn place(&mut self, item: String, count: u32) -> Result<u32, OutOfStock> {
        self.seen.note(format!("{count} {item}"));
        if count > 9 { Err(OutOfStock) } else { Ok(count) }
    }

    #[handler]
    fn ship(&mut self, count: u32, address: Address) -> u32 {
        self.seen.note(format!("ship {count} to {}", address.0));
        count
    }

    #[handler(sensitive)]
    fn pay(&mut self, card: String) {
        self.seen.note(format!("pay by {card}"));
    }

    #[handler]
    fn open(&mut self) {
        self.open = true;
    }

    #[handler]
    async fn close(&mut self) {
        tokio::task::yield_now().await;
        self.open = false;
    }

    #[handler]
    fn begin(&mut self, ctx: &mut Context<Self>) {
        ctx.start_timer("open", Duration::from_secs(1), OrderCommand::Open);
        ctx.start_periodic_timer("pay", Duration::from_secs(2), || OrderCommand::Pay { card: "cash".to_owned() });
    }

    #[handler]
    fn open_after(&mut self, other: OrderRef, ctx: &mut Context<Self>) {
        ctx.watch_with(&other, OrderCommand::Open).unwrap();
    }

    #[stash_while]
    fn closed(&self, message: &OrderCommand) -> bool {
        !self.open && matches!(message, OrderCommand::Ship { count: 2.., address: _ })
    }

    #[pre_restart]
    fn replaced(&mut self, message: Option<OrderCommand>) {
        self.seen.note(format!("failed at {message:?}"));
    }
}

impl Serialize for OrderRef {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Shows a message as serde's own formatter writes it, which takes variants without fields.
struct Serialized(OrderCommand);

impl std::fmt::Display for Serialized {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.serialize(f)
    }
}

fn spawn(system: &TestSystem, open: bool) -> (OrderRef, TestProbe<String>) {
    let probe = system.probe();
    let seen = probe.handle();
    let order = system.spawn("order", move || Order { open, seen: seen.clone() }).unwrap();
    (order, probe)
}

fn place(count: u32) -> OrderCommand {
    OrderCommand::Place { item: "tea".to_owned(), count }
}

#[supervise::test]
async fn a_message_that_was_built_by_hand_is_told(system: &TestSystem) {
    let (order, probe) = spawn(system, true);
    order.tell(place(1)).unwrap();
    order.actor_ref().tell(OrderCommand::Ship { count: 1, address: Address("Rome".to_owned()) }).unwrap();
    order.tell(OrderCommand::Close).unwrap();
    assert_eq!(order.place("milk".to_owned(), 2).await.unwrap(), 2);
    assert_eq!(probe.all().await, ["1 tea", "ship 1 to Rome", "2 milk"]);
}

#[supervise::test]
async fn a_message_comes_back_from_an_actor_that_has_stopped(system: &TestSystem) {
    let (order, _probe) = spawn(system, true);
    order.actor_ref().stop();
    system.settle().await;
    let refused = order.tell(place(3)).unwrap_err();
    assert!(refused.into_message().into_message() == place(3));
    let refused = order.place("tea".to_owned(), 4).tell().unwrap_err();
    assert!(*refused.into_message().message() == place(4));
    for _ in 0..2 {
        assert_eq!(system.expect_dead_letter(&order).await.message, "Place");
    }
}

#[supervise::test]
async fn messages_are_cloned_compared_and_serialized(_system: &TestSystem) {
    let message = place(1);
    assert!(message.clone() == message && message != place(2));
    assert_eq!(Serialized(OrderCommand::Open).to_string(), "Open");
}

#[supervise::test]
async fn debug_shows_what_it_can_and_hides_what_it_must(_system: &TestSystem) {
    assert_eq!(format!("{:?}", place(1)), r#"Place { item: "tea", count: 1 }"#);
    let ship = OrderCommand::Ship { count: 1, address: Address("Rome".to_owned()) };
    assert_eq!(format!("{ship:?}"), "Ship { count: 1, address: .. }");
    assert_eq!(format!("{:?}", OrderCommand::Pay { card: "4711".to_owned() }), "Pay { .. }");
    assert_eq!(format!("{:?}", OrderCommand::Open), "Open");
}

/// Rule 4.3.
#[supervise::test]
async fn pre_restart_inspects_the_message_that_failed(system: &TestSystem) {
    let probe = system.probe();
    let seen = probe.handle();
    let picky = system.spawn("picky", move || Picky { seen: seen.clone() }).unwrap();
    assert!(picky.take(17, vec![1, 2]).await.is_err());
    assert_eq!(probe.all().await, [(17, vec![1, 2]), (17, vec![1, 2])], "once for each delivery");
    system.allow_failures();
    system.allow_dead_letters();
}

#[actor]
struct Picky {
    seen: ProbeHandle<(u32, Vec<u8>)>,
}

#[actor(message(derive(Debug)))]
impl Picky {
    #[handler(redeliver = 1)]
    fn take(&mut self, number: u32, bytes: Vec<u8>) -> Result<(), OutOfStock> {
        let _ = (number, bytes);
        Err(OutOfStock)
    }

    #[pre_restart]
    fn replaced(&mut self, message: Option<PickyMessage>) {
        if let Some(PickyMessage::Take { number, bytes }) = message {
            self.seen.note((number, bytes));
        }
    }
}

/// Rule 15.3.
#[supervise::test]
async fn stash_while_matches_without_hidden_fields(system: &TestSystem) {
    let (order, probe) = spawn(system, false);
    let late = order.ship(2, Address("Oslo".to_owned())).ask().unwrap();
    let at_once = order.ship(1, Address("Bern".to_owned())).await.unwrap();
    assert_eq!(at_once, 1);
    order.tell(OrderCommand::Open).unwrap();
    assert_eq!(late.await.unwrap(), 2);
    assert_eq!(probe.all().await, ["ship 1 to Bern", "ship 2 to Oslo"]);
}

/// Rule 15.1.
#[supervise::test]
async fn timers_take_messages(system: &TestSystem) {
    let (order, probe) = spawn(system, false);
    order.begin().await.unwrap();
    let late = order.ship(2, Address("Oslo".to_owned())).ask().unwrap();
    system.advance(Duration::from_secs(3)).await;
    assert_eq!(late.await.unwrap(), 2);
    assert_eq!(probe.all().await, ["ship 2 to Oslo", "pay by cash"]);
}

#[supervise::test]
async fn watches_take_messages(system: &TestSystem) {
    let (order, probe) = spawn(system, false);
    let seen = probe.handle();
    let other = system.spawn("other", move || Order { open: true, seen: seen.clone() }).unwrap();
    order.open_after(other.clone()).await.unwrap();
    let late = order.ship(2, Address("Oslo".to_owned())).ask().unwrap();
    other.actor_ref().stop();
    assert_eq!(late.await.unwrap(), 2);
}

/// Rule 13.6.
#[supervise::test]
async fn a_backoff_supervisor_answers_while_its_child_is_stopped(system: &TestSystem) {
    let probe = system.probe();
    let seen = probe.handle();
    let answer = |message: Envelope<OrderCommand>| {
        let (message, reply) = message.into_parts();
        match message {
            OrderCommand::Place { count, .. } => reply.answer(100 + count),
            OrderCommand::Pay { .. } => assert!(!reply.is_asked()),
            _ => drop(reply),
        }
    };
    let delays = Backoff::exponential(Duration::from_secs(1), Duration::from_secs(10));
    let child = move || Order { open: true, seen: seen.clone() };
    let supervisor = pattern::BackoffSupervisor::on_failure("order", child, delays).while_stopped(answer).props();
    let order = system.spawn_with("guarded", supervisor).unwrap();
    assert!(order.place("tea".to_owned(), 10).await.is_err());
    order.tell(OrderCommand::Pay { card: String::new() }).unwrap();
    assert_eq!(order.place("tea".to_owned(), 1).await.unwrap(), 101);
    assert!(matches!(order.close().await, Err(AskError::Unanswered)), "its slot was dropped");
    system.allow_failures();
}

/// If a reply has another type than the one for which the asker waits, that is a bug of the program, and the asker
/// does not wait for ever.
#[supervise::test]
async fn an_answer_of_the_wrong_type_panics_and_frees_the_asker(system: &TestSystem) {
    let probe = system.probe();
    let seen = probe.handle();
    let answer = |message: Envelope<OrderCommand>| message.into_parts().1.answer("a text");
    let delays = Backoff::exponential(Duration::from_secs(1), Duration::from_secs(10));
    let child = move || Order { open: true, seen: seen.clone() };
    let supervisor = pattern::BackoffSupervisor::on_failure("order", child, delays).while_stopped(answer).props();
    let order = system.spawn_with("guarded", supervisor).unwrap();
    assert!(order.place("tea".to_owned(), 10).await.is_err());
    let wrong = order.place("tea".to_owned(), 1).await.unwrap_err();
    assert!(matches!(wrong, AskError::Unanswered | AskError::Failed(_)), "{wrong}");
    system.allow_failures();
}

/// Rules 1.7 and 13.1.
#[supervise::test]
async fn a_broadcasting_pool_clones_messages(system: &TestSystem) {
    let probe = system.probe();
    let seen = probe.handle();
    let pool = pattern::Pool::broadcasting(3, move || Order { open: true, seen: seen.clone() }).props();
    let pool = system.spawn_with("pool", pool).unwrap();
    pool.tell(place(1)).unwrap();
    assert_eq!(pool.place("milk".to_owned(), 2).await.unwrap(), 2, "one of the workers answers");
    let mut seen = probe.all().await;
    seen.sort_unstable();
    assert_eq!(seen, ["1 tea", "1 tea", "1 tea", "2 milk", "2 milk", "2 milk"]);
}

#[supervise::test]
async fn an_envelope_compares_and_clones_without_its_asker(_system: &TestSystem) {
    let envelope = Envelope::from(place(1));
    assert!(envelope.clone() == envelope);
    assert_eq!(format!("{envelope:?}"), r#"Place { item: "tea", count: 1 }"#);
    assert!(!envelope.into_parts().1.is_asked());
}

#[actor]
struct Cupboard<T: Send + 'static> {
    last: Option<T>,
}

#[actor(message(derive(Clone, PartialEq, Debug)))]
impl<T: Send + Sync + Clone + 'static> Cupboard<T> {
    #[handler]
    fn put(&mut self, thing: T) -> Option<T> {
        self.last.replace(thing)
    }

    #[handler]
    fn empty(&mut self) {
        self.last = None;
    }
}

#[supervise::test]
async fn messages_of_a_generic_actor_have_no_hidden_variants(system: &TestSystem) {
    let cupboard = system.spawn("cupboard", || Cupboard { last: None }).unwrap();
    let put = CupboardMessage::Put { thing: 7_u8 };
    let thing = match &put {
        CupboardMessage::Put { thing } => *thing,
        CupboardMessage::Empty => unreachable!("it is full"),
    };
    cupboard.tell(put.clone()).unwrap();
    assert_eq!(cupboard.put(8).await.unwrap(), Some(thing));
    assert_eq!(format!("{put:?}"), "Put { thing: 7 }");
}

/// If a user has a handler named `tell`, the ref's `tell` is the method of that handler.
#[actor]
struct Teller;

#[actor]
impl Teller {
    #[handler]
    fn tell(&self, secret: u32) -> u32 {
        secret + 1
    }
}

#[supervise::test]
async fn a_handler_named_tell_comes_first(system: &TestSystem) {
    let teller = system.spawn("teller", || Teller).unwrap();
    assert_eq!(teller.tell(1).await.unwrap(), 2);
}
