//! The last message of a stream, which stays there after it was handled.
//!
//! Rules 27.1, 27.13, 27.14 and 27.19.

use async_nats::jetstream::stream::Stream;
use supervise::durable::{
    Appended, Change, Fate, Group, JetStreamStore, MessageId, MessageStore, Owner, QueueId, Room, Seq,
    StoreErrorKind,
};

use crate::members::{commit, crashes, member, take, take_all};
use crate::proxy::Proxy;
use crate::server::Server;
use crate::{Desk, LEASE, append, claims, handled, large, opened};

async fn stream(server: &Server, queue: QueueId) -> Stream {
    let name = format!("SV_shop_Q{}", queue.0);
    server.context().await.get_stream(name).await.expect("there is such a stream")
}

async fn desk_with(url: &str, numbers: std::ops::RangeInclusive<u64>) -> Desk {
    let mut desk = Desk::new(url).await;
    let queue = desk.queue;
    desk.commit(numbers.map(|number| append(queue, number, None)).collect()).await.expect("the server runs");
    desk
}

/// An owner that has handled three messages. They were all that its queue had.
async fn desk_that_has_handled_all(url: &str) -> Desk {
    let mut desk = desk_with(url, 1..=3).await;
    let queue = desk.queue;
    desk.commit((1..=3).map(|number| handled(queue, number)).collect()).await.expect("the server runs");
    desk
}

/// Deletes a stream, and makes one of the same name.
async fn make_anew(server: &Server, queue: QueueId) {
    let config = stream(server, queue).await.cached_info().config.clone();
    let context = server.context().await;
    context.delete_stream(&config.name).await.expect("it is there");
    context.create_stream(config).await.expect("the server runs");
}

/// Another process sends, and does not own the queue.
async fn send_from_elsewhere(server: &Server, queue: QueueId, numbers: std::ops::RangeInclusive<u64>) {
    let (mut sender, _) = opened(&server.url()).await;
    let changes = numbers.map(|number| append(queue, number, None)).collect();
    sender.commit(&Group { changes }).await.expect("the server runs");
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
    let desk = desk_that_has_handled_all(&server.url()).await;
    let queue = desk.queue;
    Box::new(desk.store).close().await.expect("the server runs");
    // The backup is from before the first message.
    make_anew(&server, queue).await;
    let (mut store, _) = opened(&server.url()).await;
    store.claim("orders").await.expect("nobody has it");
    let mut desk = Desk { store, queue };
    desk.commit((11..=13).map(|number| append(queue, number, None)).collect()).await.expect("the server runs");
    assert_eq!(desk.bodies().await, [11, 12, 13]);
    let (mut desk, waiting) = next_owner(&server, desk).await;
    assert_eq!((waiting, desk.bodies().await), (3, vec![11, 12, 13]));
}

/// The same, and a sender is faster than the next owner. The server says that the stream was created when it was.
#[tokio::test]
async fn a_record_that_is_newer_than_its_stream_hides_no_message_of_a_fast_sender() {
    let Some(mut server) = Server::start() else { return };
    let mut desk = desk_with(&server.url(), 1..=1).await;
    let queue = desk.queue;
    server.save();
    claims(&mut desk.store).await.expect("it is ours");
    desk.commit((2..=3).map(|number| append(queue, number, None)).collect()).await.expect("the server runs");
    desk.commit((1..=3).map(|number| handled(queue, number)).collect()).await.expect("the server runs");
    Box::new(desk.store).close().await.expect("the server runs");
    server.restore_stream(&format!("SV_shop_Q{}", queue.0));
    send_from_elsewhere(&server, queue, 11..=14).await;
    let (mut store, _) = opened(&server.url()).await;
    let claim = store.claim("orders").await.expect("nobody has it");
    let mut desk = Desk { store, queue };
    assert_eq!((claim.waiting, desk.bodies().await), (5, vec![1, 11, 12, 13, 14]));
}

