//! The server does what servers do when things go wrong, and other nodes meddle.
//!
//! Rules 27.2, 27.6, 27.11, 27.13 and 27.14.

use std::time::Duration;

use supervise::durable::{
    Appended, Change, CommitError, Ended, Fate, Group, JetStreamStore, MessageId, MessageStore, Owner, Room, Seq,
    StoreErrorKind,
};

use crate::proxy::{Passes, Proxy};
use crate::server::Server;
use crate::{Desk, LEASE, append, claims, handled, large, opened, stream_of_only_queue};

#[tokio::test]
async fn a_key_may_have_any_characters() {
    let Some(server) = Server::start() else { return };
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    let long = "k".repeat(5000);
    for key in ["a\r\nb", "", "ä", "a b", "a", &long] {
        for expected_again in [false, true] {
            let answers =
                desk.commit(vec![append(queue, 1, Some(key.to_owned()))]).await.expect("the server runs");
            assert_eq!(answers == [Appended::Known], expected_again, "{key:?}: {answers:?}");
        }
    }
}

#[tokio::test]
async fn a_message_that_is_larger_than_the_server_takes_is_refused_alone() {
    let Some(server) = Server::start() else { return };
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    for bytes in [1 << 20, (1 << 20) - 100, 3 << 20] {
        let group = vec![append(queue, 1, None), large(queue, bytes), append(queue, 2, None)];
        let answers = desk.commit(group).await.expect("the others are stored");
        assert!(
            matches!(answers[..], [Appended::Stored(_), Appended::TooLarge, Appended::Stored(_)]),
            "{answers:?}"
        );
    }
    assert_eq!(desk.bodies().await, [1, 2, 1, 2, 1, 2]);
}

#[tokio::test]
async fn a_full_server_refuses_what_it_has_no_room_for_and_forgets_what_was_handled() {
    let Some(server) = Server::configured("jetstream { max_file_store: 3MB }") else { return };
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    let mut stored = Vec::new();
    loop {
        let answers =
            desk.commit((0..4).map(|_| large(queue, 200_000)).collect()).await.expect("it says who is refused");
        stored.extend(answers.iter().filter_map(|answer| match answer {
            Appended::Stored(seq) => Some(seq.0),
            _ => None,
        }));
        if answers.contains(&Appended::Full) {
            break;
        }
        assert!(stored.len() < 100, "it is never full");
    }
    assert!(stored.len() > 5, "{stored:?}");
    // The same process opens it again, and another one opens it too.
    desk.store.open(&Owner::new("shop")).await.expect("a full store opens");
    assert_eq!(desk.store.claim("orders").await.expect("the queue is ours").waiting, stored.len() as u64);
    // Its owner keeps it.
    tokio::time::sleep(LEASE * 3).await;
    assert_eq!(desk.bodies().await.len(), stored.len());
    desk.commit(stored.iter().map(|seq| handled(queue, *seq)).collect()).await.expect("this makes room");
    let answers = desk.commit(vec![large(queue, 200_000)]).await.expect("the server runs");
    assert!(matches!(answers[..], [Appended::Stored(_)]), "{answers:?}");
}

#[tokio::test]
async fn who_has_lost_a_queue_does_not_release_it_for_the_next_owner() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::to(server.port()).await;
    let mut first = Desk::new(&proxy.url()).await;
    let queue = first.queue;
    first.commit(vec![append(queue, 1, None)]).await.expect("the server runs");
    proxy.lets(Passes::Nothing);
    let (mut second, _) = opened(&server.url()).await;
    let claim = claims(&mut second).await.expect("the lease ends");
    proxy.lets(Passes::Both);
    // It comes back, and its actor stops.
    let _refused = first.commit(vec![handled(queue, 1), Change::Release(queue)]).await;
    let _refused = Box::new(first.store).close().await;
    let (mut third, _) = opened(&server.url()).await;
    let error = third.claim("orders").await.expect_err("the second one has the queue");
    assert_eq!(error.kind, StoreErrorKind::Claimed, "{error}");
    let mut second = Desk { store: second, queue: claim.queue };
    assert_eq!(second.bodies().await, [1], "its late words have changed nothing");
    // It goes on owning it.
    tokio::time::sleep(LEASE * 2).await;
    assert_eq!(second.bodies().await, [1]);
}

