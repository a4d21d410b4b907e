//! The names and numbers of queues, also when several processes change them at once.
//!
//! Rules 27.2, 27.13 and 27.14.

use supervise::durable::{Appended, Change, Group, MessageId, MessageStore, Owner, Seq, StoreErrorKind};

use crate::fixture::node;
use crate::proxy::Proxy;
use crate::server::Server;
use crate::{Desk, LEASE, append, claims, handled, opened, store, stream_of_only_queue};

/// Two nodes make many queues at once. Each name is one queue.
#[tokio::test]
async fn nodes_that_make_queues_at_once_agree_on_their_numbers() {
    let Some(server) = Server::start() else { return };
    let url = server.url();
    let node = |first: bool| {
        let url = url.clone();
        tokio::spawn(async move {
            let (mut store, _) = opened(&url).await;
            let mut numbers = Vec::new();
            for at in 0..10 {
                let name = format!("queue-{}", if first { at } else { 9 - at });
                let claimed = store.claim(&name).await;
                numbers.push((name, claimed.as_ref().ok().map(|claim| claim.queue)));
            }
            (store, numbers)
        })
    };
    let (one, other) = (node(true), node(false));
    let ((mut store, mut numbers), (_other, theirs)) =
        (one.await.expect("no panic"), other.await.expect("no panic"));
    numbers.extend(theirs);
    let rows = store.queues().await.expect("the server runs");
    assert_eq!(rows.len(), 10, "{rows:?}");
    for (name, number) in numbers {
        if let Some(number) = number {
            assert!(rows.iter().any(|row| row.name == name && row.queue == number), "{name} {number:?}: {rows:?}");
        }
    }
}

/// Otherwise a system with thousands of queues would take minutes to make them.
#[tokio::test]
async fn whoever_makes_a_queue_does_not_read_the_names_of_all_others_again() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::to(server.port()).await;
    let mut desk = Desk::new(&proxy.url()).await;
    let context = server.context().await;
    let name = |number: u32| (format!("sv.shop.state.queue.{number}"), format!("queue-{number}").into());
    for number in 1..=1000 {
        let (subject, name) = name(desk.queue.0 + number);
        context.publish(subject, name).await.expect("the server runs").await.expect("the server runs");
    }
    let mut claim = async |name: &str| desk.store.claim(name).await.expect("nobody has it").queue.0;
    let first = claim("first").await;
    let before = proxy.bytes_down();
    assert_eq!([claim("a").await, claim("b").await, claim("c").await], [first + 1, first + 2, first + 3]);
    let bytes = proxy.bytes_down() - before;
    assert!(bytes < 60_000, "{bytes} bytes to make three queues");
    // Another process has made one since.
    let (mut other, _) = opened(&server.url()).await;
    other.claim("theirs").await.expect("nobody has it");
    let theirs = desk.store.queue("theirs").await.expect("the server runs").expect("there is one");
    assert_eq!(theirs.queue.0, first + 4);
}

/// Another process is faster, so the numbers of its records are those that this process has read.
#[tokio::test]
async fn whoever_finds_another_server_reads_all_names_again() {
    let Some(mut server) = Server::start() else { return };
    let (mut store, _) = opened(&server.url()).await;
    for name in ["a", "b", "c"] {
        store.claim(name).await.expect("nobody has it");
    }
    server.start_empty();
    let (mut other, _) = opened(&server.url()).await;
    let theirs = other.claim("orders").await.expect("nobody has it").queue;
    for name in ["e", "f", "g"] {
        other.claim(name).await.expect("nobody has it");
    }
    let found = async {
        loop {
            match store.queue("orders").await {
                Ok(row) => return row,
                // It connects again.
                Err(_) => tokio::time::sleep(LEASE / 10).await,
            }
        }
    };
    let row = tokio::time::timeout(LEASE * 20, found).await.expect("the server runs").expect("there is one");
    assert_eq!(row.queue, theirs);
}

/// A queue that has been discarded has an empty name.
#[tokio::test]
async fn no_queue_has_an_empty_name() {
    let Some(server) = Server::start() else { return };
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    desk.commit(vec![append(queue, 1, None), Change::Release(queue)]).await.expect("the server runs");
    let claimed =
        tokio::time::timeout(LEASE * 5, desk.store.claim("")).await.expect("it makes no streams for ever");
    assert_eq!(claimed.expect_err("it needs a name").kind, StoreErrorKind::Refused);
    let rename = Change::Rename { from: "orders".to_owned(), to: String::new() };
    desk.commit(vec![rename]).await.expect("it changes nothing");
    let (mut next, _) = opened(&server.url()).await;
    assert_eq!(next.claim("orders").await.expect("nobody has it").waiting, 1);
}