/// The same, and the owner goes on. It has handled other messages under the numbers that the stream has assigned again.
#[tokio::test]
async fn an_owner_deletes_no_message_of_a_stream_that_has_come_back_from_an_older_backup() {
    let Some(mut server) = Server::start() else { return };
    let mut desk = desk_with(&server.url(), 1..=1).await;
    let queue = desk.queue;
    server.save();
    claims(&mut desk.store).await.expect("it is ours");
    desk.commit((2..=3).map(|number| append(queue, number, None)).collect()).await.expect("the server runs");
    desk.commit((1..=3).map(|number| handled(queue, number)).collect()).await.expect("the server runs");
    server.restore_stream(&format!("SV_shop_Q{}", queue.0));
    send_from_elsewhere(&server, queue, 11..=14).await;
    let error = claims(&mut desk.store).await.map(|claim| claim.waiting).expect_err("it has lost messages");
    assert!(error.kind == StoreErrorKind::Damaged, "{error}");
    drop(desk);
    assert_eq!(stream(&server, queue).await.cached_info().state.messages, 5, "all that was accepted is there");
}

/// When an owner has handled its messages, other messages have their numbers.
#[tokio::test]
async fn an_owner_of_messages_that_are_gone_deletes_no_others() {
    for is_restored in [false, true] {
        let Some(mut server) = Server::start() else { return };
        let mut desk = desk_with(&server.url(), 1..=1).await;
        let queue = desk.queue;
        server.save();
        claims(&mut desk.store).await.expect("it is ours");
        desk.commit((2..=3).map(|number| append(queue, number, None)).collect()).await.expect("the server runs");
        assert_eq!(desk.bodies().await, [1, 2, 3]);
        if is_restored {
            server.restore_stream(&format!("SV_shop_Q{}", queue.0));
        } else {
            make_anew(&server, queue).await;
        }
        send_from_elsewhere(&server, queue, 11..=14).await;
        let all = (1..=3).map(|number| handled(queue, number)).collect();
        desk.commit(all).await.expect_err("these are the numbers of other messages");
        let messages = stream(&server, queue).await.cached_info().state.messages;
        assert_eq!(messages, if is_restored { 5 } else { 4 }, "all that was accepted is there: {is_restored}");
    }
}

/// A stream comes back from a backup with one message after members have handled three. The next member is faster than a sender, or slower.
#[tokio::test]
async fn a_record_of_members_that_is_newer_than_its_stream_hides_no_message() {
    for is_faster in [true, false] {
        let Some(mut server) = Server::start() else { return };
        let desk = desk_with(&server.url(), 1..=1).await;
        Box::new(desk.store).close().await.expect("the server runs");
        server.save();
        let (mut first, claim) = member(&server).await;
        let queue = claim.queue;
        commit(&mut first, (2..=3).map(|number| append(queue, number, None)).collect()).await;
        assert_eq!(take(&mut first, queue, &[]).await.expect("it shares the queue").messages.len(), 3);
        commit(&mut first, (1..=3).map(|number| handled(queue, number)).collect()).await;
        Box::new(first).close().await.expect("the server runs");
        server.restore_stream(&format!("SV_shop_Q{}", queue.0));
        if !is_faster {
            send_from_elsewhere(&server, queue, 11..=14).await;
        }
        let (mut second, _) = member(&server).await;
        if is_faster {
            send_from_elsewhere(&server, queue, 11..=14).await;
        }
        let taken = take_all(&mut second, queue).await;
        let bodies: Vec<u64> = taken.iter().map(|message| u64::from(message.body[0])).collect();
        assert_eq!(bodies, [1, 11, 12, 13, 14], "the next member is faster: {is_faster}");
    }
}