#[tokio::test]
async fn a_server_that_comes_back_empty_is_told_and_gives_no_number_twice() {
    let Some(mut server) = Server::start() else { return };
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    desk.commit((1..=5).map(|number| append(queue, number, None)).collect()).await.expect("the server runs");
    server.start_empty();
    // Another node is faster, and accepts messages.
    let (mut other, _) = opened(&server.url()).await;
    let claim = other.claim("orders").await.expect("nobody has it");
    assert_ne!(claim.queue, queue, "ids of messages are never given twice");
    let mut other = Desk { store: other, queue: claim.queue };
    other
        .commit((11..=17).map(|number| append(claim.queue, number, None)).collect())
        .await
        .expect("the server runs");
    // The first node says what it has handled, and wants to go on.
    let _unknown = desk.commit(vec![handled(queue, 1), handled(queue, 2), append(queue, 6, None)]).await;
    let error = claims(&mut desk.store).await.expect_err("five accepted messages are missing");
    assert_eq!(error.kind, StoreErrorKind::Damaged, "{error}");
    assert_eq!(other.bodies().await, [11, 12, 13, 14, 15, 16, 17], "what the other one has accepted is there");
}

#[tokio::test]
async fn a_server_with_an_older_disk_is_told() {
    let Some(mut server) = Server::start() else { return };
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    desk.commit((1..=3).map(|number| append(queue, number, None)).collect()).await.expect("the server runs");
    server.save();
    claims(&mut desk.store).await.expect("the server runs");
    desk.commit((4..=9).map(|number| append(queue, number, None)).collect()).await.expect("the server runs");
    server.restore();
    // The client has connected again. It must not take a number that was given before for a new one.
    let mut answers = desk.commit(vec![append(queue, 10, None)]).await;
    for _ in 0..5 {
        if answers.is_ok() {
            break;
        }
        let _opened = desk.store.open(&Owner::new("shop")).await;
        answers = desk.commit(vec![append(queue, 10, None)]).await;
    }
    assert!(matches!(answers, Err(CommitError::Unknown(_))), "{answers:?}");
    let error = claims(&mut desk.store).await.expect_err("six accepted messages are missing");
    assert_eq!(error.kind, StoreErrorKind::Damaged, "{error}");
}

/// A process that only sends. Its message must not be stored under a number that another message had.
#[tokio::test]
async fn a_sender_stores_nothing_on_a_server_with_an_older_disk() {
    let Some(mut server) = Server::start() else { return };
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    desk.commit(vec![append(queue, 1, None), Change::Release(queue)]).await.expect("the server runs");
    server.save();
    let (mut sender, _) = opened(&server.url()).await;
    sender.queue("orders").await.expect("the server runs").expect("there is such a queue");
    let group = Group { changes: (2..=4).map(|number| append(queue, number, None)).collect() };
    sender.commit(&group).await.expect("the server runs");
    server.restore();
    sender.open(&Owner::new("shop")).await.expect("the server runs");
    for _ in 0..2 {
        let error = sender.queue("orders").await.expect_err("three accepted messages are missing");
        assert!(error.kind == StoreErrorKind::Damaged && error.text.contains("2 to 4"), "{error}");
    }
    // Others see what there is.
    let rows = opened(&server.url()).await.0.queues().await.expect("the server runs");
    assert_eq!(rows[0].waiting, 1, "{rows:?}");
}

#[tokio::test]
async fn a_stream_that_was_deleted_behind_our_back_is_told() {
    let Some(server) = Server::start() else { return };
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    desk.commit((1..=3).map(|number| append(queue, number, None)).collect()).await.expect("the server runs");
    server
        .context()
        .await
        .delete_stream(stream_of_only_queue(&server).await)
        .await
        .expect("there is such a stream");
    assert!(desk.commit(vec![append(queue, 4, None)]).await.is_err());
    desk.store.open(&Owner::new("shop")).await.expect("other queues go on");
    let error = desk.store.claim("orders").await.expect_err("its messages are gone");
    assert_eq!(error.kind, StoreErrorKind::Damaged, "{error}");
    desk.store.claim("others").await.expect("other queues go on");
    // A process that has not seen them before gets the error too, as long as the name is known.
    let (mut next, _) = opened(&server.url()).await;
    let error = next.claim("orders").await.expect_err("its messages are gone");
    assert_eq!(error.kind, StoreErrorKind::Damaged, "{error}");
    next.commit(&Group { changes: vec![Change::DiscardQueue("orders".to_owned())] })
        .await
        .expect("it can be discarded");
    assert_ne!(next.claim("orders").await.expect("it is made anew").queue, queue);
}

