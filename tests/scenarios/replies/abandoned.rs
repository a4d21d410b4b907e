//! Rules 19.8 and 19.9: a handler sees that its asker has given up, and by choice such a message is skipped.

use std::pin::pin;
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestProbe, TestSystem};
use supervise::{DeadLetterReason, Event};

const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
#[error("the database is down")]
struct Down;

/// Notes each order that it handles.
#[actor]
struct Orders {
    seen: ProbeHandle<u32>,
    kept: Vec<ReplyTo<bool>>,
    closed: bool,
}

#[actor]
impl Orders {
    fn new(seen: ProbeHandle<u32>) -> Self {
        Self { seen, kept: Vec::new(), closed: false }
    }

    /// Keeps the actor busy.
    #[handler]
    async fn sleep(&mut self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    #[handler]
    fn book(&mut self, order: u32) {
        self.seen.note(order);
    }

    #[handler(skip_abandoned)]
    fn price(&mut self, order: u32) -> u32 {
        self.seen.note(order);
        order * 10
    }

    #[handler(skip_abandoned)]
    async fn slow_price(&mut self, order: u32) -> u32 {
        tokio::task::yield_now().await;
        self.seen.note(order);
        order * 10
    }

    #[handler(skip_abandoned, batch = 10)]
    fn check(&mut self, orders: Vec<u32>) -> Vec<bool> {
        for &order in &orders {
            self.seen.note(order);
        }
        vec![true; orders.len()]
    }

    /// Fails after a second.
    #[handler(skip_abandoned, redeliver = 3)]
    async fn pay(&mut self, order: u32) -> Result<(), Down> {
        self.seen.note(order);
        tokio::time::sleep(SECOND).await;
        Err(Down)
    }

    #[handler]
    fn keep(&mut self, reply: ReplyTo<bool>) {
        self.kept.push(reply);
    }

    #[handler]
    fn look(&mut self) -> Vec<bool> {
        self.kept.iter().map(ReplyTo::is_abandoned).collect()
    }

    /// Looks at its own slot after this many seconds.
    #[handler(redeliver = 1)]
    async fn look_at_own(&mut self, seconds: u64, reply: ReplyTo<bool>) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        self.seen.note(u32::from(reply.is_abandoned()));
        reply.answer(true);
    }

    #[handler]
    fn close(&mut self, closed: bool) {
        self.closed = closed;
    }

    /// Notes 100 once the actor has been idle for three seconds.
    #[handler]
    fn note_idleness(&mut self, ctx: &mut Context<Self>) {
        ctx.set_receive_timeout(3 * SECOND, || OrdersMessage::Idle);
    }

    #[handler]
    fn idle(&mut self, ctx: &mut Context<Self>) {
        self.seen.note(100);
        ctx.cancel_receive_timeout();
    }

    #[stash_while]
    fn while_closed(&self, message: &OrdersMessage) -> bool {
        self.closed && matches!(message, OrdersMessage::Price { .. })
    }
}

fn spawn(system: &TestSystem) -> (OrdersRef, TestProbe<u32>) {
    let seen = system.probe();
    let handle = seen.handle();
    (system.spawn("orders", move || Orders::new(handle.clone())).unwrap(), seen)
}

/// Why messages became dead letters.
async fn lost(system: &TestSystem) -> Vec<DeadLetterReason> {
    let letters = system.take_all(|event| matches!(event, Event::DeadLetter(_))).await;
    let reason = |event| match event {
        Event::DeadLetter(letter) => letter.reason,
        other => panic!("{other:?}"),
    };
    letters.into_iter().map(reason).collect()
}

/// Rule 19.8.
#[supervise::test]
async fn a_handler_sees_that_its_asker_has_given_up(system: &TestSystem) {
    let (orders, _seen) = spawn(system);
    let waits = orders.keep().ask().unwrap();
    drop(orders.keep().ask().unwrap());
    orders.keep().tell().unwrap();
    assert_eq!(orders.look().await.unwrap(), [false, true, false]);
    drop(waits);
    assert_eq!(orders.look().await.unwrap(), [true, true, false]);
}

