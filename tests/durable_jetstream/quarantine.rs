//! Messages that go to quarantine and come back from it.
//!
//! Rules 27.11, 27.13 and 27.14.

use std::time::{Duration, SystemTime};

use supervise::durable::{Appended, Change, Fate, MessageId, MessageStore, QueueId, Room, Seq};

use crate::proxy::Proxy;
use crate::server::Server;
use crate::{Desk, append, claims, large, opened};

/// A message of almost the greatest size still has room for its failures.
#[tokio::test]
async fn what_is_accepted_can_be_quarantined_and_retried() {
    let Some(server) = Server::start() else { return };
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    let mut bytes = 1 << 20;
    let seq = loop {
        match desk.commit(vec![large(queue, bytes)]).await.as_deref() {
            Ok([Appended::Stored(seq)]) => break *seq,
            _ => bytes -= 500,
        }
    };
    let id = MessageId { queue, seq };
    let failures = vec!["x".repeat(512); 16];
    desk.commit(vec![Change::Quarantine { id, fate: Fate::Failed, failures }]).await.expect("it fits");
    let room = Room { messages: 10, bytes: 1 };
    assert_eq!(desk.store.quarantined("orders", Seq(0), room).await.expect("the server runs").len(), 1);
    desk.commit(vec![Change::Retry(id)]).await.expect("it fits");
    assert_eq!(desk.bodies().await.len(), 1);
}

/// Publishes bytes that no store has written.
async fn publish_foreign(server: &Server, queue: QueueId, bytes: Vec<u8>) {
    let context = server.context().await;
    let sent = context.publish(format!("sv.shop.q.{}", queue.0), bytes.into()).await;
    sent.expect("the server runs").await.expect("the stream takes it");
}

/// An operator must see what it was, and can export it.
#[tokio::test]
async fn a_damaged_message_keeps_its_bytes_in_quarantine_and_stays_damaged() {
    let Some(server) = Server::start() else { return };
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    let bytes = b"\x05\x00\x00\x00order, and then something else".to_vec();
    let before = SystemTime::now() - Duration::from_secs(1);
    publish_foreign(&server, queue, bytes.clone()).await;
    let row = desk.store.queue("orders").await.expect("the server runs").expect("there is one");
    assert!(row.oldest > Some(before), "the server knows when it came: {row:?}");
    let room = Room { messages: 10, bytes: 1 << 20 };
    let seen = desk.store.page(queue, Seq(0), room).await.expect("it is ours");
    assert!(seen[0].is_damaged && *seen[0].body == *bytes, "{seen:?}");
    let id = MessageId { queue, seq: Seq(1) };
    desk.commit(vec![Change::Quarantine { id, fate: Fate::Damaged, failures: vec!["x".to_owned()] }])
        .await
        .expect("the server runs");
    let confined = desk.store.quarantined("orders", Seq(0), room).await.expect("the server runs");
    let message = &confined[0].message;
    assert!(message.is_damaged && *message.body == *bytes && message.failures == ["x"], "{confined:?}");
    assert!(message.accepted_at > before, "{confined:?}");
    // A retry does not make it whole.
    desk.commit(vec![Change::Retry(id)]).await.expect("the server runs");
    let seen = desk.store.page(queue, Seq(0), room).await.expect("it is ours");
    assert!(seen[0].is_damaged && *seen[0].body == *bytes, "{seen:?}");
}

/// Otherwise these bytes would be gone after a retry.
#[tokio::test]
async fn a_message_with_bytes_behind_its_end_is_damaged() {
    let Some(server) = Server::start() else { return };
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    // As the store writes it: a kind, a time, and a body.
    let bytes = [&[0, 0, 0, 0, 8, 0, 0, 0][..], &[0; 8], &[1, 0, 0, 0, 7], b"more"].concat();
    publish_foreign(&server, queue, bytes.clone()).await;
    let room = Room { messages: 10, bytes: 1 << 20 };
    let seen = desk.store.page(queue, Seq(0), room).await.expect("it is ours");
    assert!(seen[0].is_damaged && *seen[0].body == *bytes, "{seen:?}");
}

