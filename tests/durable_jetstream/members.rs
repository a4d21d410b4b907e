//! Stores that share a queue, and what one of them finds when others have died, or have owned the queue alone.
//!
//! Rules 27.6, 27.11, 27.14, 27.15 and 27.19.

use std::collections::BTreeSet;

use async_nats::jetstream::Context;
use async_nats::jetstream::stream::Stream;
use supervise::durable::{
    Change, Claim, Fate, Group, JetStreamStore, MessageId, MessageStore, Owner, QueueId, Room, Seq, SharedQueues,
    StoreError, StoreErrorKind, Stored, Taken,
};

use crate::proxy::{Passes, Proxy};
use crate::server::Server;
use crate::{Desk, LEASE, append, claims, handled, opened};

fn shared(store: &mut JetStreamStore) -> &mut dyn SharedQueues {
    store.shared().expect("it can share")
}

/// A store that shares the queue `orders`. It waits until nobody owns the queue alone.
pub(crate) async fn member(server: &Server) -> (JetStreamStore, Claim) {
    let (mut store, _) = opened(&server.url()).await;
    let deadline = tokio::time::Instant::now() + LEASE * 20;
    loop {
        match shared(&mut store).share("orders").await {
            Ok(claim) => return (store, claim),
            Err(error) => {
                let may_wait = error.kind == StoreErrorKind::Claimed && tokio::time::Instant::now() < deadline;
                assert!(may_wait, "{error}");
                tokio::time::sleep(LEASE / 10).await;
            }
        }
    }
}

pub(crate) async fn take(
    store: &mut JetStreamStore,
    queue: QueueId,
    in_hand: &[u64],
) -> Result<Taken, StoreError> {
    let in_hand: BTreeSet<Seq> = in_hand.iter().copied().map(Seq).collect();
    let room = Room { messages: 10, bytes: 1 << 20 };
    shared(store).take(queue, &in_hand, room, true).await
}

/// Takes until nothing more comes, and until members that have died have had time to be found dead.
pub(crate) async fn take_all(store: &mut JetStreamStore, queue: QueueId) -> Vec<Stored> {
    let mut all: Vec<Stored> = Vec::new();
    let until = tokio::time::Instant::now() + LEASE * 4;
    while tokio::time::Instant::now() < until {
        let in_hand: Vec<u64> = all.iter().map(|stored| stored.seq.0).collect();
        all.extend(take(store, queue, &in_hand).await.expect("it shares the queue").messages);
        tokio::time::sleep(LEASE / 10).await;
    }
    all.sort_by_key(|stored| stored.seq);
    all
}

pub(crate) async fn commit(store: &mut JetStreamStore, changes: Vec<Change>) {
    store.commit(&Group { changes }).await.expect("the server runs");
}

pub(crate) fn crashes(messages: &[Stored]) -> Vec<(u64, u32)> {
    messages.iter().map(|stored| (stored.seq.0, stored.crashes)).collect()
}

async fn stream(server: &Server, name: &str) -> (Context, Stream) {
    let context = server.context().await;
    let stream = context.get_stream(name).await.expect("there is such a stream");
    (context, stream)
}

#[tokio::test]
async fn a_queue_that_was_owned_alone_is_shared_afterwards_without_a_false_alarm() {
    let Some(server) = Server::start() else { return };
    let mut alone = Desk::new(&server.url()).await;
    let queue = alone.queue;
    alone.commit((1..=5).map(|number| append(queue, number, None)).collect()).await.expect("the server runs");
    alone.commit((1..=3).map(|number| handled(queue, number)).collect()).await.expect("the server runs");
    alone.commit(vec![Change::Release(queue)]).await.expect("the server runs");
    let (mut first, _) = member(&server).await;
    let taken = take(&mut first, queue, &[]).await.expect("nothing is missing");
    assert_eq!(crashes(&taken.messages), [(4, 0), (5, 0)]);
    commit(&mut first, vec![handled(queue, 4), Change::Release(queue)]).await;
    // And back again.
    let claim = claims(&mut alone.store).await.expect("nobody shares it");
    assert_eq!((claim.waiting, claim.begun), (1, None));
    alone.commit(vec![append(queue, 6, None), append(queue, 7, None)]).await.expect("the server runs");
    alone.commit(vec![handled(queue, 5), handled(queue, 6), Change::Release(queue)]).await.expect("it runs");
    let (mut second, _) = member(&server).await;
    let taken = take(&mut second, queue, &[]).await.expect("nothing is missing");
    assert_eq!(crashes(&taken.messages), [(7, 0)]);
}

