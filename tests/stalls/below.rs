//! Actors that wait for an actor above them, or for a sibling of one, which restarts or stops and in turn waits for their end.
//!
//! Rule 14.8.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit;
use supervise::{AskError, SendErrorReason};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// Longer than anything here takes, and shorter than a stop timeout.
const AT_ONCE: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
#[error("bad")]
struct Bad;

#[derive(Default)]
struct Notes {
    /// Lets an actor fail or return.
    gate: Notify,
    answers: Mutex<Vec<Result<u32, AskError>>>,
    refused: Mutex<Vec<SendErrorReason>>,
    counted: Mutex<u32>,
}

/// The actor at the bottom.
#[actor]
struct Clerk {
    notes: Arc<Notes>,
}

#[actor]
impl Clerk {
    #[handler]
    async fn ask(&mut self, office: OfficeRef) {
        let answer = office.count().await;
        self.notes.answers.lock().unwrap().push(answer);
    }

    /// Sends one message more than there is room for.
    #[handler]
    async fn send(&mut self, office: OfficeRef) {
        for _ in 0..3 {
            if let Err(back) = office.count().send().await {
                self.notes.refused.lock().unwrap().push(back.reason());
            }
        }
    }
}

#[actor]
struct Desk {
    notes: Arc<Notes>,
    #[child(|this| { let notes = this.notes.clone(); move || Clerk { notes: notes.clone() } })]
    clerk: Child<Clerk>,
}

#[actor]
impl Desk {
    #[handler]
    fn clerk(&self) -> Child<Clerk> {
        self.clerk.clone()
    }
}

#[actor(mailbox = bounded(2))]
#[supervise(one_for_one, on(_) = Restart)]
struct Office {
    notes: Arc<Notes>,
    #[child(|this| { let notes = this.notes.clone(); move || Desk { notes: notes.clone(), clerk: Child::default() } })]
    desk: Child<Desk>,
}

#[actor]
impl Office {
    #[handler]
    async fn clerk(&self) -> Result<Child<Clerk>, AskError> {
        self.desk.actor().clerk().await
    }

    #[handler]
    fn count(&mut self) -> u32 {
        let mut counted = self.notes.counted.lock().unwrap();
        *counted += 1;
        *counted
    }

    #[handler]
    async fn fail_later(&mut self) -> Result<(), Bad> {
        self.notes.gate.notified().await;
        Err(Bad)
    }

    #[handler]
    async fn rest(&mut self) {
        self.notes.gate.notified().await;
    }

    /// Stops the desk and goes on.
    #[handler]
    async fn stop_desk(&mut self, ctx: &mut Context<Self>) {
        self.notes.gate.notified().await;
        ctx.stop(&self.desk.actor());
    }
}

fn office(notes: &Arc<Notes>) -> impl FnMut() -> Office + Send + 'static + use<> {
    let notes = Arc::clone(notes);
    move || Office { notes: Arc::clone(&notes), desk: Child::default() }
}

/// Opens the gate when all actors are in the middle of what they were told, and waits for what follows.
async fn goes_on(notes: &Notes, system: &testkit::TestSystem) {
    system.settle().await;
    notes.gate.notify_one();
    sleep(AT_ONCE).await;
}

#[test]
fn z_14_8_an_ask_of_an_actor_above_that_restarts_ends() {
    testkit::run(async |system| {
        system.allow_failures();
        let notes = Arc::<Notes>::default();
        let office = system.spawn("office", office(&notes)).unwrap();
        let clerk = office.clerk().await.unwrap();
        office.fail_later().tell().unwrap();
        clerk.actor().ask(office.clone()).tell().unwrap();
        goes_on(&notes, system).await;
        system.expect_restarts(&office, 1).await;
        let answers = notes.answers.lock().unwrap();
        assert!(matches!(answers[..], [Err(AskError::HeldUp(_))]), "{answers:?}");
        assert_eq!(*notes.counted.lock().unwrap(), 1, "the message stayed in the mailbox");
    });
}

#[test]
fn z_14_8_an_ask_of_an_actor_above_that_stops_ends() {
    testkit::run(async |system| {
        system.allow_dead_letters();
        let notes = Arc::<Notes>::default();
        let office = system.spawn("office", office(&notes)).unwrap();
        let clerk = office.clerk().await.unwrap();
        office.rest().tell().unwrap();
        clerk.actor().ask(office.clone()).tell().unwrap();
        system.settle().await;
        office.actor_ref().stop();
        goes_on(&notes, system).await;
        assert!(office.actor_ref().has_ended());
        let answers = notes.answers.lock().unwrap();
        assert!(matches!(answers[..], [Err(AskError::HeldUp(_))]), "{answers:?}");
    });
}

