//! Members of a group that restarts or stops in field order, while the code of one waits for another one that is suspended.
//!
//! Rule 14.8.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit;
use supervise::{AskError, SendErrorReason};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// What happened, in order.
type Seen<T> = Arc<Mutex<Vec<T>>>;

#[derive(Debug, thiserror::Error)]
#[error("a bad item")]
struct Bad;

/// Longer than anything here takes, and shorter than a stop timeout.
const AT_ONCE: Duration = Duration::from_secs(1);

// ---- a pipeline: reader → parser → writer --------------------------------------------------------------------------

#[actor(mailbox = bounded(4))]
struct Writer {
    written: Seen<u64>,
}

#[actor]
impl Writer {
    #[handler]
    async fn write(&mut self, item: u64) {
        sleep(Duration::from_millis(1)).await;
        self.written.lock().unwrap().push(item);
    }
}

#[actor(mailbox = bounded(4))]
struct Parser {
    #[child(given)]
    writer: Child<Writer>,
}

#[actor]
impl Parser {
    #[handler]
    async fn parse(&mut self, item: u64) -> Result<(), Bad> {
        if item % 50 == 49 {
            return Err(Bad);
        }
        self.writer.actor().write(item).send().await.expect("the writer lives");
        Ok(())
    }
}

#[actor(mailbox = bounded(4))]
struct Reader {
    #[child(given)]
    parser: Child<Parser>,
    refused: Seen<(u64, SendErrorReason)>,
}

#[actor]
impl Reader {
    #[handler]
    async fn read(&mut self, first: u64, items: u64) {
        for item in first..first + items {
            if let Err(back) = self.parser.actor().parse(item).send().await {
                self.refused.lock().unwrap().push((item, back.reason()));
            }
        }
    }
}

#[actor]
#[supervise(rest_for_one, on(_) = Restart)]
struct Line {
    written: Seen<u64>,
    refused: Seen<(u64, SendErrorReason)>,
    #[child(|this| { let written = this.written.clone(); move || Writer { written: written.clone() } })]
    writer: Child<Writer>,
    #[child(|this| { let writer = this.writer.clone(); move || Parser { writer: writer.clone() } })]
    parser: Child<Parser>,
    #[child(|this| {
        let (parser, refused) = (this.parser.clone(), this.refused.clone());
        move || Reader { parser: parser.clone(), refused: refused.clone() }
    })]
    reader: Child<Reader>,
}

#[actor]
impl Line {
    #[handler]
    fn reader(&self) -> Child<Reader> {
        self.reader.clone()
    }

    #[handler]
    fn break_down(&self) -> Result<(), Bad> {
        Err(Bad)
    }
}

async fn line(system: &testkit::TestSystem) -> (LineRef, Child<Reader>, Seen<u64>, Seen<(u64, SendErrorReason)>) {
    let (written, refused) = (Seen::default(), Seen::default());
    let line = {
        let (written, refused) = (Arc::clone(&written), Arc::clone(&refused));
        system.spawn("line", move || Line {
            written: Arc::clone(&written),
            refused: Arc::clone(&refused),
            writer: Child::default(),
            parser: Child::default(),
            reader: Child::default(),
        })
    }
    .unwrap();
    let reader = line.reader().await.unwrap();
    (line, reader, written, refused)
}

/// The reader waits for room in the parser when that fails, and is to restart before it.
#[test]
fn z_14_8_a_pipeline_restarts_at_once_and_loses_only_what_fails() {
    testkit::run(async |system| {
        system.allow_failures();
        let (_line, reader, written, refused) = line(system).await;
        let began = Instant::now();
        for item in 0..200 {
            reader.actor().read(item, 1).send().await.unwrap();
        }
        system.settle().await;
        sleep(AT_ONCE).await;
        let good: Vec<u64> = (0..200).filter(|item| item % 50 != 49).collect();
        assert_eq!(*written.lock().unwrap(), good, "none is lost, and none overtakes another");
        assert_eq!(*refused.lock().unwrap(), []);
        assert!(began.elapsed() < 2 * AT_ONCE, "it took {:?}", began.elapsed());
    });
}