#[tokio::test]
async fn a_message_that_was_handled_before_its_turn_is_not_counted() {
    let Some(server) = Server::start() else { return };
    let mut desk = desk_with(&server.url(), 1..=3).await;
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
    let mut desk = desk_with(&server.url(), 1..=3).await;
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
    let mut desk = desk_with(&server.url(), 1..=3).await;
    let queue = desk.queue;
    desk.commit(vec![handled(queue, 3)]).await.expect("the server runs");
    desk.commit(vec![append(queue, 4, None), handled(queue, 2)]).await.expect("the server runs");
    assert_eq!(desk.store.queues().await.expect("the server runs")[0].waiting, 2);
    assert_eq!(desk.bodies().await, [1, 4], "nobody has deleted anything");
}

#[tokio::test]
async fn whoever_discards_a_queue_does_not_bring_its_quarantine() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::to(server.port()).await;
    let mut desk = Desk::new(&proxy.url()).await;
    let queue = desk.queue;
    for _ in 0..20 {
        let answers = desk.commit(vec![large(queue, 500_000)]).await.expect("the server runs");
        let [Appended::Stored(seq)] = answers[..] else { panic!("there is room: {answers:?}") };
        let id = MessageId { queue, seq };
        let confine = Change::Quarantine { id, fate: Fate::Failed, failures: vec!["x".to_owned()] };
        desk.commit(vec![confine]).await.expect("the server runs");
    }
    let before = proxy.bytes_down();
    desk.commit(vec![Change::DiscardQueue("orders".to_owned())]).await.expect("the server runs");
    let bytes = proxy.bytes_down() - before;
    assert!(bytes < 1_000_000, "{bytes} bytes to forget 10 MB");
    let quarantine = server.context().await.get_stream("SV_shop_QUARANTINE").await.expect("it is there");
    assert_eq!(quarantine.cached_info().state.messages, 0);
}

/// Two processes share the queue. One of them notes that it has handled the last message, and dies.
#[tokio::test]
async fn a_message_that_a_member_has_noted_before_it_died_is_not_handled_again() {
    let Some(server) = Server::start() else { return };
    let (mut first, claim) = member(&server).await;
    let queue = claim.queue;
    commit(&mut first, (1..=2).map(|number| append(queue, number, None)).collect()).await;
    assert_eq!(take(&mut first, queue, &[]).await.expect("it shares the queue").messages.len(), 2);
    let number = 2_u64.to_le_bytes().to_vec();
    let subject = format!("sv.shop.state.handled.{}", queue.0);
    let context = server.context().await;
    let sent = context.publish(subject, number.into()).await.expect("the server runs");
    sent.await.expect("the server runs");
    drop(first);
    let (mut second, claim) = member(&server).await;
    assert_eq!(claim.waiting, 1);
    assert_eq!(crashes(&take_all(&mut second, queue).await), [(1, 1)]);
    // The next message replaces the one that was kept.
    commit(&mut second, vec![append(queue, 3, None)]).await;
    let taken = take(&mut second, queue, &[1]).await.expect("it shares the queue");
    assert_eq!((crashes(&taken.messages), taken.waiting), (vec![(3, 0)], 2));
    commit(&mut second, vec![handled(queue, 3), handled(queue, 1)]).await;
    let state = stream(&server, queue).await.cached_info().state.clone();
    assert_eq!((state.messages, state.first_sequence), (1, 3));
    assert_eq!(take(&mut second, queue, &[]).await.expect("it shares the queue").waiting, 0);
    let rows = second.queues().await.expect("the server runs");
    assert_eq!(rows[0].waiting, 0, "{rows:?}");
}

