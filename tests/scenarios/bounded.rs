//! Bounded mailboxes: what takes up room, and which senders wait for it.
//!
//! Rule 1.6.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use supervise::pattern::Pool;
use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{MailboxKind, Overflow, Props, SendErrorReason};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// Has room for two.
#[actor(mailbox = bounded(2))]
struct Desk {
    gate: Arc<Notify>,
    open: bool,
    seen: ProbeHandle<u32>,
}

#[actor]
impl Desk {
    #[stash_while]
    fn is_shut(&self, message: &DeskMessage) -> bool {
        !self.open && matches!(message, DeskMessage::Show { .. })
    }

    #[handler]
    fn show(&mut self, what: u32) {
        self.seen.note(what);
    }

    #[handler]
    fn shut(&mut self, open: bool) {
        self.open = open;
    }

    /// Tells itself as many messages as there is room for.
    #[handler]
    fn fill_up(&mut self, ctx: &mut Context<Self>) {
        let me = ctx.me();
        let refused = (10..).map(|what| me.show(what).tell()).find_map(Result::err);
        assert_eq!(refused.unwrap().reason(), SendErrorReason::MailboxFull);
    }

    #[handler]
    async fn wait(&mut self) {
        self.gate.notified().await;
    }
}

/// Has room for many.
#[actor(mailbox = bounded(1000))]
struct Hall;

#[actor]
impl Hall {
    const ROOM: u32 = 1000;

    #[handler]
    fn enter(&mut self, _who: u32) {}
}

fn desk(system: &TestSystem, gate: &Arc<Notify>, seen: ProbeHandle<u32>) -> DeskRef {
    let gate = Arc::clone(gate);
    let factory = move || Desk { gate: Arc::clone(&gate), open: true, seen: seen.clone() };
    system.spawn("desk", factory).unwrap()
}

#[supervise::test]
async fn who_sends_again_and_again_lets_others_have_their_turn(system: &TestSystem) {
    let hall = system.spawn("hall", || Hall).unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let other = Arc::clone(&over);
    let task = tokio::spawn(async move { other.store(true, Ordering::SeqCst) });
    for what in 0..Hall::ROOM {
        hall.enter(what).send().await.unwrap();
    }
    assert!(over.load(Ordering::SeqCst), "there was always room, so it never had to wait");
    task.await.unwrap();
}

#[supervise::test]
async fn what_is_being_handled_takes_no_room_and_what_waits_behind_it_does(system: &TestSystem) {
    let (gate, probe) = (Arc::default(), system.probe());
    let desk = desk(system, &gate, probe.handle());
    desk.fill_up().tell().unwrap();
    desk.show(1).tell().unwrap();
    for what in [1, 10] {
        probe.expect(what).await;
    }
    probe.expect_none().await;
}

#[supervise::test]
async fn what_is_set_aside_takes_no_room(system: &TestSystem) {
    let (gate, probe) = (Arc::default(), system.probe());
    let desk = desk(system, &gate, probe.handle());
    desk.shut(false).await.unwrap();
    for what in 0..6 {
        desk.show(what).tell().unwrap();
        system.settle().await;
    }
    desk.shut(true).tell().unwrap();
    desk.fill_up().tell().unwrap();
    for what in [0, 1, 2, 3, 4, 5, 10, 11] {
        probe.expect(what).await;
    }
    probe.expect_none().await;
}

#[supervise::test]
async fn who_waits_for_room_is_let_in_while_a_handler_waits(system: &TestSystem) {
    let (gate, probe) = (Arc::new(Notify::new()), system.probe());
    let desk = desk(system, &gate, probe.handle());
    desk.wait().tell().unwrap();
    desk.wait().tell().unwrap();
    let sends: Vec<_> = (0..2)
        .map(|what| {
            let desk = desk.clone();
            tokio::spawn(async move { desk.show(what).send().await.unwrap() })
        })
        .collect();
    system.settle().await;
    assert_eq!(sends.iter().map(JoinHandle::is_finished).collect::<Vec<_>>(), [true, false]);
    gate.notify_one();
    system.settle().await;
    assert!(sends.iter().all(JoinHandle::is_finished));
    gate.notify_one();
    for what in [0, 1] {
        probe.expect(what).await;
    }
}

#[supervise::test]
async fn who_gives_up_leaves_its_place_to_the_next(system: &TestSystem) {
    let (gate, probe) = (Arc::new(Notify::new()), system.probe());
    let desk = desk(system, &gate, probe.handle());
    desk.wait().tell().unwrap();
    system.settle().await;
    for what in 0..2 {
        desk.show(what).tell().unwrap();
    }
    let send = |what| {
        let desk = desk.clone();
        tokio::spawn(async move { desk.show(what).send().await.unwrap() })
    };
    let (gives_up, stays) = (send(2), send(3));
    system.settle().await;
    gives_up.abort();
    system.settle().await;
    gate.notify_one();
    stays.await.unwrap();
    for what in [0, 1, 3] {
        probe.expect(what).await;
    }
    probe.expect_none().await;
}

/// Rule 1.6: where a capacity comes from the settings, it is given where the actor is made.
#[supervise::test]
async fn a_capacity_may_be_given_where_the_actor_is_made(system: &TestSystem) {
    let capacity = "3".parse().expect("a number");
    let mailbox = MailboxKind::Bounded { capacity, overflow: Overflow::Fail };
    let gate = Arc::new(Notify::new());
    let seen = system.probe();
    let make = {
        let (gate, seen) = (Arc::clone(&gate), seen.handle());
        move || Desk { gate: Arc::clone(&gate), open: true, seen: seen.clone() }
    };
    let spawned = system.spawn_with("desk", Props::new(make.clone()).mailbox(mailbox)).unwrap();
    let pool = Pool::round_robin(1, move || Props::new(make.clone()).mailbox(mailbox)).props();
    let pool = system.spawn_with("pool", pool).unwrap();
    let worker = pool.actor_ref().workers().await.unwrap().remove(0);
    for desk in [&spawned, &worker] {
        desk.wait().tell().unwrap();
        system.settle().await;
        let room = (0..10).take_while(|&what| desk.show(what).tell().is_ok()).count();
        assert_eq!(room, 3);
        gate.notify_one();
        system.settle().await;
        assert_eq!(seen.all().await, [0, 1, 2]);
    }
}