#[tokio::test]
async fn a_name_with_the_highest_number_is_told() {
    let Some(server) = Server::start() else { return };
    let context = server.context().await;
    let (mut store, _) = opened(&server.url()).await;
    let subject = format!("sv.shop.state.queue.{}", u32::MAX);
    context.publish(subject.clone(), "x".into()).await.expect("it runs").await.expect("it runs");
    let claimed = tokio::time::timeout(LEASE * 5, store.claim("orders")).await.expect("it does not try for ever");
    let error = claimed.expect_err("there is no higher number");
    assert!(error.kind == StoreErrorKind::Refused && error.text.contains(&subject), "{error}");
}

/// The server comes back with a disk from before the queue. Another process is faster, and its new queue gets the number.
#[tokio::test]
async fn a_queue_is_lost_also_if_another_one_has_its_number() {
    let Some(mut server) = Server::start() else { return };
    let (mut store, _) = opened(&server.url()).await;
    server.save();
    let queue = claims(&mut store).await.expect("nobody has it").queue;
    let group = Group { changes: (1..=3).map(|number| append(queue, number, None)).collect() };
    store.commit(&group).await.expect("the server runs");
    server.restore();
    let (mut other, _) = opened(&server.url()).await;
    assert_eq!(other.claim("others").await.expect("nobody has it").queue, queue);
    store.open(&Owner::new("shop")).await.expect("the server runs");
    for _ in 0..2 {
        let error = store.claim("orders").await.expect_err("three accepted messages are missing");
        assert!(error.kind == StoreErrorKind::Damaged && error.text.contains("orders"), "{error}");
    }
}

/// The stream of the names comes back from a backup that is older than a queue.
#[tokio::test]
async fn a_new_queue_gets_no_messages_of_a_queue_whose_name_is_lost() {
    let Some(mut server) = Server::start() else { return };
    let (mut store, _) = opened(&server.url()).await;
    server.save();
    let queue = claims(&mut store).await.expect("nobody has it").queue;
    store.commit(&Group { changes: vec![append(queue, 1, None)] }).await.expect("the server runs");
    Box::new(store).close().await.expect("the server runs");
    server.restore_stream("SV_shop_STATE");
    let (mut other, _) = opened(&server.url()).await;
    let name = stream_of_only_queue(&server).await;
    for _ in 0..2 {
        let error = other.claim("others").await.expect_err("the stream has a message of another queue");
        assert!(error.kind == StoreErrorKind::Damaged && error.text.contains(&name), "{error}");
    }
    // Somebody goes on without it.
    server.context().await.delete_stream(name).await.expect("it is there");
    assert_eq!(other.claim("others").await.expect("nobody has it").waiting, 0);
}

/// Nobody knows their names, so nobody would ever handle their messages.
#[tokio::test]
async fn a_system_whose_names_are_lost_is_not_opened_while_its_queues_have_messages() {
    let Some(server) = Server::start() else { return };
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    desk.commit(vec![append(queue, 1, None)]).await.expect("the server runs");
    Box::new(desk.store).close().await.expect("the server runs");
    let context = server.context().await;
    context.delete_stream("SV_shop_STATE").await.expect("it is there");
    // Another system has none.
    store(&server.url()).open(&Owner::new("shop-2")).await.expect("it is new");
    let mut next = store(&server.url());
    let name = stream_of_only_queue(&server).await;
    for _ in 0..2 {
        let error = next.open(&Owner::new("shop")).await.map(|_| ()).expect_err("a message waits");
        assert!(error.kind == StoreErrorKind::Damaged && error.text.contains(&name), "{error}");
    }
    context.get_stream("SV_shop_STATE").await.map(drop).expect_err("it would be in the way of the restored one");
    context.delete_stream(name).await.expect("it is there");
    next.open(&Owner::new("shop")).await.expect("somebody goes on without it");
    next.claim("orders").await.expect("it is made anew");
}