/// The lease ends while the server is down, and the owner asks for it in vain before the server is back.
#[tokio::test]
async fn whoever_asks_in_vain_for_its_lease_still_knows_what_it_has_handled() {
    let Some(mut server) = Server::start() else { return };
    let mut desk = desk_with(&server.url(), 1..=3).await;
    let queue = desk.queue;
    server.save();
    let opened = desk.store.open(&Owner::new("shop")).await.expect("the server runs");
    claims(&mut desk.store).await.expect("it is ours");
    desk.commit(vec![handled(queue, 1), handled(queue, 2)]).await.expect("the server runs");
    server.kill();
    while opened.marks.owns(queue) {
        tokio::time::sleep(LEASE / 10).await;
    }
    let room = Room { messages: 10, bytes: 1 << 20 };
    desk.store.page(queue, Seq(0), room).await.expect_err("the server is down");
    // It brings back what it has deleted.
    server.restore();
    assert!(claims(&mut desk.store).await.expect("nobody else wants it").was_ours);
    assert_eq!(desk.bodies().await, [3]);
}

/// A sender is faster than the owner after a stream was made anew.
#[tokio::test]
async fn an_owner_takes_no_message_of_a_stream_that_was_made_anew_for_one_that_it_has_handled() {
    let Some(server) = Server::start() else { return };
    let mut desk = desk_that_has_handled_all(&server.url()).await;
    let queue = desk.queue;
    make_anew(&server, queue).await;
    send_from_elsewhere(&server, queue, 11..=14).await;
    desk.store.open(&Owner::new("shop")).await.expect("the server runs");
    let error = desk.store.claim("orders").await.expect_err("it had acknowledgements of the deleted stream");
    assert!(error.kind == StoreErrorKind::Damaged && error.text.contains("made it anew"), "{error}");
    drop(desk);
    assert_eq!(stream(&server, queue).await.cached_info().state.messages, 4, "all that was accepted is there");
}

/// The same, and the owner has ended before.
#[tokio::test]
async fn a_record_of_an_earlier_stream_hides_no_message() {
    let Some(server) = Server::start() else { return };
    let desk = desk_that_has_handled_all(&server.url()).await;
    let queue = desk.queue;
    Box::new(desk.store).close().await.expect("the server runs");
    make_anew(&server, queue).await;
    send_from_elsewhere(&server, queue, 11..=14).await;
    let (mut store, _) = opened(&server.url()).await;
    let claim = store.claim("orders").await.expect("nobody has it");
    let mut desk = Desk { store, queue };
    assert_eq!((claim.waiting, desk.bodies().await), (4, vec![11, 12, 13, 14]));
}

/// The same, and the server's clock was ahead, and was set back before the stream was made anew.
#[tokio::test]
async fn a_record_of_an_earlier_stream_hides_no_message_after_the_clock_was_set_back() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::to(server.port()).await;
    proxy.changes("\"last_ts\":\"20", "\"last_ts\":\"21");
    let desk = desk_that_has_handled_all(&proxy.url()).await;
    let queue = desk.queue;
    Box::new(desk.store).close().await.expect("the server runs");
    make_anew(&server, queue).await;
    send_from_elsewhere(&server, queue, 11..=14).await;
    let (mut store, _) = opened(&server.url()).await;
    let claim = store.claim("orders").await.expect("nobody has it");
    let mut desk = Desk { store, queue };
    assert_eq!((claim.waiting, desk.bodies().await), (4, vec![11, 12, 13, 14]));
}

#[tokio::test]
async fn an_owner_takes_no_message_for_a_handled_one_after_the_clock_was_set_back() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::to(server.port()).await;
    proxy.changes("\"last_ts\":\"20", "\"last_ts\":\"21");
    let mut desk = desk_that_has_handled_all(&proxy.url()).await;
    let queue = desk.queue;
    make_anew(&server, queue).await;
    send_from_elsewhere(&server, queue, 11..=14).await;
    proxy.changes_nothing();
    desk.store.open(&Owner::new("shop")).await.expect("the server runs");
    let error = desk.store.claim("orders").await.expect_err("it had acknowledgements of the deleted stream");
    assert!(error.kind == StoreErrorKind::Damaged && error.text.contains("made it anew"), "{error}");
    drop(desk);
    assert_eq!(stream(&server, queue).await.cached_info().state.messages, 4, "all that was accepted is there");
}

