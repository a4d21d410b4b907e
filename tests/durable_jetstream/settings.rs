//! Somebody configures the streams anew.
//!
//! Rules 27.1, 27.2, 27.6, 27.13 and 27.14.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};
use supervise::durable::{
    Append, Appended, Change, Fate, Group, JetStreamStore, MessageId, MessageStore, Owner, QueueId, Room, Seq,
    StoreErrorKind,
};

use crate::members::{member, take};
use crate::proxy::Proxy;
use crate::server::Server;
use crate::{Desk, append, claims, handled, opened, store};

fn stream_name(queue: QueueId) -> String {
    format!("SV_shop_Q{}", queue.0)
}

pub(crate) async fn configure(server: &Server, stream: &str, change: impl FnOnce(&mut Config)) {
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

/// Somebody has deleted the message that was handled last. From its next start on, the server does not know when that message has arrived.
#[tokio::test]
async fn a_stream_without_its_last_message_is_not_taken_for_one_that_was_made_anew() {
    let Some(mut server) = Server::start() else { return };
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    desk.commit((1..=3).map(|number| append(queue, number, None)).collect()).await.expect("the server runs");
    desk.commit(vec![handled(queue, 3)]).await.expect("the server runs");
    let stream = server.context().await.get_stream(stream_name(queue)).await.expect("it is there");
    stream.delete_message(3).await.expect("it stays there");
    server.restart();
    claims(&mut desk.store).await.expect("it is ours");
    configure(&server, &stream_name(queue), |config| config.max_messages = 1_000_000).await;
    let before = created(&server, queue).await;
    server.restart();
    assert_ne!(created(&server, queue).await, before, "the server says that it is another one");
    let claim = claims(&mut desk.store).await.expect("nothing is missing");
    assert_eq!((claim.waiting, desk.bodies().await), (2, vec![1, 2]));
}

#[tokio::test]
async fn a_message_that_is_larger_than_its_stream_takes_is_refused_alone() {
    let Some(server) = Server::start() else { return };
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    configure(&server, &stream_name(queue), |config| config.max_message_size = 1000).await;
    let body = Arc::from(vec![7; 5000]);
    let large = Append { queue, kind: "order".into(), body, accepted_at: SystemTime::now(), key: None };
    let group = vec![append(queue, 1, None), Change::Append(large), append(queue, 2, None)];
    let answers = desk.commit(group).await.expect("the others are stored");
    assert!(matches!(answers[..], [Appended::Stored(_), Appended::TooLarge, Appended::Stored(_)]), "{answers:?}");
    assert_eq!(desk.bodies().await, [1, 2]);
}

#[tokio::test]
async fn a_queue_whose_stream_cannot_be_used_is_not_claimed_until_that_is_mended() {
    let Some(server) = Server::start() else { return };
    let desk = Desk::new(&server.url()).await;
    let name = stream_name(desk.queue);
    Box::new(desk.store).close().await.expect("the server runs");
    let context = server.context().await;
    let config = context.get_stream(&name).await.expect("it is there").cached_info().config.clone();
    let (mut store, _) = opened(&server.url()).await;
    let bad = [
        Config { discard: DiscardPolicy::Old, max_messages: 1000, ..config.clone() },
        Config { discard: DiscardPolicy::Old, max_bytes: 1 << 20, ..config.clone() },
        Config { max_age: Duration::from_secs(3600), ..config.clone() },
        Config { max_messages_per_subject: 1000, ..config.clone() },
        Config { no_ack: true, ..config.clone() },
        Config { duplicate_window: Duration::from_secs(599), ..config.clone() },
    ];
    for bad in bad {
        context.update_stream(bad.clone()).await.expect("the server takes it");
        let error = store.claim("orders").await.expect_err("messages or keys would be lost");
        assert!(error.kind == StoreErrorKind::Refused && error.text.contains(&name), "{error}: {bad:?}");
        let shared = store.shared().expect("it can share queues").share("orders").await;
        assert!(shared.is_err_and(|error| error.kind == StoreErrorKind::Refused));
        let found = store.queue("orders").await;
        assert!(found.is_err_and(|error| error.kind == StoreErrorKind::Refused), "nobody sends to it either");
        store.claim("others").await.expect("other queues go on");
        context.update_stream(config.clone()).await.expect("the server takes it");
        let claim = store.claim("orders").await.expect("it keeps messages");
        store
            .commit(&supervise::durable::Group { changes: vec![Change::Release(claim.queue)] })
            .await
            .expect("it is");
    }
    let bad = [
        Config { retention: RetentionPolicy::Interest, ..config.clone() },
        Config { storage: StorageType::Memory, ..config.clone() },
        Config { deny_delete: true, ..config.clone() },
        Config { subjects: vec!["another".to_owned()], ..config },
    ];
    // These cannot be mended, so the stream is made anew.
    for bad in bad {
        context.delete_stream(&name).await.expect("it is there");
        context.create_stream(bad.clone()).await.expect("the server takes it");
        let (mut store, _) = opened(&server.url()).await;
        let error = store.claim("orders").await.expect_err("messages would be lost, or stay for ever");
        assert!(error.kind == StoreErrorKind::Refused && error.text.contains(&name), "{error}: {bad:?}");
    }
}

/// The same, and the queue has owners, which would go on accepting.
#[tokio::test]
async fn whoever_has_a_queue_whose_stream_cannot_be_used_any_more_loses_it_until_that_is_mended() {
    for is_shared in [false, true] {
        let Some(server) = Server::start() else { return };
        let (mut store, claim) = if is_shared {
            member(&server).await
        } else {
            let (mut store, _) = opened(&server.url()).await;
            let claim = store.claim("orders").await.expect("nobody has it");
            (store, claim)
        };
        let queue = claim.queue;
        let group = |changes| Group { changes };
        let sent = (1..=3).map(|number| append(queue, number, None)).collect();
        store.commit(&group(sent)).await.expect("the server runs");
        let room = Room { messages: 10, bytes: 1 << 20 };
        let read = async |store: &mut JetStreamStore| {
            if is_shared {
                Ok(take(store, queue, &[]).await?.messages)
            } else {
                store.page(queue, Seq(0), room).await
            }
        };
        assert_eq!(read(&mut store).await.expect("it is ours").len(), 3);
        configure(&server, &stream_name(queue), |config| config.max_age = Duration::from_secs(3600)).await;
        let error = read(&mut store).await.expect_err("it may lose messages");
        assert!(error.kind == StoreErrorKind::Broken && error.text.contains("max_age"), "{error}");
        let error = store.commit(&group(vec![handled(queue, 1)])).await.expect_err("it may lose messages");
        assert!(error.to_string().contains("max_age"), "{error}");
        store.open(&Owner::new("shop")).await.expect("other queues go on");
        let claimed = async |store: &mut JetStreamStore| match store.shared().filter(|_| is_shared) {
            Some(shared) => shared.share("orders").await,
            None => store.claim("orders").await,
        };
        let error = claimed(&mut store).await.expect_err("it may lose messages");
        assert_eq!(error.kind, StoreErrorKind::Refused, "{error}");
        configure(&server, &stream_name(queue), |config| config.max_age = Duration::ZERO).await;
        let claim = claimed(&mut store).await.expect("it keeps messages");
        assert_eq!((claim.was_ours, claim.waiting), (true, 2), "1 was handled");
        assert_eq!(read(&mut store).await.expect("it is ours").len(), 2);
    }
}

#[tokio::test]
async fn a_system_whose_quarantine_may_lose_messages_is_not_opened_until_that_is_mended() {
    let Some(server) = Server::start() else { return };
    let _streams = opened(&server.url()).await;
    let name = "SV_shop_QUARANTINE";
    configure(&server, name, |config| config.max_age = Duration::from_secs(3600)).await;
    let mut store = store(&server.url());
    let error = store.open(&Owner::new("shop")).await.expect_err("messages would be lost");
    assert!(error.kind == StoreErrorKind::Broken && error.text.contains(name), "{error}");
    configure(&server, name, |config| config.max_age = Duration::ZERO).await;
    store.open(&Owner::new("shop")).await.expect("it keeps messages");
}

/// A message that failed could not be quarantined, and the reserve does not fit into the other stream.
#[tokio::test]
async fn a_system_whose_streams_take_only_small_messages_is_not_opened_until_that_is_mended() {
    let Some(server) = Server::start() else { return };
    let _streams = opened(&server.url()).await;
    for name in ["SV_shop_QUARANTINE", "SV_shop_STATE"] {
        configure(&server, name, |config| config.max_message_size = 1000).await;
        let mut store = store(&server.url());
        let error = store.open(&Owner::new("shop")).await.expect_err("messages would not fit");
        assert!(error.text.contains(name) && error.text.contains("max_msg_size"), "{error}");
        configure(&server, name, |config| config.max_message_size = -1).await;
        store.open(&Owner::new("shop")).await.expect("it takes large messages");
    }
}

/// The server's clock was ahead when it took the first message, and was set back.
#[tokio::test]
async fn a_clock_that_was_set_back_does_not_make_another_stream_of_one() {
    let Some(mut server) = Server::start() else { return };
    let proxy = Proxy::to(server.port()).await;
    proxy.changes("\"first_ts\":\"20", "\"first_ts\":\"21");
    let mut desk = Desk::new(&proxy.url()).await;
    let queue = desk.queue;
    desk.commit((1..=3).map(|number| append(queue, number, None)).collect()).await.expect("the server runs");
    server.kill();
    server.start_again();
    claims(&mut desk.store).await.expect("it is ours");
    configure(&server, &stream_name(queue), |config| config.max_messages = 1_000_000).await;
    let before = created(&server, queue).await;
    server.kill();
    server.start_again();
    assert_ne!(created(&server, queue).await, before, "the server says that it is another one");
    let claim = claims(&mut desk.store).await.expect("nothing is missing");
    assert_eq!((claim.waiting, desk.bodies().await), (3, vec![1, 2, 3]));
}

/// The last message stays in its stream after it was handled. The stream has no room for it and another one.
#[tokio::test]
async fn a_stream_that_is_full_of_what_was_handled_takes_the_next_message() {
    for is_elsewhere in [false, true] {
        let Some(server) = Server::start() else { return };
        let mut desk = Desk::new(&server.url()).await;
        let queue = desk.queue;
        let (mut other, _) = opened(&server.url()).await;
        configure(&server, &stream_name(queue), |config| config.max_messages = 1).await;
        for number in 1..=3 {
            let group = Group { changes: vec![append(queue, number, None)] };
            let mut send = async || {
                let sender = if is_elsewhere { &mut other } else { &mut desk.store };
                sender.commit(&group).await.expect("the server runs")
            };
            let answers = send().await;
            let [Appended::Stored(seq)] = answers[..] else { panic!("nothing waits: {answers:?}") };
            assert_eq!(send().await, [Appended::Full], "it waits");
            assert_eq!(desk.bodies().await, [number]);
            desk.commit(vec![handled(queue, seq.0)]).await.expect("the server runs");
            assert_eq!(desk.bodies().await, [] as [u64; 0], "nothing was lost");
        }
    }
}

/// As many messages as there is room for go into the stream, in their order.
#[tokio::test]
async fn a_stream_that_is_full_of_what_was_handled_takes_a_group_until_it_is_full() {
    let Some(server) = Server::start() else { return };
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    let send = |sizes: &[usize]| {
        let append = |bytes: &usize| {
            let body = Arc::from(vec![7; *bytes]);
            Change::Append(Append { queue, kind: "order".into(), body, accepted_at: SystemTime::now(), key: None })
        };
        sizes.iter().map(append).collect::<Vec<_>>()
    };
    configure(&server, &stream_name(queue), |config| config.max_bytes = 10_000).await;
    desk.commit(send(&[9000])).await.expect("the server runs");
    desk.commit(vec![handled(queue, 1)]).await.expect("the server runs");
    let answers = desk.commit(send(&[3000, 4000, 5000, 3000])).await.expect("the server runs");
    let stored = |number| Appended::Stored(Seq(number));
    assert_eq!(answers, [stored(2), stored(3), Appended::Full, Appended::Full]);
    desk.commit((2..=3).map(|number| handled(queue, number)).collect()).await.expect("the server runs");
    // What was refused does not go behind a smaller message.
    let answers = desk.commit(send(&[8000, 100])).await.expect("the server runs");
    assert_eq!(answers, [Appended::Full, stored(4)]);
}

#[tokio::test]
async fn a_stream_that_is_full_of_what_was_handled_takes_a_message_from_quarantine() {
    let Some(server) = Server::start() else { return };
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    let id = MessageId { queue, seq: Seq(1) };
    let confine = Change::Quarantine { id, fate: Fate::Failed, failures: Vec::new() };
    desk.commit(vec![append(queue, 1, None), append(queue, 2, None)]).await.expect("the server runs");
    desk.commit(vec![confine, handled(queue, 2)]).await.expect("the server runs");
    configure(&server, &stream_name(queue), |config| config.max_messages = 1).await;
    desk.commit(vec![Change::Retry(id)]).await.expect("nothing waits");
    assert_eq!(desk.bodies().await, [1]);
}

/// What a store has replaced or deleted would come back, or nothing could be replaced, or the lease of one queue would end that of another.
#[tokio::test]
async fn a_system_whose_records_cannot_be_replaced_is_not_opened_until_that_is_mended() {
    let Some(server) = Server::start() else { return };
    let _streams = opened(&server.url()).await;
    let changes: [fn(&mut Config); 3] = [
        |config| config.max_messages_per_subject = 5,
        |config| (config.discard, config.discard_new_per_subject) = (DiscardPolicy::New, true),
        |config| config.max_messages = 1,
    ];
    for name in ["SV_shop_STATE", "SV_shop_QUARANTINE", "SV_shop_LEASE"] {
        let context = server.context().await;
        let config = context.get_stream(name).await.expect("it is there").cached_info().config.clone();
        for change in changes {
            configure(&server, name, change).await;
            let mut store = store(&server.url());
            let error = store.open(&Owner::new("shop")).await.expect_err("its records are not safe");
            assert!(error.text.contains(name), "{error}");
            context.update_stream(config.clone()).await.expect("the server takes it");
            store.open(&Owner::new("shop")).await.expect("it can be used");
        }
    }
}