/// Others may publish messages that are as large as the server takes. With its failures, such a message does not fit into the quarantine.
#[tokio::test]
async fn a_foreign_message_that_is_too_large_for_the_quarantine_does_not_stop_the_store() {
    let Some(server) = Server::start() else { return };
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    let room = Room { messages: 10, bytes: 1 };
    for (number, is_damaged) in [(1, true), (2, false)] {
        let mut bytes = vec![0xff; 1 << 20];
        if !is_damaged {
            // As the store writes it: a kind, a time, and a body.
            let length = u32::try_from(bytes.len() - 20).expect("it is short").to_le_bytes();
            let head = [&[0, 0, 0, 0, 8, 0, 0, 0][..], &[0; 8], &length].concat();
            bytes.splice(..20, head);
        }
        publish_foreign(&server, queue, bytes).await;
        let seen = desk.store.page(queue, Seq(0), room).await.expect("it is ours");
        assert_eq!(seen[0].is_damaged, is_damaged);
        let id = MessageId { queue, seq: Seq(number) };
        let failures = vec!["x".repeat(512); 16];
        let confine = Change::Quarantine { id, fate: Fate::Failed, failures };
        desk.commit(vec![confine]).await.expect("other queues go on");
        assert_eq!(desk.bodies().await.len(), 0);
        let confined = desk.store.quarantined("orders", Seq(number - 1), room).await.expect("the server runs");
        let message = &confined[0].message;
        assert!(message.is_damaged && message.body.len() > (1 << 20) - (14 << 10), "{}", message.body.len());
        assert!(message.failures.last().is_some_and(|last| last.contains("bytes")), "{:?}", message.failures);
        desk.commit(vec![Change::Discard(id)]).await.expect("the server runs");
    }
    // Nor does its retry, although it has no room for an id.
    publish_foreign(&server, queue, vec![0xff; (1 << 20) - 50]).await;
    let id = MessageId { queue, seq: Seq(3) };
    desk.commit(vec![Change::Quarantine { id, fate: Fate::Failed, failures: Vec::new() }]).await.expect("it fits");
    desk.commit(vec![Change::Retry(id)]).await.expect("other queues go on");
    assert_eq!(desk.bodies().await.len(), 1);
}

/// Another process has put another message into that place in the meantime.
#[tokio::test]
async fn a_retry_takes_no_other_message_out_of_quarantine() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::to(server.port()).await;
    let mut desk = Desk::new(&proxy.url()).await;
    let queue = desk.queue;
    let id = MessageId { queue, seq: Seq(1) };
    let confine = Change::Quarantine { id, fate: Fate::Failed, failures: Vec::new() };
    desk.commit(vec![append(queue, 1, None), append(queue, 2, None), confine]).await.expect("the server runs");
    let context = server.context().await;
    let place = format!("sv.shop.quarantine.{}.1", queue.0);
    proxy.holds("retry-");
    let replace = async {
        proxy.has_held().await;
        let sent = context.publish(place, "another one".into()).await.expect("the server runs");
        sent.await.expect("the server runs");
        proxy.holds_nothing();
    };
    let (retried, ()) = tokio::join!(desk.commit(vec![Change::Retry(id)]), replace);
    retried.expect("the server runs");
    assert_eq!(desk.bodies().await, [2, 1]);
    let room = Room { messages: 10, bytes: 1 << 20 };
    let left = desk.store.quarantined("orders", Seq(0), room).await.expect("the server runs");
    assert_eq!(left.len(), 1, "nobody has retried or discarded it");
}

/// The owner of the queue dies when the message is in quarantine and has not left the queue yet.
#[tokio::test]
async fn a_message_that_was_cut_is_not_quarantined_twice() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::to(server.port()).await;
    let mut desk = Desk::new(&proxy.url()).await;
    let queue = desk.queue;
    publish_foreign(&server, queue, vec![0xff; 1 << 20]).await;
    desk.commit(vec![append(queue, 2, None)]).await.expect("the server runs");
    proxy.holds("STREAM.MSG.DELETE");
    let id = MessageId { queue, seq: Seq(1) };
    let confine = Change::Quarantine { id, fate: Fate::Damaged, failures: vec!["x".repeat(512); 16] };
    tokio::select! {
        committed = desk.commit(vec![confine]) => panic!("it cannot leave the queue: {committed:?}"),
        () = proxy.has_held() => {}
    }
    drop(desk);
    let (mut store, _) = opened(&server.url()).await;
    let claim = claims(&mut store).await.expect("the lease ends");
    let mut desk = Desk { store, queue: claim.queue };
    assert_eq!((desk.bodies().await, claim.waiting), (vec![2], 1), "it is in quarantine");
    let room = Room { messages: 10, bytes: 1 << 24 };
    let confined = desk.store.quarantined("orders", Seq(0), room).await.expect("the server runs");
    assert_eq!(confined.len(), 1, "once");
}