/// A server that was killed brings back the first message. Many numbers behind it belong to no message.
#[tokio::test]
async fn whoever_deletes_again_asks_only_for_what_is_there() {
    let Some(mut server) = Server::start() else { return };
    let proxy = Proxy::to(server.port()).await;
    let mut desk = Desk::new(&proxy.url()).await;
    let queue = desk.queue;
    desk.commit(vec![append(queue, 1, None)]).await.expect("the server runs");
    let context = server.context().await;
    let stream = stream(&server, queue).await;
    let mut config = stream.cached_info().config.clone();
    config.subjects.push("other".to_owned());
    config.max_messages_per_subject = 2;
    context.update_stream(config.clone()).await.expect("the server takes it");
    let mut last = 0;
    for _ in 0..20 {
        for _ in 0..999 {
            let _its_answer = context.publish("other", "".into()).await.expect("the server runs");
        }
        last = context.publish("other", "".into()).await.expect("it runs").await.expect("it runs").sequence;
    }
    assert_eq!(last, 20_001);
    for number in [last - 1, last] {
        stream.delete_message(number).await.expect("it is there");
    }
    config.max_messages_per_subject = -1;
    context.update_stream(config).await.expect("the server takes it");
    // Otherwise a server that is killed brings many of them back.
    server.restart();
    claims(&mut desk.store).await.expect("it is ours");
    let answers = desk.commit(vec![append(queue, 2, None)]).await.expect("the server runs");
    assert_eq!(answers, [Appended::Stored(Seq(last + 1))]);
    server.save();
    claims(&mut desk.store).await.expect("it is ours");
    desk.commit(vec![handled(queue, 1), handled(queue, last + 1)]).await.expect("the server runs");
    assert_eq!(desk.bodies().await, [] as [u64; 0]);
    server.restore();
    let before = proxy.bytes_down();
    assert!(claims(&mut desk.store).await.expect("it is ours").was_ours);
    let bytes = proxy.bytes_down() - before;
    assert!(bytes < 1_000_000, "{bytes} bytes to delete one message");
    assert_eq!(stream.get_info().await.expect("the server runs").state.messages, 1, "the last one stays");
    assert_eq!(desk.bodies().await, [] as [u64; 0]);
}

/// Messages whose stream was made anew after the message 2 of the earlier stream had gone into quarantine. They have the same numbers.
async fn messages_beside_a_quarantine_of_an_earlier_stream(server: &Server) -> QueueId {
    let mut desk = desk_with(&server.url(), 1..=3).await;
    let queue = desk.queue;
    desk.commit(vec![confine(queue, 2), handled(queue, 1), handled(queue, 3)]).await.expect("the server runs");
    Box::new(desk.store).close().await.expect("the server runs");
    make_anew(server, queue).await;
    send_from_elsewhere(server, queue, 11..=14).await;
    queue
}

fn confine(queue: QueueId, number: u64) -> Change {
    let id = MessageId { queue, seq: Seq(number) };
    Change::Quarantine { id, fate: Fate::Failed, failures: vec!["x".to_owned()] }
}

#[tokio::test]
async fn whoever_finishes_a_quarantine_deletes_no_message_of_another_stream() {
    for is_shared in [false, true] {
        let Some(server) = Server::start() else { return };
        let queue = messages_beside_a_quarantine_of_an_earlier_stream(&server).await;
        if is_shared {
            let (mut first, _) = member(&server).await;
            take(&mut first, queue, &[]).await.expect("it shares the queue");
            drop(first);
            let (mut second, _) = member(&server).await;
            let taken = take_all(&mut second, queue).await;
            assert_eq!(crashes(&taken), [(1, 1), (2, 1), (3, 1), (4, 1)]);
        } else {
            let (mut first, _) = opened(&server.url()).await;
            claims(&mut first).await.expect("nobody has it");
            drop(first);
            let (mut store, _) = opened(&server.url()).await;
            let claim = claims(&mut store).await.expect("the lease ends");
            let mut desk = Desk { store, queue };
            assert_eq!((claim.waiting, desk.bodies().await), (4, vec![11, 12, 13, 14]));
        }
    }
}