/// Otherwise two queues would have one name, and nobody would ever handle the messages of one of them.
#[tokio::test]
async fn a_queue_gets_no_name_that_another_process_has_just_used() {
    for is_owned in [false, true] {
        let Some(server) = Server::start() else { return };
        let mut desk = Desk::new(&server.url()).await;
        let queue = desk.queue;
        desk.commit(vec![append(queue, 1, None), Change::Release(queue)]).await.expect("the server runs");
        let (mut other, _) = opened(&server.url()).await;
        let theirs = other.claim("new").await.expect("nobody has it").queue;
        let last = if is_owned {
            Change::Handled(MessageId { queue: theirs, seq: Seq(1) })
        } else {
            Change::Release(theirs)
        };
        other.commit(&Group { changes: vec![append(theirs, 2, None), last] }).await.expect("the server runs");
        desk.commit(vec![Change::Rename { from: "orders".to_owned(), to: "new".to_owned() }])
            .await
            .expect("it runs");
        let rows = opened(&server.url()).await.0.queues().await.expect("the server runs");
        let rows: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.queue, row.waiting)).collect();
        assert_eq!(rows, [("orders", queue, 1), ("new", theirs, u64::from(!is_owned))]);
    }
}

/// A rename deletes the queue that has the new name if it is empty. Somebody sends to that queue at the same time.
#[tokio::test]
async fn a_rename_loses_no_message_that_was_accepted_at_the_same_time() {
    for step in ["STREAM.DELETE.", "STREAM.UPDATE."] {
        let Some(server) = Server::start() else { return };
        let proxy = Proxy::to(server.port()).await;
        let mut desk = Desk::new(&proxy.url()).await;
        let queue = desk.queue;
        desk.commit(vec![append(queue, 1, None), Change::Release(queue)]).await.expect("the server runs");
        let (mut other, _) = opened(&server.url()).await;
        let theirs = other.claim("new").await.expect("nobody has it").queue;
        other.commit(&Group { changes: vec![Change::Release(theirs)] }).await.expect("the server runs");
        proxy.holds(step);
        let rename = desk.commit(vec![Change::Rename { from: "orders".to_owned(), to: "new".to_owned() }]);
        let send = async {
            proxy.has_held().await;
            let answers = other.commit(&Group { changes: vec![append(theirs, 2, None)] }).await;
            proxy.holds_nothing();
            matches!(answers.as_deref(), Ok([Appended::Stored(_)]))
        };
        let (renamed, was_accepted) = tokio::join!(rename, send);
        renamed.expect("the server runs");
        let (mut store, _) = opened(&server.url()).await;
        let rows = store.queues().await.expect("the server runs");
        let rows: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.queue, row.waiting)).collect();
        if !was_accepted {
            assert_eq!(rows, [("new", queue, 1)], "{step}");
            continue;
        }
        assert_eq!(rows, [("orders", queue, 1), ("new", theirs, 1)], "{step}");
        // That queue goes on.
        let mut desk = Desk { queue: store.claim("new").await.expect("nobody has it").queue, store };
        desk.commit(vec![append(theirs, 3, None)]).await.expect("the server runs");
        assert_eq!(desk.bodies().await, [2, 3]);
    }
}

/// The process that renames dies when nobody can send to the queue any more, and it has not deleted the queue yet.
#[tokio::test]
async fn a_rename_that_was_interrupted_can_be_repeated() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::to(server.port()).await;
    let mut desk = Desk::new(&proxy.url()).await;
    let queue = desk.queue;
    desk.commit(vec![append(queue, 1, None), Change::Release(queue)]).await.expect("the server runs");
    let (mut other, _) = opened(&server.url()).await;
    let theirs = other.claim("new").await.expect("nobody has it").queue;
    other.commit(&Group { changes: vec![Change::Release(theirs)] }).await.expect("the server runs");
    let rename = || vec![Change::Rename { from: "orders".to_owned(), to: "new".to_owned() }];
    proxy.holds("STREAM.DELETE.");
    desk.commit(rename()).await.expect_err("the server does not hear of it");
    drop(desk);
    let error = other.claim("new").await.expect_err("it is about to be deleted");
    assert!(error.kind == StoreErrorKind::Refused && error.text.contains("rename"), "{error}");
    other.commit(&Group { changes: rename() }).await.expect("the server runs");
    let rows = other.queues().await.expect("the server runs");
    let rows: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.queue, row.waiting)).collect();
    assert_eq!(rows, [("new", queue, 1)]);
}

