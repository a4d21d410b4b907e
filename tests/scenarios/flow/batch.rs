//! `#[handler(batch = .., linger = ..)]`: messages that are handled in one call.
//!
//! Rules 23.1, 23.2, 23.3.

use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{AskError, DeadLetterReason, FailureKind, MailboxKind, Overflow, Props};

const MILLI: Duration = Duration::from_millis(1);

#[derive(Debug, thiserror::Error)]
#[error("the disk is full")]
struct DiskFull;

#[derive(Debug, PartialEq, Eq, Clone)]
enum Seen {
    Wrote(Vec<u32>),
    Gathered(Vec<u32>),
    Other(u32),
    Failing(bool),
}

/// Fails with 13, panics with 14, returns too few replies for 15, never ends with 19.
#[actor]
struct Writer {
    closed: bool,
    seen: ProbeHandle<Seen>,
}

#[actor]
impl Writer {
    #[handler(batch = 3, linger = "10ms")]
    async fn write(&mut self, orders: Vec<u32>) -> Result<Vec<u32>, DiskFull> {
        self.seen.note(Seen::Wrote(orders.clone()));
        if orders.contains(&19) {
            std::future::pending::<()>().await;
        }
        assert!(!orders.contains(&14), "fourteen");
        if orders.contains(&13) {
            return Err(DiskFull);
        }
        let mut numbers: Vec<_> = orders.iter().map(|order| order * 10).collect();
        if orders.contains(&15) {
            numbers.pop();
        }
        Ok(numbers)
    }

    /// Without `linger`, the batch consists of the messages that wait.
    #[handler(batch = 100)]
    fn gather(&mut self, orders: Vec<u32>) {
        self.seen.note(Seen::Gathered(orders));
    }

    /// Refuses odd orders, each alone.
    #[handler(batch = 2)]
    fn check(&mut self, orders: Vec<u32>) -> Reply<Vec<Result<u32, u32>>> {
        Reply(orders.into_iter().map(|order| if order % 2 == 0 { Ok(order) } else { Err(order) }).collect())
    }

    /// The reply behind an alias.
    #[handler(batch = 2)]
    fn sync(&mut self, orders: Vec<u32>) -> std::io::Result<()> {
        if orders.contains(&0) {
            return Err(std::io::ErrorKind::InvalidInput.into());
        }
        self.seen.note(Seen::Gathered(orders));
        Ok(())
    }

    #[handler]
    fn other(&mut self, number: u32) {
        self.seen.note(Seen::Other(number));
    }

