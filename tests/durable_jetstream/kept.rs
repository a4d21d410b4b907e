//! The last message of a stream, which stays there after it was handled.
//!
//! Rules 27.1, 27.13, 27.14 and 27.19.

use async_nats::jetstream::stream::Stream;
use supervise::durable::{MessageStore, QueueId, Room, Seq};

use crate::server::Server;
use crate::{Desk, append, handled, opened};

async fn stream(server: &Server, queue: QueueId) -> Stream {
    let name = format!("SV_shop_Q{}", queue.0);
    server.context().await.get_stream(name).await.expect("there is such a stream")
}

async fn desk_with(server: &Server, numbers: std::ops::RangeInclusive<u64>) -> Desk {
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    desk.commit(numbers.map(|number| append(queue, number, None)).collect()).await.expect("the server runs");
    desk
}

async fn next_owner(server: &Server, desk: Desk) -> (Desk, u64) {
    Box::new(desk.store).close().await.expect("the server runs");
    let (mut store, _) = opened(&server.url()).await;
    let claim = store.claim("orders").await.expect("nobody has it");
    (Desk { store, queue: claim.queue }, claim.waiting)
}

#[tokio::test]
async fn a_stream_that_comes_back_from_an_older_backup_hides_none_of_its_new_messages() {
    let Some(server) = Server::start() else { return };
    let mut desk = desk_with(&server, 1..=3).await;
    let queue = desk.queue;
    desk.commit((1..=3).map(|number| handled(queue, number)).collect()).await.expect("the server runs");
    Box::new(desk.store).close().await.expect("the server runs");
    // The backup is from before the first message.
    let config = stream(&server, queue).await.cached_info().config.clone();
    let context = server.context().await;
    context.delete_stream(&config.name).await.expect("it is there");
    context.create_stream(config).await.expect("the server runs");
    let (mut store, _) = opened(&server.url()).await;
    store.claim("orders").await.expect("nobody has it");
    let mut desk = Desk { store, queue };
    desk.commit((11..=13).map(|number| append(queue, number, None)).collect()).await.expect("the server runs");
    assert_eq!(desk.bodies().await, [11, 12, 13]);
    let (mut desk, waiting) = next_owner(&server, desk).await;
    assert_eq!((waiting, desk.bodies().await), (3, vec![11, 12, 13]));
}

#[tokio::test]
async fn a_message_that_was_handled_before_its_turn_is_not_counted() {
    let Some(server) = Server::start() else { return };
    let mut desk = desk_with(&server, 1..=3).await;
    let queue = desk.queue;
    desk.commit(vec![handled(queue, 3)]).await.expect("the server runs");
    assert_eq!(desk.store.queues().await.expect("the server runs")[0].waiting, 2);
    desk.commit(vec![append(queue, 4, None)]).await.expect("the server runs");
    assert_eq!(desk.store.queues().await.expect("the server runs")[0].waiting, 3);
    assert_eq!(desk.bodies().await, [1, 2, 4]);
    let (mut desk, waiting) = next_owner(&server, desk).await;
    assert_eq!((waiting, desk.bodies().await), (3, vec![1, 2, 4]));
}

#[tokio::test]
async fn nobody_is_told_of_a_handled_message_that_somebody_has_deleted() {
    let Some(server) = Server::start() else { return };
    let mut desk = desk_with(&server, 1..=3).await;
    let queue = desk.queue;
    desk.commit(vec![handled(queue, 3)]).await.expect("the server runs");
    stream(&server, queue).await.delete_message(3).await.expect("it stays there");
    assert_eq!(desk.bodies().await, [1, 2], "no accepted message was lost");
    assert_eq!(desk.store.queues().await.expect("the server runs")[0].waiting, 2);
    let (mut desk, waiting) = next_owner(&server, desk).await;
    assert_eq!((waiting, desk.bodies().await), (2, vec![1, 2]));
    // Those that wait are still missed.
    stream(&server, queue).await.delete_message(2).await.expect("it waits");
    let room = Room { messages: 10, bytes: 1 << 20 };
    let error = desk.store.page(queue, Seq(0), room).await.expect_err("one message is gone");
    assert!(error.to_string().contains("deleted 1 accepted messages"), "{error}");
}

#[tokio::test]
async fn whoever_lists_the_queues_causes_no_false_alarm() {
    let Some(server) = Server::start() else { return };
    let mut desk = desk_with(&server, 1..=3).await;
    let queue = desk.queue;
    desk.commit(vec![handled(queue, 3)]).await.expect("the server runs");
    desk.commit(vec![append(queue, 4, None), handled(queue, 2)]).await.expect("the server runs");
    assert_eq!(desk.store.queues().await.expect("the server runs")[0].waiting, 2);
    assert_eq!(desk.bodies().await, [1, 4], "nobody has deleted anything");
}