/// Otherwise nobody would know that the queue still has its old name.
#[tokio::test]
async fn who_renames_a_queue_is_told_if_somebody_has_just_used_the_new_name() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::to(server.port()).await;
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    desk.commit(vec![append(queue, 1, None), Change::Release(queue)]).await.expect("the server runs");
    let theirs = desk.store.claim("new").await.expect("nobody has it").queue;
    desk.commit(vec![Change::Release(theirs)]).await.expect("the server runs");
    let system = node(&proxy.url());
    system.store().ready().await.expect("the server runs");
    proxy.holds("STREAM.UPDATE.");
    let store = system.store();
    let send = async {
        proxy.has_held().await;
        desk.commit(vec![append(theirs, 2, None)]).await.expect("the server runs");
        proxy.holds_nothing();
    };
    let (renamed, ()) = tokio::join!(store.rename("orders", "new"), send);
    let error = renamed.expect_err("it has a message");
    assert!(error.kind == StoreErrorKind::Refused && error.text.contains("`new`"), "{error}");
    desk.commit(vec![handled(theirs, 1)]).await.expect("the server runs");
    let theirs = desk.store.claim("new").await.expect("nobody has it").queue;
    desk.commit(vec![handled(theirs, 1), Change::Release(theirs)]).await.expect("the server runs");
    store.rename("orders", "new").await.expect("it is empty");
    system.terminate().await;
}

/// The process that renames dies when nobody can send to the queue any more, and it has not seen yet that a message was faster. Otherwise
/// nobody could handle that message: the rename cannot be repeated while the queue has one.
#[tokio::test]
async fn a_message_that_was_faster_than_an_interrupted_rename_is_handled() {
    for is_shared in [false, true] {
        let Some(server) = Server::start() else { return };
        let proxy = Proxy::to(server.port()).await;
        let mut desk = Desk::new(&proxy.url()).await;
        let queue = desk.queue;
        desk.commit(vec![append(queue, 1, None), Change::Release(queue)]).await.expect("the server runs");
        let (mut other, _) = opened(&server.url()).await;
        let theirs = other.claim("new").await.expect("nobody has it").queue;
        other.commit(&Group { changes: vec![Change::Release(theirs)] }).await.expect("the server runs");
        proxy.holds("STREAM.UPDATE.");
        let send = async {
            proxy.has_held().await;
            other.commit(&Group { changes: vec![append(theirs, 2, None)] }).await.expect("the server runs");
            proxy.holds_nothing();
            proxy.holds("Nats-Expected-Last-Sequence");
        };
        let (renamed, ()) = tokio::join!(desk.commit(vec![rename()]), send);
        renamed.expect_err("the server does not hear of it");
        drop(desk);
        let claimed = if is_shared {
            other.shared().expect("it can share queues").share("new").await
        } else {
            other.claim("new").await
        };
        let claim = claimed.expect("it has a message");
        assert_eq!((claim.queue, claim.waiting), (theirs, 1));
        let answers = other.commit(&Group { changes: vec![append(theirs, 3, None)] }).await;
        assert_eq!(answers.expect("it accepts again"), [Appended::Stored(Seq(2))]);
    }
}

/// Two processes on their way to one name: nobody would ever handle the messages of the second queue.
#[tokio::test]
async fn a_queue_that_is_made_while_another_one_gets_its_name_is_that_one() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::to(server.port()).await;
    let mut desk = Desk::new(&server.url()).await;
    let queue = desk.queue;
    desk.commit(vec![append(queue, 1, None), Change::Release(queue)]).await.expect("the server runs");
    let (mut other, _) = opened(&proxy.url()).await;
    proxy.holds("PUB sv.shop.state.queue.");
    let renames = async {
        proxy.has_held().await;
        desk.commit(vec![rename()]).await.expect("the server runs");
        proxy.holds_nothing();
    };
    let (claim, ()) = tokio::join!(other.claim("new"), renames);
    let claim = claim.expect("nobody has it");
    assert_eq!((claim.queue, claim.waiting), (queue, 1));
    assert_eq!(rows(&mut desk).await, [("new".to_owned(), 1)]);
}