    #[handler]
    async fn wait(&mut self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    #[handler]
    fn close(&mut self, closed: bool) {
        self.closed = closed;
    }

    #[handler]
    fn fail(&mut self) -> Result<(), DiskFull> {
        Err(DiskFull)
    }

    #[stash_while]
    fn is_closed(&self, message: &WriterMessage) -> bool {
        self.closed && matches!(message, WriterMessage::Write { orders: 100.. })
    }

    #[pre_restart]
    fn failing(&mut self, message: Option<WriterMessage>) {
        self.seen.note(Seen::Failing(message.is_some()));
    }
}

fn spawn(system: &TestSystem) -> (WriterRef, supervise::testkit::TestProbe<Seen>) {
    let seen = system.probe();
    let handle = seen.handle();
    let writer = system.spawn("writer", move || Writer { closed: false, seen: handle.clone() }).unwrap();
    (writer, seen)
}

#[supervise::test]
async fn a_batch_is_full_or_its_time_is_over(system: &TestSystem) {
    let (writer, seen) = spawn(system);
    for order in 1..=5 {
        writer.write(order).tell().unwrap();
    }
    system.settle().await;
    assert_eq!(seen.all().await, [Seen::Wrote(vec![1, 2, 3])]);
    system.advance(MILLI * 9).await;
    assert_eq!(seen.all().await, []);
    writer.write(6).tell().unwrap();
    assert_eq!(seen.all().await, [Seen::Wrote(vec![4, 5, 6])]);
    writer.write(7).tell().unwrap();
    system.advance(MILLI * 9).await;
    writer.write(8).tell().unwrap();
    assert_eq!(seen.all().await, []);
    system.advance(MILLI).await;
    // The time counts from the first message.
    assert_eq!(seen.all().await, [Seen::Wrote(vec![7, 8])]);
}

#[supervise::test]
async fn each_asker_gets_its_own_reply(system: &TestSystem) {
    let (writer, seen) = spawn(system);
    let (one, _told, three) =
        (writer.write(1).ask().unwrap(), writer.write(2).tell().unwrap(), writer.write(3).ask().unwrap());
    assert_eq!((one.await.unwrap(), three.await.unwrap()), (10, 30));
    seen.expect(Seen::Wrote(vec![1, 2, 3])).await;
    // A single message waits for `linger`.
    assert_eq!(writer.write(4).await.unwrap(), 40);
    writer.gather(1).await.unwrap();
    let (one, two) = (writer.check(1).ask().unwrap(), writer.check(2).ask().unwrap());
    assert_eq!((one.await.unwrap(), two.await.unwrap()), (Err(1), Ok(2)));
    writer.sync(1).await.unwrap();
}

#[supervise::test]
async fn without_linger_a_batch_is_what_waits(system: &TestSystem) {
    let (writer, seen) = spawn(system);
    writer.wait(MILLI).tell().unwrap();
    for order in 0..250 {
        writer.gather(order).tell().unwrap();
    }
    system.advance(MILLI).await;
    let sizes = seen.all().await.into_iter().map(|seen| match seen {
        Seen::Gathered(orders) => orders,
        other => panic!("{other:?}"),
    });
    let sizes: Vec<_> = sizes.collect();
    assert_eq!(sizes.iter().map(Vec::len).collect::<Vec<_>>(), [100, 100, 50]);
    assert_eq!(sizes.concat(), (0..250).collect::<Vec<_>>());
    writer.gather(1).tell().unwrap();
    assert_eq!(seen.all().await, [Seen::Gathered(vec![1])]);
}

#[supervise::test]
async fn messages_of_other_handlers_and_controls_keep_their_order(system: &TestSystem) {
    let (writer, seen) = spawn(system);
    writer.write(1).tell().unwrap();
    writer.other(2).tell().unwrap();
    writer.write(3).tell().unwrap();
    writer.gather(4).tell().unwrap();
    writer.write(5).tell().unwrap();
    writer.write(6).tell().unwrap();
    writer.actor_ref().poison();
    writer.write(7).tell().unwrap();
    system.expect_terminated(&writer).await;
    let order = [
        Seen::Wrote(vec![1]),
        Seen::Other(2),
        Seen::Wrote(vec![3]),
        Seen::Gathered(vec![4]),
        Seen::Wrote(vec![5, 6]),
    ];
    assert_eq!(seen.all().await, order);
    assert_eq!(system.expect_dead_letter(&writer).await.reason, DeadLetterReason::Stopped);
}

#[supervise::test]
async fn a_failure_counts_once_and_tells_every_asker(system: &TestSystem) {
    let (writer, seen) = spawn(system);
    let asked = [12, 13, 17].map(|order| writer.write(order).ask().unwrap());
    for answer in asked {
        match answer.await {
            Err(AskError::Failed(failure)) => assert!(failure.downcast_ref::<DiskFull>().is_some(), "{failure}"),
            other => panic!("{other:?}"),
        }
    }
    system.expect_restarts(&writer, 1).await;
    seen.expect(Seen::Wrote(vec![12, 13, 17])).await;
    seen.expect(Seen::Failing(false)).await;
    // A message that was not in the batch is handled.
    assert_eq!(writer.write(4).await.unwrap(), 40);
    for (order, kind) in [(14, "fourteen"), (15, "`write` returned 2 replies to a batch of 3 messages")] {
        let asked = [order, 1, 2].map(|order| writer.write(order).ask().unwrap());
        for answer in asked {
            match answer.await {
                Err(AskError::Failed(failure)) => {
                    assert_eq!(failure.kind(), FailureKind::Panic);
                    assert!(failure.to_string().contains(kind), "{failure}");
                }
                other => panic!("{other:?}"),
            }
        }
        system.expect_restarts(&writer, 1).await;
    }
}

/// Two writers that restart together, a second after a failure.
#[actor]
#[supervise(all_for_one, on(DiskFull) = Restart(backoff(min = "1s", max = "1s")), on(_) = Stop)]
struct Pair {
    seen: ProbeHandle<Seen>,
    #[child(|this| { let seen = this.seen.clone(); move || Writer { closed: false, seen: seen.clone() } })]
    first: Child<Writer>,
    #[child(|this| { let seen = this.seen.clone(); move || Writer { closed: false, seen: seen.clone() } })]
    second: Child<Writer>,
}

#[actor]
impl Pair {
    #[handler]
    fn both(&self) -> (WriterRef, WriterRef) {
        (self.first.actor(), self.second.actor())
    }
}

#[supervise::test]
async fn what_is_gathered_survives_suspension_and_restart(system: &TestSystem) {
    let seen = system.probe();
    let handle = seen.handle();
    let pair = system
        .spawn("pair", move || Pair { seen: handle.clone(), first: Child::default(), second: Child::default() })
        .unwrap();
    let (first, second) = pair.both().await.unwrap();
    first.write(1).tell().unwrap();
    let asked = first.write(2).ask().unwrap();
    system.settle().await;
    second.fail().tell().unwrap();
    system.expect_decision(&second).await;
    system.advance(MILLI * 500).await;
    first.other(3).tell().unwrap();
    assert_eq!(seen.all().await, []);
    system.advance(MILLI * 500).await;
    // In their order, and gathered again.
    assert_eq!(asked.await.unwrap(), 20);
    let order = [Seen::Failing(false), Seen::Failing(false), Seen::Wrote(vec![1, 2]), Seen::Other(3)];
    assert_eq!(seen.all().await, order);
}

/// The new instance does not stash.
#[supervise::test]
async fn what_is_gathered_and_what_is_stashed_go_back_in_the_order_of_arrival(system: &TestSystem) {
    let seen = system.probe();
    let handle = seen.handle();
    let pair = system
        .spawn("pair", move || Pair { seen: handle.clone(), first: Child::default(), second: Child::default() })
        .unwrap();
    let (first, second) = pair.both().await.unwrap();
    first.close(true).await.unwrap();
    for order in [100, 1, 101, 102, 2] {
        first.write(order).tell().unwrap();
    }
    system.settle().await;
    second.fail().tell().unwrap();
    system.expect_decision(&second).await;
    system.advance(Duration::from_secs(2)).await;
    let order =
        [Seen::Failing(false), Seen::Failing(false), Seen::Wrote(vec![100, 1, 101]), Seen::Wrote(vec![102, 2])];
    assert_eq!(seen.all().await, order);
}

#[supervise::test]
async fn what_is_gathered_is_lost_with_a_stop_in_order(system: &TestSystem) {
    let (writer, seen) = spawn(system);
    let asked = [1, 2].map(|order| writer.write(order).ask().unwrap());
    system.settle().await;
    writer.actor_ref().stop();
    writer.other(3).tell().unwrap();
    for answer in asked {
        assert!(matches!(answer.await, Err(AskError::Stopped)));
    }
    system.expect_terminated(&writer).await;
    let mut lost = Vec::new();
    for _ in 0..3 {
        lost.push(system.expect_dead_letter(&writer).await.message);
    }
    assert_eq!(lost, ["Write", "Write", "Other"]);
    assert_eq!(seen.all().await, []);
}

#[supervise::test]
async fn a_batch_whose_handler_is_aborted_tells_its_askers(system: &TestSystem) {
    let (writer, seen) = spawn(system);
    let asked = [19, 1, 2].map(|order| writer.write(order).ask().unwrap());
    seen.expect(Seen::Wrote(vec![19, 1, 2])).await;
    writer.actor_ref().stop();
    for answer in asked {
        assert!(matches!(answer.await, Err(AskError::Stopped)));
    }
    system.expect_terminated(&writer).await;
}

#[supervise::test]
async fn messages_set_aside_are_not_gathered(system: &TestSystem) {
    let (writer, seen) = spawn(system);
    writer.close(true).tell().unwrap();
    for order in [100, 1, 101, 2, 102, 3] {
        writer.write(order).tell().unwrap();
    }
    assert_eq!(seen.all().await, [Seen::Wrote(vec![1, 2, 3])]);
    writer.close(false).tell().unwrap();
    assert_eq!(seen.all().await, [Seen::Wrote(vec![100, 101, 102])]);
}

#[supervise::test]
async fn what_is_gathered_takes_up_room(system: &TestSystem) {
    let seen = system.probe();
    for overflow in [Overflow::Fail, Overflow::DropNewest, Overflow::DropOldest] {
        let handle = seen.handle();
        let props = Props::new(move || Writer { closed: false, seen: handle.clone() })
            .mailbox(MailboxKind::Bounded { capacity: 2, overflow });
        let writer = system.spawn_with(format!("{overflow:?}"), props).unwrap();
        writer.write(1).tell().unwrap();
        assert_eq!(seen.all().await, []);
        // There is room for one more: the batch is full before its size is reached.
        writer.write(2).tell().unwrap();
        assert_eq!(seen.all().await, [Seen::Wrote(vec![1, 2])]);
        writer.write(3).tell().unwrap();
        system.settle().await;
        writer.other(4).tell().unwrap();
        // 3 is gathered and 4 waits.
        let refused = writer.write(5).tell();
        match overflow {
            Overflow::Fail => {
                refused.unwrap_err();
                assert_eq!(seen.all().await, [Seen::Wrote(vec![3]), Seen::Other(4)]);
            }
            Overflow::DropNewest => {
                refused.unwrap();
                assert_eq!(system.expect_dead_letter(&writer).await.message, "Write");
                assert_eq!(seen.all().await, [Seen::Wrote(vec![3]), Seen::Other(4)]);
            }
            Overflow::DropOldest => {
                refused.unwrap();
                // Gathered messages are not displaced.
                assert_eq!(system.expect_dead_letter(&writer).await.message, "Other");
                assert_eq!(seen.all().await, [Seen::Wrote(vec![3, 5])]);
            }
        }
    }
}

/// Fails with every batch.
#[actor]
struct Hopeless;

#[actor]
impl Hopeless {
    #[handler(batch = 10)]
    fn write(&mut self, orders: Vec<u32>) -> Result<(), DiskFull> {
        assert!(orders.len() <= 10);
        Err(DiskFull)
    }
}

#[supervise::test]
async fn a_batch_that_fails_every_time_answers_everybody_and_restarts_once_each(system: &TestSystem) {
    system.allow_failures();
    let hopeless = system.spawn("hopeless", || Hopeless).unwrap();
    let asked: Vec<_> = (0..1_000).map(|order| hopeless.write(order).ask().unwrap()).collect();
    for answer in asked {
        assert!(matches!(answer.await, Err(AskError::Failed(_))));
    }
    assert_eq!(supervise::testkit::suspensions(&hopeless), 0);
}

#[supervise::test]
async fn a_hundred_thousand_messages_keep_their_order(system: &TestSystem) {
    let (writer, seen) = spawn(system);
    for order in 0..100_000 {
        writer.gather(order).tell().unwrap();
    }
    let mut next = 0;
    for batch in seen.all().await {
        let Seen::Gathered(orders) = batch else { panic!("{batch:?}") };
        assert!(orders.len() <= 100);
        for order in orders {
            assert_eq!(order, next);
            next += 1;
        }
    }
    assert_eq!(next, 100_000);
}
