//! Somebody configures the streams anew.
//!
//! Rules 27.1, 27.2, 27.6, 27.13 and 27.14.

use std::time::SystemTime;

use async_nats::jetstream::stream::Config;
use supervise::durable::{MessageStore, QueueId};

use crate::server::Server;
use crate::{Desk, append, claims, handled, opened};

fn stream_name(queue: QueueId) -> String {
    format!("SV_shop_Q{}", queue.0)
}

async fn configure(server: &Server, stream: &str, change: impl FnOnce(&mut Config)) {
    let context = server.context().await;
    let mut config = context.get_stream(stream).await.expect("it is there").cached_info().config.clone();
    change(&mut config);
    context.update_stream(config).await.expect("the server takes it");
}

/// An owner that has handled all messages. From the server's next start on, the stream says that it was created when the server was last
/// started.
async fn desk_of_a_stream_with_another_time(server: &mut Server) -> Desk {
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    server.kill();
    server.start_again();
    claims(&mut desk.store).await.expect("it is ours");
    desk.commit((1..=3).map(|number| append(queue, number, None)).collect()).await.expect("the server runs");
    configure(server, &stream_name(queue), |config| config.max_messages = 1_000_000).await;
    desk.commit((4..=5).map(|number| append(queue, number, None)).collect()).await.expect("the server runs");
    desk.commit((1..=5).map(|number| handled(queue, number)).collect()).await.expect("the server runs");
    desk
}

async fn created(server: &Server, queue: QueueId) -> SystemTime {
    let stream = server.context().await.get_stream(stream_name(queue)).await.expect("it is there");
    stream.cached_info().created.into()
}

#[tokio::test]
async fn a_stream_with_a_higher_limit_is_not_taken_for_one_that_was_made_anew() {
    let Some(mut server) = Server::start() else { return };
    let mut desk = desk_of_a_stream_with_another_time(&mut server).await;
    let before = created(&server, desk.queue).await;
    server.kill();
    server.start_again();
    assert_ne!(created(&server, desk.queue).await, before, "the server says that it is another one");
    let claim = claims(&mut desk.store).await.expect("nothing is missing");
    assert_eq!((claim.waiting, desk.bodies().await), (0, vec![]));
    let queue = desk.queue;
    desk.commit(vec![append(queue, 6, None)]).await.expect("the server runs");
    assert_eq!(desk.bodies().await, [6]);
}

/// The same, and the owner has ended before.
#[tokio::test]
async fn what_was_handled_in_a_stream_with_a_higher_limit_does_not_come_again() {
    let Some(mut server) = Server::start() else { return };
    let desk = desk_of_a_stream_with_another_time(&mut server).await;
    let queue = desk.queue;
    Box::new(desk.store).close().await.expect("the server runs");
    server.kill();
    server.start_again();
    let (mut store, _) = opened(&server.url()).await;
    let claim = store.claim("orders").await.expect("nobody has it");
    let mut desk = Desk { store, queue };
    assert_eq!((claim.waiting, desk.bodies().await), (0, vec![]));
}