#[tokio::test]
async fn a_page_of_large_messages_does_not_bring_the_whole_queue() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::to(server.port()).await;
    let mut desk = Desk::new(&proxy.url()).await;
    let queue = desk.queue;
    for _ in 0..10 {
        desk.commit((0..4).map(|_| large(queue, 500_000)).collect()).await.expect("the server runs");
    }
    let before = proxy.bytes_down();
    let page = desk.store.page(queue, Seq(0), Room { messages: 1024, bytes: 1 << 20 }).await.expect("it is ours");
    assert_eq!(page.len(), 2);
    // Messages on their way are counted too.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let bytes = proxy.bytes_down() - before;
    assert!(bytes < 8_000_000, "{bytes} bytes for a page of a million");
}

#[tokio::test]
async fn a_lease_is_as_long_as_the_server_keeps_it() {
    let Some(server) = Server::start() else { return };
    let _first = opened(&server.url()).await;
    // A later release has another length.
    let proxy = Proxy::to(server.port()).await;
    let mut second = JetStreamStore::new(proxy.url()).lease(LEASE * 60).accept_timeout(Duration::from_secs(2));
    second.open(&Owner::new("shop")).await.expect("the server runs");
    let queue = second.claim("orders").await.expect("nobody has it").queue;
    let mut desk = Desk { store: second, queue };
    desk.commit(vec![append(queue, 1, None)]).await.expect("the server runs");
    tokio::time::sleep(LEASE * 3).await;
    assert_eq!(desk.bodies().await, [1], "it renews in time");
    proxy.lets(Passes::Nothing);
    let (mut third, _) = opened(&server.url()).await;
    claims(&mut third).await.expect("the lease ends");
    proxy.lets(Passes::Both);
    let page = desk.store.page(queue, Seq(0), Room { messages: 1, bytes: 1 }).await;
    assert!(page.is_err(), "it belongs to somebody else: {page:?}");
}

/// The acknowledgement of a renewal is lost, as often as possible. The owner goes on.
#[tokio::test]
async fn an_owner_whose_renewal_was_not_acknowledged_keeps_its_queue() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::to(server.port()).await;
    let mut desk = Desk::new(&proxy.url()).await;
    let queue = desk.queue;
    desk.commit(vec![append(queue, 1, None)]).await.expect("the server runs");
    for _ in 0..4 {
        proxy.lets(Passes::Up);
        tokio::time::sleep(LEASE / 2).await;
        proxy.cut();
        proxy.lets(Passes::Both);
        tokio::time::sleep(LEASE).await;
        assert_eq!(desk.bodies().await, [1]);
    }
}

#[tokio::test]
async fn a_claim_does_not_wait_for_an_owner_who_lives() {
    let Some(server) = Server::start() else { return };
    let first = Desk::new(&server.url()).await;
    let (mut second, _) = opened(&server.url()).await;
    let before = std::time::Instant::now();
    let error = second.claim("orders").await.expect_err("it has an owner");
    assert_eq!(error.kind, StoreErrorKind::Claimed, "{error}");
    assert!(before.elapsed() < LEASE / 2, "all other queues wait meanwhile: {:?}", before.elapsed());
    drop(first);
}

#[tokio::test]
async fn a_fence_grows_also_after_the_server_has_forgotten_all_leases() {
    let Some(mut server) = Server::start() else { return };
    let mut fences = Vec::new();
    for _ in 0..3 {
        let (mut store, _) = opened(&server.url()).await;
        fences.push(claims(&mut store).await.expect("the lease ends").fence);
        drop(store);
        server.kill();
        server.start_again();
    }
    assert!(fences.is_sorted_by(|a, b| a < b), "{fences:?}");
}

