//! Rules 19.1 and 19.2: an answer comes later, and from elsewhere.

use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{DeadLetterReason, Event, MailboxKind, Overflow, Props, pattern};

use super::{Orders, OrdersRef};

/// Rule 19.1.
#[supervise::test]
async fn a_handler_answers_from_a_later_message(system: &TestSystem) {
    let orders = system.spawn("orders", Orders::default).unwrap();
    let asks =
        [orders.place(1).ask().unwrap(), orders.place_now(2).ask().unwrap(), orders.place(3).ask().unwrap()];
    assert_eq!(orders.waiting().await.unwrap(), 3);
    orders.flush(false).await.unwrap();
    let mut answers = Vec::new();
    for ask in asks {
        answers.push(ask.await.unwrap());
    }
    assert_eq!(answers, [2, 4, 6]);
}

/// Rule 19.1.
#[supervise::test]
async fn a_handler_answers_from_a_task(system: &TestSystem) {
    let orders = system.spawn("orders", Orders::default).unwrap();
    assert_eq!(orders.in_a_task(6).await.unwrap(), 7);
}

/// Rule 19.1.
#[supervise::test]
async fn a_told_message_has_a_slot_that_leads_nowhere(system: &TestSystem) {
    let orders = system.spawn("orders", Orders::default).unwrap();
    orders.place(1).tell().unwrap();
    orders.in_a_task(1).tell().unwrap();
    orders.forget().tell().unwrap();
    assert_eq!(orders.waiting().await.unwrap(), 1);
    orders.flush(false).await.unwrap();
    assert_eq!(orders.waiting().await.unwrap(), 0);
}

/// Rule 19.1.
#[supervise::test]
async fn a_slot_outlives_its_actor(system: &TestSystem) {
    let orders = system.spawn("orders", Orders::default).unwrap();
    let asked = orders.in_a_task(6).ask().unwrap();
    orders.actor_ref().poison();
    system.ended(&orders).await;
    assert_eq!(asked.await.unwrap(), 7);
}

/// Rule 19.1.
#[supervise::test]
async fn an_asker_that_gave_up_is_not_waited_for(system: &TestSystem) {
    let orders = system.spawn("orders", Orders::default).unwrap();
    drop(orders.place(1).ask().unwrap());
    let late = orders.leak().timeout(Duration::from_secs(1)).await;
    assert!(matches!(late, Err(AskError::Timeout(_))), "{late:?}");
    orders.flush(false).await.unwrap();
}

/// Hands orders on.
#[actor]
struct Desk {
    orders: OrdersRef,
}

#[actor]
impl Desk {
    #[handler]
    fn place(&mut self, order: u32, reply: ReplyTo<u32>) {
        self.orders.place(order).reply_to(reply);
    }

    /// To a handler that returns its reply.
    #[handler]
    fn waiting(&mut self, reply: ReplyTo<usize>) {
        self.orders.waiting().reply_to(reply);
    }

    #[handler]
    fn try_to(&mut self, reply: ReplyTo<u32>) {
        self.orders.try_to().reply_to(reply);
    }

    /// Hands a request on to itself as often as it is told to.
    #[handler]
    fn around(&mut self, left: u32, reply: ReplyTo<u32>, ctx: &mut Context<Self>) {
        match left.checked_sub(1) {
            None => reply.answer(7),
            Some(left) => ctx.me().around(left).reply_to(reply),
        }
    }
}

/// Rule 19.2.
#[supervise::test]
async fn a_slot_goes_with_the_message_to_another_actor(system: &TestSystem) {
    let orders = system.spawn("orders", Orders::default).unwrap();
    let to = orders.clone();
    let desk = system.spawn("desk", move || Desk { orders: to.clone() }).unwrap();
    let asked = desk.place(4).ask().unwrap();
    assert_eq!(desk.waiting().await.unwrap(), 1);
    orders.flush(false).await.unwrap();
    assert_eq!(asked.await.unwrap(), 8);
    // A message that was told is handed on as one that is told.
    desk.place(4).tell().unwrap();
    assert_eq!(desk.waiting().await.unwrap(), 1);
    assert_eq!(desk.around(10_000).await.unwrap(), 7);
}

/// Rule 19.2.
#[supervise::test]
async fn an_asker_learns_of_the_failure_where_its_message_went(system: &TestSystem) {
    let orders = system.spawn("orders", Orders::default).unwrap();
    let to = orders.clone();
    let desk = system.spawn("desk", move || Desk { orders: to.clone() }).unwrap();
    let failed = desk.try_to().await.unwrap_err();
    assert!(
        matches!(&failed, AskError::Failed(failure) if failure.downcast_ref::<super::Down>().is_some()),
        "{failed:?}"
    );
    system.expect_restarts(&orders, 1).await;
}

/// Rule 19.2.
#[supervise::test]
async fn an_asker_learns_why_its_message_could_not_be_handed_on(system: &TestSystem) {
    let kind = MailboxKind::Bounded { capacity: 1, overflow: Overflow::Fail };
    let orders = system.spawn_with("orders", Props::new(Orders::default).mailbox(kind)).unwrap();
    let to = orders.clone();
    let desk = system.spawn("desk", move || Desk { orders: to.clone() }).unwrap();
    orders.forget_soon().tell().unwrap();
    system.settle().await;
    orders.place(1).tell().unwrap();
    assert!(matches!(desk.place(4).await, Err(AskError::MailboxFull)));
    orders.actor_ref().stop();
    system.ended(&orders).await;
    assert!(matches!(desk.place(4).await, Err(AskError::Stopped)));
    let mut events = system.events().subscribe();
    desk.place(4).tell().unwrap();
    system.settle().await;
    let mut lost = Vec::new();
    while let Some(event) = events.try_recv() {
        if let Event::DeadLetter(letter) = event {
            lost.push(letter.reason);
        }
    }
    assert_eq!(lost, [DeadLetterReason::Stopped]);
    system.allow_dead_letters();
}

/// Rules 13.1 and 19.1.
#[supervise::test]
async fn the_workers_of_a_pool_answer_later_too(system: &TestSystem) {
    let pool = system.spawn_with("pool", pattern::Pool::round_robin(2, Orders::default).props()).unwrap();
    let asked = [pool.place(1).ask().unwrap(), pool.place(2).ask().unwrap()];
    for _ in 0..2 {
        pool.flush(false).await.unwrap();
    }
    let [one, two] = asked;
    assert_eq!((one.await.unwrap(), two.await.unwrap()), (2, 4));
}