/// Rule 19.8. The future of the ask need not be dropped.
#[supervise::test]
async fn an_ask_whose_time_is_over_is_abandoned(system: &TestSystem) {
    let (orders, _seen) = spawn(system);
    let mut late = pin!(orders.keep().timeout(SECOND));
    let error = late.as_mut().await.unwrap_err();
    assert!(matches!(error, AskError::Timeout(_)), "{error:?}");
    assert_eq!(orders.look().await.unwrap(), [true]);
}

/// Rule 19.8. The actor keeps the slot of a message that may be delivered again, which does not hide the asker's end.
#[supervise::test]
async fn an_asker_that_would_wait_for_a_retry_can_give_up(system: &TestSystem) {
    let (orders, seen) = spawn(system);
    let late = orders.look_at_own(2).retried().timeout(SECOND).await;
    assert!(matches!(late, Err(AskError::Timeout(_))), "{late:?}");
    assert_eq!(seen.next().await, 1);
    assert!(orders.look_at_own(2).retried().await.unwrap());
    assert_eq!(seen.next().await, 0);
}

/// Rule 19.9: after an outage, the actor skips messages whose askers have given up.
#[supervise::test]
async fn abandoned_asks_are_skipped_where_the_handler_says_so(system: &TestSystem) {
    let (orders, seen) = spawn(system);
    orders.sleep(10).tell().unwrap();
    for order in 0..300 {
        drop(orders.price(order).ask().unwrap());
        drop(orders.slow_price(order).ask().unwrap());
        drop(orders.check(order).ask().unwrap());
    }
    drop(orders.book(1).ask().unwrap());
    orders.price(2).tell().unwrap();
    let waits = [orders.price(3).ask().unwrap(), orders.slow_price(4).ask().unwrap()];
    let checked = orders.check(5).ask().unwrap();
    for (price, waits) in [30, 40].into_iter().zip(waits) {
        assert_eq!(waits.await.unwrap(), price);
    }
    assert!(checked.await.unwrap());
    assert_eq!(seen.all().await, [1, 2, 3, 4, 5]);
    assert_eq!(lost(system).await, [DeadLetterReason::Abandoned; 900]);
}

/// Rule 19.9: of a stashed message too.
#[supervise::test]
async fn a_stashed_message_is_skipped_when_its_turn_comes(system: &TestSystem) {
    let (orders, seen) = spawn(system);
    orders.close(true).await.unwrap();
    let (gives_up, waits) = (orders.price(1).ask().unwrap(), orders.price(2).ask().unwrap());
    system.settle().await;
    drop(gives_up);
    orders.close(false).await.unwrap();
    assert_eq!(waits.await.unwrap(), 20);
    assert_eq!(seen.all().await, [2]);
    assert_eq!(lost(system).await, [DeadLetterReason::Abandoned]);
}

/// Rules 19.5 and 19.9: a message is not delivered again for an asker who waited for that and has given up. One whose asker has
/// learned of the failure has no asker any more.
#[supervise::test]
async fn a_retry_that_nobody_waits_for_any_more_is_skipped(system: &TestSystem) {
    system.allow_failures();
    let (orders, seen) = spawn(system);
    // The second delivery runs when its time is over.
    let late = orders.pay(1).retried().timeout(SECOND * 3 / 2).await;
    assert!(matches!(late, Err(AskError::Timeout(_))), "{late:?}");
    orders.book(2).await.unwrap();
    assert_eq!(seen.all().await, [1, 1, 2]);
    assert_eq!(lost(system).await, [DeadLetterReason::Abandoned]);
    let learned = orders.pay(3).await.unwrap_err();
    assert!(matches!(learned, AskError::Failed(_)), "{learned:?}");
    orders.book(4).await.unwrap();
    assert_eq!(seen.all().await, [3, 3, 3, 3, 4]);
    assert_eq!(lost(system).await, [DeadLetterReason::Quarantined]);
}

/// Rule 19.9: a skipped message does not count as activity.
#[supervise::test]
async fn a_skipped_message_does_not_put_the_receive_timeout_off(system: &TestSystem) {
    let (orders, seen) = spawn(system);
    orders.note_idleness().await.unwrap();
    for _second in 0..3 {
        drop(orders.price(1).ask().unwrap());
        system.advance(SECOND).await;
    }
    assert_eq!(seen.all().await, [100]);
    assert_eq!(lost(system).await.len(), 3);
}
