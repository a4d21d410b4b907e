//! What an operator does to one actor. Rules 22.7 and 23.8.

use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{AnyActorRef, Event, FailureKind, Intervention, InterventionRefused};

const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
#[error("down")]
struct Down;

#[actor]
struct Till {
    seen: ProbeHandle<String>,
}

#[actor]
impl Till {
    #[pre_start]
    fn open(&mut self) {
        self.seen.note("open".to_owned());
    }

    #[pre_restart]
    fn close(&mut self, cause: &Failure) {
        self.seen.note(format!("closed: {cause}, {:?}", cause.kind()));
    }

    #[handler]
    fn sell(&mut self, what: u32) {
        self.seen.note(format!("sold {what}"));
    }

    #[handler]
    async fn count(&mut self) {
        tokio::time::sleep(SECOND).await;
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Down> {
        Err(Down)
    }
}

#[actor]
#[supervise(all_for_one(max_retries = 1), on(Down) = Restart, on(_) = Stop)]
struct Shop {
    seen: ProbeHandle<String>,
    #[child(|this| { let seen = this.seen.clone(); move || Till { seen: seen.clone() } })]
    first: Child<Till>,
    #[child(|this| { let seen = this.seen.clone(); move || Till { seen: seen.clone() } })]
    second: Child<Till>,
}

#[actor]
impl Shop {
    #[handler]
    fn first(&self) -> TillRef {
        self.first.actor()
    }
}

#[actor]
#[supervise(one_for_one(backoff(min = "10s", max = "1m")), on(_) = Restart)]
struct Stall {
    seen: ProbeHandle<String>,
    #[child(|this| { let seen = this.seen.clone(); move || Till { seen: seen.clone() } })]
    till: Child<Till>,
    #[child(|this| { let seen = this.seen.clone(); move || Till { seen: seen.clone() } }, restart = temporary)]
    casual: Child<Till>,
}

#[actor]
impl Stall {
    #[handler]
    fn till(&self) -> TillRef {
        self.till.actor()
    }
}

fn restarts(system: &TestSystem, actor: &AnyActorRef) -> u32 {
    let mut restarts = None;
    system.look(|glimpse| {
        if glimpse.actor() == actor {
            restarts = Some(glimpse.restarts());
        }
    });
    restarts.expect("it is there")
}

fn restart(system: &TestSystem, actor: &AnyActorRef) -> Result<(), InterventionRefused> {
    system.intervene(actor, restarts(system, actor), Intervention::Restart, "ops")
}

/// Rule 23.8.
#[supervise::test]
async fn con_23_by_hand_the_ref_and_mailbox_stay_and_the_limit_is_not_charged(system: &TestSystem) {
    let seen = system.probe();
    let handle = seen.handle();
    let shop = system
        .spawn("shop", move || Shop { seen: handle.clone(), first: Child::default(), second: Child::default() })
        .unwrap();
    let till = shop.first().await.unwrap();
    let any = till.actor_ref().to_any();
    let uid = any.uid();
    assert_eq!(seen.all().await, ["open", "open"]);
    for _ in 0..3 {
        till.count().tell().unwrap();
        till.sell(1).tell().unwrap();
        restart(system, &any).unwrap();
        system.settle().await;
        system.advance(SECOND).await;
        // Only this actor restarts, once, and the new instance handles the messages that waited.
        assert_eq!(seen.all().await, ["closed: restarted by hand, by ops, ByHand", "open", "sold 1"]);
    }
    assert_eq!((any.uid(), restarts(system, &any)), (uid, 3));
    // The limit is one.
    till.fail().tell().unwrap();
    system.expect_decision(&till).await;
    system.settle().await;
    assert!(!any.has_ended());
    till.fail().tell().unwrap();
    system.expect_decision(&till).await;
    system.expect_terminated(&till).await;
}

/// Rules 22.7 and 23.8.
#[supervise::test]
async fn con_23_by_hand_a_delay_ends_once_and_a_temporary_child_never_restarts(system: &TestSystem) {
    let seen = system.probe();
    let handle = seen.handle();
    let stall = system
        .spawn("stall", move || Stall { seen: handle.clone(), till: Child::default(), casual: Child::default() })
        .unwrap();
    let till = stall.till().await.unwrap();
    let any = till.actor_ref().to_any();
    assert_eq!(seen.all().await, ["open", "open"]);
    let now = Intervention::RestartNow;
    assert_eq!(system.intervene(&any, 0, now, "ops"), Err(InterventionRefused::NotWaiting));
    for what in [Intervention::Restart, now] {
        till.fail().tell().unwrap();
        system.expect_decision(&till).await;
        let seen_by_operator = restarts(system, &any);
        system.intervene(&any, seen_by_operator, what, "ops").unwrap();
        assert_eq!(seen.all().await, ["closed: down, Error", "open"]);
        // The second click comes too late, and so does the timer.
        assert_eq!(system.intervene(&any, seen_by_operator, what, "ops"), Err(InterventionRefused::Changed));
        system.advance(SECOND * 60).await;
        assert_eq!(seen.all().await, [""; 0]);
    }
    let casual = system.find("/user/stall/casual").unwrap();
    assert_eq!(restart(system, &casual), Err(InterventionRefused::NeverRestarts));
    system.intervene(&casual, 0, Intervention::Stop, "ops").unwrap();
    system.expect_terminated(&casual.downcast::<Till>().unwrap()).await;
    assert_eq!(system.intervene(&casual, 0, Intervention::Stop, "ops"), Err(InterventionRefused::Changed));
}

/// Rule 22.7.
#[supervise::test]
async fn con_22_each_intervention_is_an_event_and_the_runtime_is_left_alone(system: &TestSystem) {
    let seen = system.probe();
    let handle = seen.handle();
    let till = system.spawn("till", move || Till { seen: handle.clone() }).unwrap();
    let any = till.actor_ref().to_any();
    for path in ["/", "/user", "/system"] {
        let guardian = system.find(path).unwrap();
        for what in [Intervention::Restart, Intervention::Stop] {
            assert_eq!(system.intervene(&guardian, 0, what, "ops"), Err(InterventionRefused::OfRuntime), "{path}");
        }
    }
    assert_eq!(system.intervene(&any, 7, Intervention::Restart, "ops"), Err(InterventionRefused::Changed));
    let other = ActorSystem::new("other");
    assert_eq!(other.intervene(&any, 0, Intervention::Stop, "ops"), Err(InterventionRefused::Changed));
    other.terminate().await;
    let mut events = system.events().subscribe();
    restart(system, &any).unwrap();
    system.settle().await;
    let mut told = Vec::new();
    while let Some(event) = events.try_recv() {
        match event {
            Event::Intervened { actor, what, by, .. } => told.push(format!("{actor}: {what} by {by}")),
            Event::Restarted { failure, .. } => told.push(format!("{:?}", failure.kind())),
            _ => {}
        }
    }
    assert_eq!(told, [format!("{}: restart by ops", any.path()), format!("{:?}", FailureKind::ByHand)]);
}