/// One handler sends more than the suspended parser may keep. It gets the rest back, so nothing grows without bound.
#[test]
fn z_14_8_a_suspended_stage_keeps_at_most_twice_its_bound() {
    testkit::run(async |system| {
        system.allow_failures();
        let (_line, reader, written, refused) = line(system).await;
        let began = Instant::now();
        reader.actor().read(49, 100).send().await.unwrap();
        reader.actor().read(500, 1).await.unwrap();
        assert!(began.elapsed() < AT_ONCE, "it took {:?}", began.elapsed());
        sleep(AT_ONCE).await;
        // Item 49 fails, and 8 items fit.
        let kept: Vec<u64> = (50..58).chain([500]).collect();
        assert_eq!(*written.lock().unwrap(), kept);
        let refused = refused.lock().unwrap();
        assert_eq!(refused.iter().map(|(item, _)| *item).collect::<Vec<_>>(), (58..149).collect::<Vec<_>>());
        assert!(refused.iter().all(|(_, why)| *why == SendErrorReason::MailboxFull));
    });
}

/// The supervisor of the line fails, so all stages are suspended, and stop one after another.
#[test]
fn z_14_8_a_line_that_is_suspended_stops_at_once() {
    testkit::run(async |system| {
        system.allow_failures();
        system.allow_dead_letters();
        let (line, reader, _written, refused) = line(system).await;
        reader.actor().read(0, 40).tell().unwrap();
        // The reader waits for room.
        sleep(Duration::from_millis(5)).await;
        line.break_down().tell().unwrap();
        sleep(AT_ONCE).await;
        system.expect_restarts(&line, 1).await;
        assert!(!refused.lock().unwrap().is_empty());
    });
}

// ---- asks: the top asks the middle, which asks the base --------------------------------------------------------------

#[derive(Default)]
struct Notes {
    /// Lets the base fail.
    gate: Notify,
    answers: Mutex<Vec<Result<u32, AskError>>>,
    handled: Mutex<u32>,
}

impl Notes {
    /// Keeps an answer. Returns it, or 0 for an error.
    fn keep(&self, answer: Result<u32, AskError>) -> u32 {
        self.answers.lock().unwrap().push(answer.clone());
        answer.unwrap_or(0)
    }

    /// Lets the base fail when all actors are in the middle of what they were told, and waits for what follows.
    async fn base_fails(&self, system: &testkit::TestSystem) {
        system.settle().await;
        self.gate.notify_one();
        sleep(AT_ONCE).await;
    }
}

#[actor]
struct Base {
    notes: Arc<Notes>,
}

#[actor]
impl Base {
    #[handler]
    async fn fail_later(&mut self) -> Result<(), Bad> {
        self.notes.gate.notified().await;
        Err(Bad)
    }

    #[handler]
    async fn rest(&mut self) {
        sleep(Duration::from_millis(50)).await;
    }

    #[handler]
    fn get(&mut self) -> u32 {
        *self.notes.handled.lock().unwrap() += 1;
        7
    }
}

#[actor]
struct Middle {
    #[child(given)]
    base: Child<Base>,
    notes: Arc<Notes>,
}

#[actor]
impl Middle {
    #[handler]
    async fn get(&mut self) -> u32 {
        self.notes.keep(self.base.actor().get().await)
    }

    #[handler]
    async fn compute(&mut self) -> u32 {
        sleep(Duration::from_millis(50)).await;
        8
    }
}

#[actor]
struct Top {
    #[child(given)]
    middle: Child<Middle>,
    notes: Arc<Notes>,
}

#[actor]
impl Top {
    #[handler]
    async fn get(&mut self) -> u32 {
        self.notes.keep(self.middle.actor().get().await)
    }

    #[handler]
    async fn compute(&mut self) -> u32 {
        self.notes.keep(self.middle.actor().compute().await)
    }