#[tokio::test]
async fn a_message_in_quarantine_gives_way_to_no_message_of_another_stream() {
    let Some(server) = Server::start() else { return };
    let queue = messages_beside_a_quarantine_of_an_earlier_stream(&server).await;
    let (mut store, _) = opened(&server.url()).await;
    claims(&mut store).await.expect("nobody has it");
    let mut desk = Desk { store, queue };
    desk.commit(vec![confine(queue, 2), handled(queue, 1)]).await.expect("the server runs");
    drop(desk);
    let (mut store, _) = opened(&server.url()).await;
    let claim = claims(&mut store).await.expect("the lease ends");
    let mut desk = Desk { store, queue };
    assert_eq!((claim.waiting, desk.bodies().await), (2, vec![13, 14]));
    let room = Room { messages: 10, bytes: 1 << 20 };
    let confined = desk.store.quarantined("orders", Seq(0), room).await.expect("the server runs");
    let bodies: Vec<u8> = confined.iter().map(|confined| confined.message.body[0]).collect();
    assert_eq!(bodies, [2, 12]);
    let retry = confined.iter().map(|confined| Change::Retry(confined.id)).collect();
    desk.commit(retry).await.expect("the server runs");
    assert_eq!(desk.bodies().await, [13, 14, 2, 12]);
}

/// An owner dies between the two steps of a quarantine whose place an earlier message had. Then somebody discards the earlier one.
#[tokio::test]
async fn a_quarantine_is_finished_also_when_an_earlier_message_has_left_its_place() {
    for is_shared in [false, true] {
        let Some(server) = Server::start() else { return };
        let queue = messages_beside_a_quarantine_of_an_earlier_stream(&server).await;
        let proxy = Proxy::to(server.port()).await;
        let (mut first, _) = opened(&proxy.url()).await;
        if is_shared {
            first.shared().expect("it can share").share("orders").await.expect("nobody has it");
            take(&mut first, queue, &[]).await.expect("it shares the queue");
        } else {
            first.claim("orders").await.expect("nobody has it");
        }
        proxy.holds("STREAM.MSG.DELETE");
        first
            .commit(&Group { changes: vec![confine(queue, 2)] })
            .await
            .expect_err("the server does not hear of it");
        drop(first);
        let (mut store, _) = opened(&server.url()).await;
        let earlier = MessageId { queue, seq: Seq(2) };
        commit(&mut store, vec![Change::Discard(earlier)]).await;
        let bodies: Vec<u8> = if is_shared {
            let (mut second, _) = member(&server).await;
            take_all(&mut second, queue).await.iter().map(|message| message.body[0]).collect()
        } else {
            claims(&mut store).await.expect("the lease ends");
            let room = Room { messages: 10, bytes: 1 << 20 };
            let page = store.page(queue, Seq(0), room).await.expect("it is ours");
            page.iter().map(|message| message.body[0]).collect()
        };
        assert_eq!(bodies, [11, 13, 14], "12 is in quarantine: {is_shared}");
    }
}

/// The same as for messages that the owner has read. These it has only sent.
#[tokio::test]
async fn an_owner_of_messages_that_it_has_sent_deletes_no_others() {
    for is_restored in [false, true] {
        let Some(mut server) = Server::start() else { return };
        let mut desk = Desk::new(&server.url()).await;
        let queue = desk.queue;
        server.save();
        claims(&mut desk.store).await.expect("it is ours");
        for number in 1..=3 {
            desk.commit(vec![append(queue, number, None)]).await.expect("the server runs");
        }
        if is_restored {
            server.restore_stream(&format!("SV_shop_Q{}", queue.0));
        } else {
            make_anew(&server, queue).await;
        }
        send_from_elsewhere(&server, queue, 11..=14).await;
        claims(&mut desk.store).await.map(drop).expect_err("these are the numbers of other messages");
        let all = (1..=3).map(|number| handled(queue, number)).collect();
        let _refused = desk.commit(all).await;
        let messages = stream(&server, queue).await.cached_info().state.messages;
        assert_eq!(messages, 4, "all that was accepted is there: {is_restored}");
    }
}