/// The office has room for two messages while it restarts.
#[test]
fn z_14_8_a_sender_gets_room_in_an_actor_above_that_restarts() {
    testkit::run(async |system| {
        system.allow_failures();
        let notes = Arc::<Notes>::default();
        let office = system.spawn("office", office(&notes)).unwrap();
        let clerk = office.clerk().await.unwrap();
        office.fail_later().tell().unwrap();
        clerk.actor().send(office.clone()).tell().unwrap();
        goes_on(&notes, system).await;
        system.expect_restarts(&office, 1).await;
        assert_eq!(*notes.refused.lock().unwrap(), []);
        assert_eq!(*notes.counted.lock().unwrap(), 3);
    });
}

/// The office runs and answers, although it waits for the end of the desk.
#[test]
fn z_14_8_an_actor_above_that_only_stops_a_child_answers() {
    testkit::run(async |system| {
        let notes = Arc::<Notes>::default();
        let office = system.spawn("office", office(&notes)).unwrap();
        let clerk = office.clerk().await.unwrap();
        office.stop_desk().tell().unwrap();
        clerk.actor().ask(office.clone()).tell().unwrap();
        goes_on(&notes, system).await;
        assert!(matches!(notes.answers.lock().unwrap()[..], [Ok(1)]));
    });
}

/// Resumes what fails below it.
#[actor]
#[supervise(one_for_one, on(Panic) = Restart, on(_) = Resume)]
struct Patient {
    notes: Arc<Notes>,
}

#[actor]
impl Patient {
    #[handler]
    fn office(&mut self, ctx: &mut Context<Self>) -> Result<OfficeRef, SpawnError> {
        ctx.spawn("office", office(&self.notes))
    }
}

#[test]
fn z_14_8_an_actor_above_that_resumes_answers() {
    testkit::run(async |system| {
        system.allow_failures();
        let notes = Arc::<Notes>::default();
        let own = Arc::clone(&notes);
        let patient = system.spawn("patient", move || Patient { notes: Arc::clone(&own) }).unwrap();
        let office = patient.office().await.unwrap();
        let clerk = office.clerk().await.unwrap();
        office.fail_later().tell().unwrap();
        clerk.actor().ask(office.clone()).tell().unwrap();
        goes_on(&notes, system).await;
        assert!(matches!(notes.answers.lock().unwrap()[..], [Ok(1)]));
    });
}

/// The hall restarts both when the office fails: first the annex, and with it the clerk at the bottom, then the office.
#[actor]
#[supervise(rest_for_one, on(_) = Restart)]
struct Hall {
    notes: Arc<Notes>,
    #[child(|this| office(&this.notes))]
    office: Child<Office>,
    #[child(|this| { let notes = this.notes.clone(); move || Desk { notes: notes.clone(), clerk: Child::default() } })]
    annex: Child<Desk>,
}

#[actor]
impl Hall {
    #[handler]
    async fn both(&self) -> Result<(Child<Office>, Child<Clerk>), AskError> {
        Ok((self.office.clone(), self.annex.actor().clerk().await?))
    }
}

async fn hall(system: &testkit::TestSystem) -> (Arc<Notes>, OfficeRef, Child<Clerk>) {
    system.allow_failures();
    let notes = Arc::<Notes>::default();
    let own = Arc::clone(&notes);
    let new = move || Hall { notes: Arc::clone(&own), office: Child::default(), annex: Child::default() };
    let hall = system.spawn("hall", new).unwrap();
    let (office, clerk) = hall.both().await.unwrap();
    (notes, office.actor(), clerk)
}

#[test]
fn z_14_8_an_ask_of_a_fellow_of_an_actor_above_ends() {
    testkit::run(async |system| {
        let (notes, office, clerk) = hall(system).await;
        office.fail_later().tell().unwrap();
        clerk.actor().ask(office.clone()).tell().unwrap();
        goes_on(&notes, system).await;
        system.expect_restarts(&office, 1).await;
        let answers = notes.answers.lock().unwrap();
        assert!(matches!(answers[..], [Err(AskError::HeldUp(_))]), "{answers:?}");
        assert_eq!(*notes.counted.lock().unwrap(), 1, "the message stayed in the mailbox");
    });
}

#[test]
fn z_14_8_a_sender_gets_room_in_a_fellow_of_an_actor_above() {
    testkit::run(async |system| {
        let (notes, office, clerk) = hall(system).await;
        office.fail_later().tell().unwrap();
        clerk.actor().send(office.clone()).tell().unwrap();
        goes_on(&notes, system).await;
        system.expect_restarts(&office, 1).await;
        assert_eq!(*notes.refused.lock().unwrap(), []);
        assert_eq!(*notes.counted.lock().unwrap(), 3);
    });
}

/// However deep the asker is, a restart takes no time.
#[test]
fn z_14_8_a_restart_does_not_wait_for_an_asker_below() {
    testkit::run(async |system| {
        let (notes, office, clerk) = hall(system).await;
        office.fail_later().tell().unwrap();
        clerk.actor().ask(office.clone()).tell().unwrap();
        system.settle().await;
        let began = Instant::now();
        notes.gate.notify_one();
        office.count().await.unwrap();
        assert_eq!(began.elapsed(), Duration::ZERO);
    });
}