#[tokio::test]
async fn dur_46_a_death_is_charged_when_the_queue_is_shared_afterwards_or_owned_alone() {
    let Some(server) = Server::start() else { return };
    let mut alone = Desk::new(&server.url()).await;
    let queue = alone.queue;
    alone.commit((1..=3).map(|number| append(queue, number, None)).collect()).await.expect("the server runs");
    drop(alone);
    let (mut first, _) = member(&server).await;
    assert_eq!(crashes(&take_all(&mut first, queue).await), [(1, 1), (2, 0), (3, 0)], "1 may have been begun");
    drop(first);
    let (mut next, _) = opened(&server.url()).await;
    let claim = claims(&mut next).await.expect("the others have died");
    assert_eq!((claim.waiting, claim.begun), (3, None));
    let room = Room { messages: 10, bytes: 1 << 20 };
    let page = next.page(queue, Seq(0), room).await.expect("it is ours");
    assert_eq!(crashes(&page), [(1, 2), (2, 1), (3, 1)], "what the others held is charged");
    drop(next);
    let (mut last, _) = member(&server).await;
    // Suspects come one at a time.
    let taken = take(&mut last, queue, &[]).await.expect("it shares the queue");
    assert_eq!(crashes(&taken.messages), [(1, 3)]);
    drop(last);
    let (mut last, _) = member(&server).await;
    let mut all = take_all(&mut last, queue).await;
    commit(&mut last, all.iter().map(|stored| handled(queue, stored.seq.0)).collect()).await;
    all.extend(take_all(&mut last, queue).await);
    assert_eq!(crashes(&all), [(1, 4), (2, 1), (3, 1)], "2 and 3 were held by nobody");
}

#[tokio::test]
async fn dur_45_a_member_stays_one_while_another_process_asks_for_the_queue_alone() {
    let Some(server) = Server::start() else { return };
    let (mut first, claim) = member(&server).await;
    let queue = claim.queue;
    commit(&mut first, vec![append(queue, 1, None)]).await;
    assert_eq!(crashes(&take(&mut first, queue, &[]).await.expect("it shares the queue").messages), [(1, 0)]);
    // Another process claims the queue alone, and has not yet seen that it is shared.
    let (context, _) = stream(&server, "SV_shop_STATE").await;
    for subject in ["sv.shop.lease", "sv.shop.state.owner"] {
        let sent = context.publish(format!("{subject}.{}", queue.0), "another process".into()).await;
        sent.expect("the server runs").await.expect("the server runs");
    }
    let again = shared(&mut first).share("orders").await.expect("it is a member");
    assert!(again.was_ours, "{again:?}");
    assert_eq!(crashes(&take(&mut first, queue, &[1]).await.expect("it shares the queue").messages), []);
    let (mut second, _) = member(&server).await;
    assert_eq!(crashes(&take_all(&mut second, queue).await), [], "1 is with the first one");
}

#[tokio::test]
async fn a_quarantine_that_a_member_has_begun_is_finished_by_another() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::to(server.port()).await;
    let (mut first, _) = opened(&proxy.url()).await;
    let queue = shared(&mut first).share("orders").await.expect("nobody has it").queue;
    commit(&mut first, (1..=2).map(|number| append(queue, number, None)).collect()).await;
    take(&mut first, queue, &[]).await.expect("it shares the queue");
    let confine = |number| {
        let id = MessageId { queue, seq: Seq(number) };
        Change::Quarantine { id, fate: Fate::Failed, failures: vec!["x".to_owned()] }
    };
    commit(&mut first, vec![confine(2)]).await;
    // It dies between the two steps of the next quarantine.
    proxy.holds("STREAM.MSG.DELETE");
    first.commit(&Group { changes: vec![confine(1)] }).await.expect_err("the server does not hear of it");
    drop(first);
    let (mut second, _) = member(&server).await;
    assert_eq!(crashes(&take_all(&mut second, queue).await), [], "1 is in quarantine");
    let rows = second.queues().await.expect("the server runs");
    assert_eq!((rows[0].waiting, rows[0].quarantined), (0, 2), "{rows:?}");
}