/// The same, and the owner does not know that the stream is another one when it deletes.
#[tokio::test]
async fn an_owner_looks_at_what_it_has_sent_before_it_deletes() {
    let Some(server) = Server::start() else { return };
    let mut desk = desk_with(&server.url(), 1..=3).await;
    let queue = desk.queue;
    make_anew(&server, queue).await;
    send_from_elsewhere(&server, queue, 11..=14).await;
    // It goes on sending.
    desk.commit(vec![append(queue, 4, None)]).await.expect("the server runs");
    let all = (1..=3).map(|number| handled(queue, number)).collect();
    desk.commit(all).await.expect_err("these are the numbers of other messages");
    assert_eq!(stream(&server, queue).await.cached_info().state.messages, 5, "all that was accepted is there");
}

/// Messages have left the queue before their turn, and the server was killed. Then nats-server 2.9.10 counts one of them still, although it does
/// not have it. When that one is the first, the server does not find the next one any more.
#[tokio::test]
async fn a_server_that_does_not_have_the_first_message_that_it_counts_hides_no_other() {
    for is_shared in [false, true] {
        let Some(mut server) = Server::start() else { return };
        let (mut store, _) = opened(&server.url()).await;
        let back = async |store: &mut JetStreamStore| {
            loop {
                if store.open(&Owner::new("shop")).await.is_ok() {
                    break;
                }
            }
            match store.shared().filter(|_| is_shared) {
                Some(shared) => shared.share("orders").await.expect("it is ours").queue,
                None => store.claim("orders").await.expect("it is ours").queue,
            }
        };
        let queue = back(&mut store).await;
        commit(&mut store, (1..=6).map(|number| append(queue, number, None)).collect()).await;
        if is_shared {
            take(&mut store, queue, &[]).await.expect("it shares the queue");
        }
        for left in [vec![2, 4], vec![5], vec![1, 3]] {
            commit(&mut store, left.iter().map(|number| handled(queue, *number)).collect()).await;
            if left[0] != 1 {
                server.kill();
                server.start_again();
                back(&mut store).await;
            }
        }
        commit(&mut store, (7..=9).map(|number| append(queue, number, None)).collect()).await;
        let page = if is_shared {
            let mut page = take(&mut store, queue, &[]).await.expect("it shares the queue").messages;
            page.sort_by_key(|message| message.seq);
            page
        } else {
            let room = Room { messages: 10, bytes: 1 << 20 };
            store.page(queue, Seq(0), room).await.expect("it is ours")
        };
        let numbers: Vec<u64> = page.iter().map(|message| message.seq.0).collect();
        assert_eq!(numbers, [6, 7, 8, 9], "is shared: {is_shared}");
    }
}

/// A server counts a message that it does not have, and the next message to arrive would get its number.
#[tokio::test]
async fn the_next_message_to_arrive_is_never_purged() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::to(server.port()).await;
    let mut desk = desk_with(&proxy.url(), 1..=1).await;
    let queue = desk.queue;
    stream(&server, queue).await.delete_message(1).await.expect("it is there");
    proxy.changes("\"messages\":0", "\"messages\":1");
    proxy.holds("STREAM.PURGE.");
    let read = desk.store.page(queue, Seq(0), Room { messages: 10, bytes: 1 << 20 });
    let would_purge = tokio::select! {
        _ = read => false,
        () = proxy.has_held() => true,
    };
    assert!(!would_purge, "another process may send it at this moment");
}