#[tokio::test]
async fn messages_that_were_purged_behind_our_back_are_told_once_and_the_others_go_on() {
    let Some(server) = Server::start() else { return };
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    desk.commit((1..=6).map(|number| append(queue, number, None)).collect()).await.expect("the server runs");
    desk.commit(vec![handled(queue, 1), handled(queue, 3)]).await.expect("the server runs");
    assert_eq!(desk.bodies().await, [2, 4, 5, 6], "what was handled is not lost");
    let stream = server
        .context()
        .await
        .get_stream(stream_of_only_queue(&server).await)
        .await
        .expect("there is such a stream");
    stream.purge().sequence(5).await.expect("it can be purged");
    let room = Room { messages: 10, bytes: 1 << 20 };
    let error = desk.store.page(queue, Seq(0), room).await.expect_err("two messages are gone");
    assert!(error.to_string().contains("deleted 2 accepted messages of the queue orders"), "{error}");
    let opened = desk.store.open(&Owner::new("shop")).await.expect("the server runs");
    assert_eq!(opened.missing, [(queue, Seq(2)), (queue, Seq(4))], "they have names");
    claims(&mut desk.store).await.expect("it is ours");
    assert_eq!(desk.bodies().await, [5, 6], "the others go on");
    let opened = desk.store.open(&Owner::new("shop")).await.expect("the server runs");
    assert_eq!(opened.missing, [], "and nobody is told twice");
    // One in the middle, and all.
    claims(&mut desk.store).await.expect("it is ours");
    desk.commit((7..=9).map(|number| append(queue, number, None)).collect()).await.expect("the server runs");
    stream.delete_message(8).await.expect("it is there");
    let error = desk.store.page(queue, Seq(0), room).await.expect_err("one message is gone");
    assert!(error.to_string().contains("deleted 1 accepted messages"), "{error}");
    stream.purge().await.expect("it can be purged");
    desk.store.open(&Owner::new("shop")).await.expect("the server runs");
    claims(&mut desk.store).await.expect("it is ours");
    assert_eq!(desk.bodies().await, [] as [u64; 0]);
}

/// Large messages until the server is full. Returns their numbers.
async fn fill(desk: &mut Desk) -> Vec<u64> {
    let queue = desk.queue;
    let mut stored = Vec::new();
    loop {
        let group = (0..4).map(|_| large(queue, 200_000)).collect();
        let answers = desk.commit(group).await.expect("it says who is refused");
        stored.extend(answers.iter().filter_map(|answer| match answer {
            Appended::Stored(seq) => Some(seq.0),
            _ => None,
        }));
        if answers.contains(&Appended::Full) {
            return stored;
        }
        assert!(stored.len() < 100, "it is never full");
    }
}

/// Otherwise nothing would make room.
#[tokio::test]
async fn a_full_server_notes_what_failed_and_who_owns_a_queue() {
    let Some(server) = Server::configured("jetstream { max_file_store: 4MB }") else { return };
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    let mut stored = fill(&mut desk).await;
    for round in 1..=3 {
        let id = MessageId { queue, seq: Seq(stored.remove(0)) };
        let failures = vec!["x".to_owned()];
        let charge = Change::Charged { id, attempts: 1, crashes: 0, failures: failures.clone() };
        desk.commit(vec![charge]).await.expect("a failure is noted");
        desk.commit(vec![Change::Quarantine { id, fate: Fate::Failed, failures }])
            .await
            .expect("it is quarantined");
        stored.extend(fill(&mut desk).await);
        drop(desk);
        let (mut next, _) = opened(&server.url()).await;
        let claim = claims(&mut next).await.expect("the lease ends");
        assert_eq!(claim.waiting, stored.len() as u64, "round {round}");
        desk = Desk { store: next, queue };
        stored.extend(fill(&mut desk).await);
    }
    let confined = MessageId { queue, seq: Seq(1) };
    desk.commit(vec![Change::Retry(confined)]).await.expect("it goes back");
    desk.commit(stored.iter().map(|seq| handled(queue, *seq)).collect()).await.expect("this makes room");
    let answers = desk.commit(vec![large(queue, 200_000)]).await.expect("the server runs");
    assert!(matches!(answers[..], [Appended::Stored(_)]), "{answers:?}");
}