#[tokio::test]
async fn members_that_have_died_do_not_own_the_name_of_a_queue() {
    let Some(server) = Server::start() else { return };
    let (first, _) = member(&server).await;
    let (mut other, _) = opened(&server.url()).await;
    let rows = other.queues().await.expect("the server runs");
    assert!(rows[0].owner.is_some(), "{rows:?}");
    drop(first);
    tokio::time::sleep(LEASE * 2).await;
    let rows = other.queues().await.expect("the server runs");
    assert_eq!(rows[0].owner, None, "it could never be renamed or discarded");
}

/// A message has left the queue, and its member died before it took the charge of that message out of the state.
#[tokio::test]
async fn the_charge_of_a_message_that_is_gone_goes_too() {
    let Some(server) = Server::start() else { return };
    let (mut first, claim) = member(&server).await;
    let queue = claim.queue;
    commit(&mut first, vec![append(queue, 1, None)]).await;
    take(&mut first, queue, &[]).await.expect("it shares the queue");
    let id = MessageId { queue, seq: Seq(1) };
    commit(&mut first, vec![Change::Charged { id, attempts: 1, crashes: 0, failures: vec!["x".to_owned()] }])
        .await;
    let (_, messages) = stream(&server, &format!("SV_shop_Q{}", queue.0)).await;
    messages.delete_message(1).await.expect("it is there");
    drop(first);
    let (mut second, _) = member(&server).await;
    assert_eq!(crashes(&take_all(&mut second, queue).await), []);
    let (_, state) = stream(&server, "SV_shop_STATE").await;
    let left = state.get_last_raw_message_by_subject(&format!("sv.shop.state.charge.{}.1", queue.0)).await;
    assert!(left.is_err(), "{left:?}");
}

#[tokio::test]
async fn dur_45_a_clean_end_charges_nothing_although_the_lease_had_ended() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::to(server.port()).await;
    let (mut first, _) = opened(&proxy.url()).await;
    let queue = shared(&mut first).share("orders").await.expect("nobody has it").queue;
    commit(&mut first, vec![append(queue, 1, None)]).await;
    assert_eq!(crashes(&take(&mut first, queue, &[]).await.expect("it shares the queue").messages), [(1, 0)]);
    // It does not reach the server for longer than its lease, and nobody notices it.
    proxy.lets(Passes::Nothing);
    tokio::time::sleep(LEASE * 2).await;
    proxy.lets(Passes::Both);
    Box::new(first).close().await.expect("the server runs");
    let (mut second, _) = member(&server).await;
    assert_eq!(crashes(&take_all(&mut second, queue).await), [(1, 0)]);
}

/// Each process takes many messages at once.
#[tokio::test]
async fn a_large_window_is_filled_and_emptied_at_once() {
    const MANY: u64 = 3000;
    let Some(server) = Server::start() else { return };
    let (mut first, claim) = member(&server).await;
    let queue = claim.queue;
    commit(&mut first, (1..=MANY).map(|number| append(queue, number, None)).collect()).await;
    let room = Room { messages: 5000, bytes: 1 << 20 };
    let taken = shared(&mut first).take(queue, &BTreeSet::new(), room, true).await.expect("it shares the queue");
    assert_eq!(taken.messages.len() as u64, MANY);
    commit(&mut first, (1..=MANY).map(|number| handled(queue, number)).collect()).await;
    assert_eq!(take(&mut first, queue, &[]).await.expect("it shares the queue").waiting, 0);
}

/// A server that was killed may bring messages back that it has deleted. The record that they were handled is written later, with others.
#[tokio::test]
async fn what_a_member_has_handled_does_not_come_again_when_the_server_brings_it_back() {
    let Some(mut server) = Server::start() else { return };
    let (mut store, claim) = member(&server).await;
    let queue = claim.queue;
    commit(&mut store, (1..=3).map(|number| append(queue, number, None)).collect()).await;
    assert_eq!(take(&mut store, queue, &[]).await.expect("it shares the queue").messages.len(), 3);
    server.save();
    let back = async |store: &mut JetStreamStore| {
        while store.open(&Owner::new("shop")).await.is_err() {}
        assert!(shared(store).share("orders").await.expect("it is a member").was_ours);
    };
    back(&mut store).await;
    commit(&mut store, vec![handled(queue, 1)]).await;
    server.restore_stream(&format!("SV_shop_Q{}", queue.0));
    back(&mut store).await;
    let taken = take(&mut store, queue, &[2, 3]).await.expect("it shares the queue");
    assert_eq!(crashes(&taken.messages), [], "1 was handled");
    assert_eq!(taken.waiting, 2, "1 is deleted again");
}