    #[handler]
    async fn compute_last(&mut self) -> u32 {
        sleep(Duration::from_millis(20)).await;
        self.notes.keep(self.middle.actor().compute().await)
    }
}

#[actor]
#[supervise(rest_for_one, on(_) = Restart)]
struct Tower {
    notes: Arc<Notes>,
    #[child(|this| { let notes = this.notes.clone(); move || Base { notes: notes.clone() } })]
    base: Child<Base>,
    #[child(|this| {
        let (base, notes) = (this.base.clone(), this.notes.clone());
        move || Middle { base: base.clone(), notes: notes.clone() }
    })]
    middle: Child<Middle>,
    #[child(|this| {
        let (middle, notes) = (this.middle.clone(), this.notes.clone());
        move || Top { middle: middle.clone(), notes: notes.clone() }
    })]
    top: Child<Top>,
}

#[actor]
impl Tower {
    #[handler]
    fn all(&self) -> (Child<Base>, Child<Middle>, Child<Top>) {
        (self.base.clone(), self.middle.clone(), self.top.clone())
    }
}

async fn tower(system: &testkit::TestSystem) -> (Arc<Notes>, Child<Base>, Child<Middle>, Child<Top>) {
    system.allow_failures();
    let notes = Arc::<Notes>::default();
    let own = Arc::clone(&notes);
    let tower = system
        .spawn("tower", move || Tower {
            notes: Arc::clone(&own),
            base: Child::default(),
            middle: Child::default(),
            top: Child::default(),
        })
        .unwrap();
    let (base, middle, top) = tower.all().await.unwrap();
    (notes, base, middle, top)
}

/// The base cannot answer before the middle's handler has returned, so the ask ends. The message stays in the mailbox.
#[test]
fn z_14_8_an_ask_of_a_fellow_that_is_to_restart_ends() {
    testkit::run(async |system| {
        let (notes, base, middle, _top) = tower(system).await;
        base.actor().fail_later().tell().unwrap();
        middle.actor().get().tell().unwrap();
        notes.base_fails(system).await;
        system.expect_restarts(&middle.actor(), 1).await;
        let answers = notes.answers.lock().unwrap();
        assert!(matches!(answers[..], [Err(AskError::HeldUp(_))]), "{answers:?}");
        assert_eq!(*notes.handled.lock().unwrap(), 1, "the message stayed in the mailbox");
    });
}

/// The actor that restarts first waits for the base only through another one.
#[test]
fn z_14_8_a_chain_of_asks_ends_from_its_end() {
    testkit::run(async |system| {
        let (notes, base, middle, top) = tower(system).await;
        base.actor().fail_later().tell().unwrap();
        top.actor().get().tell().unwrap();
        notes.base_fails(system).await;
        system.expect_restarts(&top.actor(), 1).await;
        let answers = notes.answers.lock().unwrap();
        assert!(matches!(answers[..], [Err(AskError::HeldUp(_)), Ok(0)]), "{answers:?}");
        drop(middle);
    });
}

/// When the group is suspended, the middle is already handling the top's message, so the answer comes.
#[test]
fn z_14_8_an_ask_that_is_being_handled_is_answered() {
    testkit::run(async |system| {
        let (notes, base, _middle, top) = tower(system).await;
        base.actor().fail_later().tell().unwrap();
        top.actor().compute().tell().unwrap();
        notes.base_fails(system).await;
        system.expect_restarts(&top.actor(), 1).await;
        let answers = notes.answers.lock().unwrap();
        assert!(matches!(answers[..], [Ok(8)]), "{answers:?}");
    });
}