#[tokio::test]
async fn a_discarded_queue_does_not_look_as_if_its_owner_had_just_died() {
    let Some(server) = Server::start() else { return };
    drop(Desk::new(&server.url()).await);
    let (mut other, opening) = opened(&server.url()).await;
    assert_eq!(opening.ended, Ended::ProcessDied);
    let group = Group { changes: vec![Change::DiscardQueue("orders".to_owned())] };
    other.commit(&group).await.expect("it can be discarded");
    Box::new(other).close().await.expect("the server runs");
    assert_eq!(opened(&server.url()).await.1.ended, Ended::Cleanly);
}

#[tokio::test]
async fn a_queue_whose_discarding_has_failed_can_be_discarded_again() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::to(server.port()).await;
    let mut desk = Desk::new(&proxy.url()).await;
    let queue = desk.queue;
    desk.commit(vec![append(queue, 1, None), Change::Release(queue)]).await.expect("the server runs");
    proxy.holds("STREAM.DELETE");
    let discard = || Change::DiscardQueue("orders".to_owned());
    desk.commit(vec![discard()]).await.expect_err("the server does not hear of it");
    let (mut other, _) = opened(&server.url()).await;
    other.commit(&Group { changes: vec![discard()] }).await.expect("the server runs");
    assert_eq!(other.queues().await.expect("the server runs").len(), 0);
    let left = server.context().await.get_stream(format!("SV_shop_Q{}", queue.0)).await;
    assert!(left.is_err(), "nobody would ever delete the stream");
}

/// Deletes the reserve, as a process does that notes a record on a full server.
async fn spend_reserve(server: &Server) {
    let state = server.context().await.get_stream("SV_shop_STATE").await.expect("it is there");
    let reserve = state.get_last_raw_message_by_subject("sv.shop.state.reserve").await.expect("it is there");
    state.delete_message(reserve.sequence).await.expect("it is there");
}

/// The number of the reserve, if there is one.
async fn reserve(server: &Server) -> Option<u64> {
    let state = server.context().await.get_stream("SV_shop_STATE").await.expect("it is there");
    state.get_last_raw_message_by_subject("sv.shop.state.reserve").await.ok().map(|found| found.sequence)
}

async fn has_reserve(server: &Server) -> bool {
    reserve(server).await.is_some()
}

#[tokio::test]
async fn whoever_takes_over_from_a_dead_process_fills_the_reserve_that_it_has_spent() {
    let Some(server) = Server::start() else { return };
    let (mut next, _) = opened(&server.url()).await;
    let desk = Desk::new(&server.url()).await;
    spend_reserve(&server).await;
    drop(desk);
    let claim = claims(&mut next).await.expect("the lease ends");
    assert!(has_reserve(&server).await);
    let shared = async |store: &mut JetStreamStore| {
        loop {
            match store.shared().expect("it can share queues").share("orders").await {
                Err(error) if error.kind == StoreErrorKind::Claimed => tokio::time::sleep(LEASE / 10).await,
                shared => return shared,
            }
        }
    };
    let (mut last, _) = opened(&server.url()).await;
    spend_reserve(&server).await;
    drop(next);
    assert_eq!(shared(&mut last).await.expect("the lease ends").queue, claim.queue);
    last.commit(&Group::default()).await.expect("the server runs");
    assert!(has_reserve(&server).await);
}

#[tokio::test]
async fn whoever_spends_the_reserve_does_not_bring_it() {
    let Some(server) = Server::configured("jetstream { max_file_store: 4MB }") else { return };
    let proxy = Proxy::to(server.port()).await;
    let mut desk = Desk::new(&proxy.url()).await;
    let queue = desk.queue;
    let stored = fill(&mut desk).await;
    let full = reserve(&server).await;
    assert!(full.is_some());
    let before = proxy.bytes_down();
    let id = MessageId { queue, seq: Seq(stored[0]) };
    let charge = Change::Charged { id, attempts: 1, crashes: 0, failures: Vec::new() };
    desk.commit(vec![charge]).await.expect("a failure is noted");
    let bytes = proxy.bytes_down() - before;
    assert_ne!(reserve(&server).await, full, "the server was full");
    // The message that has failed is about 270 kB in the server's answer.
    assert!(bytes < 500_000, "{bytes} bytes to delete one message");
}