#[tokio::test]
async fn a_queue_gets_no_name_of_one_that_is_made_at_the_same_time() {
    for is_used in [false, true] {
        let Some(server) = Server::start() else { return };
        let proxy = Proxy::to(server.port()).await;
        let mut desk = Desk::new(&proxy.url()).await;
        let queue = desk.queue;
        desk.commit(vec![append(queue, 1, None), Change::Release(queue)]).await.expect("the server runs");
        let (mut other, _) = opened(&server.url()).await;
        proxy.holds("PUB sv.shop.state.queue.");
        let makes = async {
            proxy.has_held().await;
            let made = other.claim("new").await.expect("nobody has it").queue;
            let sent = is_used.then(|| append(made, 2, None));
            let changes = sent.into_iter().chain([Change::Release(made)]).collect();
            other.commit(&Group { changes }).await.expect("the server runs");
            proxy.holds_nothing();
        };
        let (renamed, ()) = tokio::join!(desk.commit(vec![rename()]), makes);
        renamed.expect("the server runs");
        let expected: &[_] = if is_used { &[("orders", 1), ("new", 1)] } else { &[("new", 1)] };
        let expected: Vec<_> = expected.iter().map(|(name, waiting)| ((*name).to_owned(), *waiting)).collect();
        assert_eq!(rows(&mut desk).await, expected, "{is_used}");
    }
}

/// The server of a stream with replicas refuses a message before it has stored the earlier ones.
#[tokio::test]
async fn a_rename_waits_for_messages_that_the_server_has_taken_and_not_stored() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::to(server.port()).await;
    let mut desk = Desk::new(&proxy.url()).await;
    let queue = desk.queue;
    let theirs = desk.store.claim("new").await.expect("nobody has it").queue;
    let group = vec![append(queue, 1, None), Change::Release(queue), Change::Release(theirs)];
    desk.commit(group).await.expect("the server runs");
    proxy.changes("wrong last sequence: 0", "wrong last sequence: 1");
    desk.commit(vec![rename()]).await.expect_err("one message is not stored yet");
    proxy.changes_nothing();
    assert_eq!(rows(&mut desk).await, [("orders".to_owned(), 1), ("new".to_owned(), 0)]);
    desk.commit(vec![rename()]).await.expect("it is stored");
    assert_eq!(rows(&mut desk).await, [("new".to_owned(), 1)]);
}

fn rename() -> Change {
    Change::Rename { from: "orders".to_owned(), to: "new".to_owned() }
}

/// The names of the queues, and how many messages wait in each.
async fn rows(desk: &mut Desk) -> Vec<(String, u64)> {
    let rows = desk.store.queues().await.expect("the server runs");
    rows.into_iter().map(|row| (row.name, row.waiting)).collect()
}

/// If a stream has replicas, newer servers have an error of their own for it while the other record is not stored yet.
#[tokio::test]
async fn who_is_told_that_another_record_is_on_its_way_looks_again() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::to(server.port()).await;
    let mut desk = Desk::new(&server.url()).await;
    let (mut other, _) = opened(&proxy.url()).await;
    proxy.changes("\"err_code\":10071", "\"err_code\":10164");
    proxy.holds("PUB sv.shop.state.queue.");
    let faster = async {
        proxy.has_held().await;
        let queue = desk.store.claim("faster").await.expect("nobody has it").queue;
        proxy.holds_nothing();
        queue
    };
    let (claim, faster) = tokio::join!(other.claim("slower"), faster);
    assert_eq!(claim.expect("nobody has it").queue.0, faster.0 + 1);
}

/// Nothing is lost: the process that discards it goes on, or somebody discards it again.
#[tokio::test]
async fn a_claim_says_that_somebody_may_be_discarding_the_queue() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::to(server.port()).await;
    let (mut first, _) = opened(&proxy.url()).await;
    let queue = first.claim("orders").await.expect("nobody has it").queue;
    first.commit(&Group { changes: vec![Change::Release(queue)] }).await.expect("the server runs");
    let discard = Group { changes: vec![Change::DiscardQueue("orders".to_owned())] };
    // Its stream goes first.
    proxy.holds("state.shared.");
    tokio::select! {
        committed = first.commit(&discard) => panic!("it cannot end: {committed:?}"),
        () = proxy.has_held() => {}
    }
    let (mut second, _) = opened(&server.url()).await;
    let error = second.claim("orders").await.expect_err("its stream is gone");
    assert!(error.text.contains("discarding its queue"), "{error}");
    second.commit(&discard).await.expect("the server runs");
    assert_ne!(second.claim("orders").await.expect("it is a new one").queue, queue);
}