/// The top asks only when the group has been suspended. The middle is busy then, and its suspension is noticed later.
#[test]
fn z_14_8_an_ask_that_begins_later_or_waits_behind_a_busy_handler_ends() {
    testkit::run(async |system| {
        let (notes, base, middle, top) = tower(system).await;
        base.actor().fail_later().tell().unwrap();
        middle.actor().compute().tell().unwrap();
        top.actor().compute_last().tell().unwrap();
        notes.base_fails(system).await;
        system.expect_restarts(&top.actor(), 1).await;
        let answers = notes.answers.lock().unwrap();
        assert!(matches!(answers[..], [Err(AskError::HeldUp(_))]), "{answers:?}");
    });
}

// ---- other restarts and stops in line --------------------------------------------------------------------------------

/// Like the tower, with a table of its own.
macro_rules! tower_with {
    ($name:ident, $($table:tt)*) => {
        #[actor]
        #[supervise($($table)*)]
        struct $name {
            notes: Arc<Notes>,
            #[child(|this| { let notes = this.notes.clone(); move || Base { notes: notes.clone() } })]
            base: Child<Base>,
            #[child(|this| {
                let (base, notes) = (this.base.clone(), this.notes.clone());
                move || Middle { base: base.clone(), notes: notes.clone() }
            })]
            middle: Child<Middle>,
        }

        #[actor]
        impl $name {
            #[handler]
            fn all(&self) -> (Child<Base>, Child<Middle>) {
                (self.base.clone(), self.middle.clone())
            }
        }

        impl $name {
            fn new(notes: &Arc<Notes>) -> impl FnMut() -> Self + Send + 'static + use<> {
                let notes = Arc::clone(notes);
                move || Self { notes: Arc::clone(&notes), base: Child::default(), middle: Child::default() }
            }
        }
    };
}

tower_with!(Slow, rest_for_one(backoff(min = "20s", max = "20s")), on(_) = Restart);
tower_with!(Strict, rest_for_one, on(_) = Stop);

/// The base restarts only after the delay, and only after the middle's handler has returned.
#[test]
fn z_14_8_an_ask_does_not_wait_for_a_delayed_restart_of_its_own_group() {
    testkit::run(async |system| {
        system.allow_failures();
        let notes = Arc::<Notes>::default();
        let slow = system.spawn("slow", Slow::new(&notes)).unwrap();
        let (base, middle) = slow.all().await.unwrap();
        base.actor().fail_later().tell().unwrap();
        middle.actor().get().tell().unwrap();
        notes.base_fails(system).await;
        assert!(matches!(notes.answers.lock().unwrap()[..], [Err(AskError::HeldUp(_))]));
        sleep(Duration::from_secs(19) + AT_ONCE).await;
        system.expect_restarts(&middle.actor(), 1).await;
    });
}

/// The middle is asked to stop first, and the base, which is suspended, when the middle has ended.
#[test]
fn z_14_8_an_ask_of_a_failed_fellow_that_stops_later_ends() {
    testkit::run(async |system| {
        system.allow_failures();
        system.allow_dead_letters();
        let notes = Arc::<Notes>::default();
        let strict = system.spawn("strict", Strict::new(&notes)).unwrap();
        let (base, middle) = strict.all().await.unwrap();
        base.actor().fail_later().tell().unwrap();
        middle.actor().get().tell().unwrap();
        notes.base_fails(system).await;
        assert!(base.actor().actor_ref().has_ended() && middle.actor().actor_ref().has_ended());
        assert!(matches!(notes.answers.lock().unwrap()[..], [Err(AskError::HeldUp(_))]));
    });
}

/// Both run when their supervisor is told to stop, so the base answers first.
#[test]
fn z_14_8_a_running_fellow_answers_before_it_stops() {
    testkit::run(async |system| {
        system.allow_failures();
        let notes = Arc::<Notes>::default();
        let strict = system.spawn("strict", Strict::new(&notes)).unwrap();
        let (base, middle) = strict.all().await.unwrap();
        base.actor().rest().tell().unwrap();
        middle.actor().get().tell().unwrap();
        system.settle().await;
        strict.actor_ref().stop();
        system.expect_terminated(&strict).await;
        assert!(matches!(notes.answers.lock().unwrap()[..], [Ok(7)]));
    });
}