#[tokio::test]
async fn whoever_finds_the_server_full_fills_the_reserve_when_there_is_room() {
    let Some(server) = Server::configured("jetstream { max_file_store: 4MB }") else { return };
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    spend_reserve(&server).await;
    let stored = fill(&mut desk).await;
    desk.commit(stored.iter().map(|seq| handled(queue, *seq)).collect()).await.expect("this makes room");
    let filled = async {
        while !has_reserve(&server).await {
            desk.commit(Vec::new()).await.expect("the server runs");
        }
    };
    tokio::time::timeout(LEASE * 20, filled).await.expect("the store looks again");
}

#[tokio::test]
async fn a_queue_that_cannot_be_left_holds_back_no_other_queue() {
    let Some(server) = Server::start() else { return };
    let (mut store, _) = opened(&server.url()).await;
    let shared = store.shared().expect("it can share queues").share("shared").await.expect("nobody has it").queue;
    claims(&mut store).await.expect("nobody has it");
    let subject = format!("sv.shop.state.shared.{}", shared.0);
    let context = server.context().await;
    let sent = context.publish(subject, "nonsense".into()).await.expect("the server runs");
    sent.await.expect("the server runs");
    Box::new(store).close().await.expect_err("the record is damaged");
    let (mut next, _) = opened(&server.url()).await;
    let claim = next.claim("orders").await.expect("it was left");
    assert_eq!(claim.begun, None);
}

/// The first message waits, and many have left the queue behind it. nats-server 2.9.10 counts some of them still, also when the last one, which
/// stays in the stream, is gone.
#[tokio::test]
async fn a_page_does_not_wait_for_messages_that_have_left_the_queue() {
    let Some(server) = Server::start() else { return };
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    desk.commit(vec![append(queue, 1, None)]).await.expect("the server runs");
    for _ in 0..20 {
        desk.commit((0..4).map(|_| large(queue, 500_000)).collect()).await.expect("the server runs");
    }
    desk.commit((2..=81).map(|number| handled(queue, number)).collect()).await.expect("the server runs");
    for has_last in [true, false] {
        if !has_last {
            let stream =
                server.context().await.get_stream(stream_of_only_queue(&server).await).await.expect("it is there");
            stream.delete_message(81).await.expect("it stays there");
        }
        let before = std::time::Instant::now();
        assert_eq!(desk.bodies().await, [1]);
        let took = before.elapsed();
        assert!(took < Duration::from_secs(3), "all other queues wait meanwhile: {took:?}, {has_last}");
    }
}

/// The wire is cut while the server sends a page. The client connects again, and the server sends what comes next.
#[tokio::test]
async fn a_page_whose_messages_were_lost_on_their_way_fails() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::to(server.port()).await;
    let mut desk = Desk::new(&proxy.url()).await;
    let queue = desk.queue;
    for _ in 0..20 {
        desk.commit((0..20).map(|_| large(queue, 10_000)).collect()).await.expect("the server runs");
    }
    let before = proxy.bytes_down();
    let cut = async {
        let more_than = async |bytes| {
            while proxy.bytes_down() <= bytes {
                tokio::task::yield_now().await;
            }
        };
        more_than(before + 500_000).await;
        proxy.lets(Passes::Up);
        // What the server sends now never arrives.
        more_than(proxy.bytes_down()).await;
        proxy.cut();
        tokio::task::yield_now().await;
        proxy.lets(Passes::Both);
    };
    let room = Room { messages: usize::MAX, bytes: usize::MAX };
    let (page, ()) = tokio::join!(desk.store.page(queue, Seq(0), room), cut);
    let error = page.map(|page| page.len()).expect_err("the owner would never look for the messages in between");
    assert_eq!(error.kind, StoreErrorKind::Broken, "{error}");
    claims(&mut desk.store).await.expect("it is ours");
    let page = desk.store.page(queue, Seq(0), room).await.expect("the wire is whole");
    assert_eq!(page.len(), 400);
}
