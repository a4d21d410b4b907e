//! The races of a mailbox: each model is tried in every interleaving of its threads, up to a number of preemptions, and with
//! every value that a relaxed load may see.
//!
//! A thread that gets the runner runs it at once. No thread waits or looks again later, so a lost wake-up leaves a
//! message unhandled.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll};

use loom::future::block_on;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;

use super::{Chunk, Entry, Mailbox, MailboxKind, Overflow, Pushed};

/// What a message in the system lane asks for.
#[derive(Debug)]
enum System {
    Nothing,
    Suspend,
    Resume,
    Stop,
}

/// What the runtime puts among the messages.
#[derive(Debug)]
struct Control;

/// The outcome of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Handled,
    /// In the mailbox when it closed.
    Left,
    /// To its sender, because the mailbox was closed.
    GivenBack,
    Full,
    Displaced,
    /// By its sender, who would have had to wait.
    GivenUp,
}

/// A cell that is reduced to its mailbox, and its senders.
struct Cell {
    mailbox: Mailbox<u32, Control, System, Runner>,
    /// Of std, so that it orders nothing in the model.
    ended_as: Mutex<Vec<(u32, Fate)>>,
    system_handled: Mutex<usize>,
    /// Stands for a timer or a future.
    due: AtomicBool,
    due_seen: Mutex<bool>,
}

/// What takes turns.
#[derive(Debug)]
struct Runner {
    accepts: bool,
    stopped: bool,
    taken: Chunk<u32, Control>,
}

impl Runner {
    fn new() -> Self {
        Self { accepts: true, stopped: false, taken: Chunk::new() }
    }

    fn suspended() -> Self {
        Self { accepts: false, ..Self::new() }
    }
}

fn noted<T>(book: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for room, in order.
fn push_when_room<'a>(
    mailbox: &'a Mailbox<u32, Control, System, Runner>,
    message: u32,
) -> impl Future<Output = Result<Option<Runner>, u32>> + use<'a> {
    let mut place = mailbox.place();
    let mut message = Some(std::cell::Cell::new(message));
    poll_fn(move |cx| place.poll(&mut message, cx))
}

impl Cell {
    fn new(kind: MailboxKind) -> Arc<Self> {
        Arc::new(Self {
            mailbox: Mailbox::new(kind),
            ended_as: Mutex::default(),
            system_handled: Mutex::default(),
            due: AtomicBool::new(false),
            due_seen: Mutex::default(),
        })
    }

    fn unbounded() -> Arc<Self> {
        Self::new(MailboxKind::Unbounded)
    }

    fn bounded(overflow: Overflow) -> Arc<Self> {
        Self::new(MailboxKind::Bounded { capacity: 1, overflow })
    }

    // ---- the runner ----------------------------------------------------------------------------------------------

    /// Takes turns until there is nothing to do, as a carrier does.
    fn run(&self, mut runner: Runner) {
        loop {
            self.turn(&mut runner);
            if runner.stopped {
                return;
            }
            self.mailbox.set_accepts(runner.accepts);
            match self.mailbox.park(runner) {
                Ok(()) => return,
                Err(again) => runner = again,
            }
        }
    }

    fn turn(&self, runner: &mut Runner) {
        if self.due.load(Ordering::Relaxed) {
            *noted(&self.due_seen) = true;
        }
        while !runner.stopped {
            if self.mailbox.senders_wait() {
                self.mailbox.let_senders_in();
            }
            if self.mailbox.system_waits() {
                let message = self.mailbox.take_system(&mut false).expect("it waits");
                self.system(runner, message);
                continue;
            }
            if !runner.accepts {
                return;
            }
            if runner.taken.is_empty() {
                self.mailbox.take_user(&mut runner.taken);
            }
            let entry = match runner.taken.pop_control() {
                Some(control) => Entry::Control(control),
                None if runner.taken.is_empty() => return,
                None => Entry::Message(self.mailbox.begin_next(&mut runner.taken)),
            };
            self.note_entry(entry, Fate::Handled);
        }
    }

    fn system(&self, runner: &mut Runner, message: System) {
        *noted(&self.system_handled) += 1;
        match message {
            System::Nothing => {}
            System::Suspend => runner.accepts = false,
            System::Resume => runner.accepts = true,
            System::Stop => {
                let mut user = self.mailbox.close_user_lane();
                let mut system = self.mailbox.close_system_lane();
                *noted(&self.system_handled) += std::iter::from_fn(|| system.pop()).count();
                while let Some(entry) = runner.taken.pop().or_else(|| user.pop()) {
                    self.note_entry(entry, Fate::Left);
                }
                runner.stopped = true;
            }
        }
    }

    // ---- senders -------------------------------------------------------------------------------------------------

    fn run_if_given(&self, runner: Option<Runner>) {
        if let Some(runner) = runner {
            self.run(runner);
        }
    }

    fn tell(&self, message: u32) {
        match self.mailbox.enter().push(message) {
            Pushed::Taken(runner) => self.run_if_given(runner),
            Pushed::Displaced(message) => self.note(message, Fate::Displaced),
            Pushed::Full(message) => self.note(message, Fate::Full),
            Pushed::Closed(message) => self.note(message, Fate::GivenBack),
        }
    }

    fn send(&self, message: u32) {
        match block_on(push_when_room(&self.mailbox, message)) {
            Ok(runner) => self.run_if_given(runner),
            Err(message) => self.note(message, Fate::GivenBack),
        }
    }

    fn send_at_once_or_never(&self, message: u32) {
        let mut send = pin!(push_when_room(&self.mailbox, message));
        match send.as_mut().poll(&mut TaskContext::from_waker(std::task::Waker::noop())) {
            Poll::Ready(Ok(runner)) => self.run_if_given(runner),
            Poll::Ready(Err(message)) => self.note(message, Fate::GivenBack),
            Poll::Pending => self.note(message, Fate::GivenUp),
        }
    }

    /// Counted as handled too if it is given back, so that each is counted once.
    fn tell_system(&self, message: System) {
        match self.mailbox.push_system(message) {
            Ok(runner) => self.run_if_given(runner),
            Err(_given_back) => *noted(&self.system_handled) += 1,
        }
    }

    /// Gives the runner a system message in hand if it is idle.
    fn report(&self) {
        match self.mailbox.take_idle() {
            Some(mut runner) => {
                self.system(&mut runner, System::Nothing);
                self.run(runner);
            }
            None => self.tell_system(System::Nothing),
        }
    }

    /// The number of a control in the book.
    const CONTROL: u32 = 100;

    fn control(&self) {
        match self.mailbox.push_control(Control) {
            Ok(runner) => self.run_if_given(runner),
            Err(_given_back) => self.note(Self::CONTROL, Fate::GivenBack),
        }
    }

    // ---- the outcome ---------------------------------------------------------------------------------------------

    fn note(&self, message: u32, fate: Fate) {
        noted(&self.ended_as).push((message, fate));
    }

    fn note_entry(&self, entry: Entry<u32, Control>, fate: Fate) {
        match entry {
            Entry::Message(message) => self.note(message, fate),
            Entry::Control(_) => self.note(Self::CONTROL, fate),
        }
    }

    /// The messages that ended so, in that order.
    fn all(&self, fate: Fate) -> Vec<u32> {
        noted(&self.ended_as).iter().filter(|(_, ended)| *ended == fate).map(|(message, _)| *message).collect()
    }

    /// Each of these messages has exactly one outcome.
    fn assert_each_once(&self, messages: &[u32]) {
        let mut seen: Vec<_> = noted(&self.ended_as).iter().map(|(message, _)| *message).collect();
        seen.sort_unstable();
        assert_eq!(seen, messages, "{:?}", noted(&self.ended_as));
    }

    /// All threads are done, so it must be in the place where it waits.
    fn assert_parked(&self) {
        assert!(self.mailbox.unpark().is_some(), "the runner is lost");
    }
}

/// Lets these run at the same time, the last of them in this thread.
macro_rules! at_once {
    ($cell:ident: $($code:expr),+ ; $here:expr) => {{
        let threads = [$({
            let $cell = Arc::clone(&$cell);
            thread::spawn(move || $code)
        }),+];
        $here;
        for thread in threads {
            thread.join().unwrap();
        }
    }};
}

#[test]
fn a_message_that_comes_while_the_runner_parks_is_handled() {
    loom::model(|| {
        let cell = Cell::unbounded();
        at_once!(cell: { cell.tell(0); cell.tell(1) }, cell.tell(2); cell.run(Runner::new()));
        cell.assert_each_once(&[0, 1, 2]);
        let handled = cell.all(Fate::Handled);
        assert!(handled.iter().position(|at| *at == 0) < handled.iter().position(|at| *at == 1), "{handled:?}");
        cell.assert_parked();
    });
}

#[test]
fn system_messages_reach_a_runner_that_waits_for_nothing_else() {
    loom::model(|| {
        let cell = Cell::unbounded();
        at_once!(cell: cell.tell_system(System::Nothing), cell.tell_system(System::Nothing); cell.run(Runner::suspended()));
        assert_eq!(*noted(&cell.system_handled), 2);
        assert!(!cell.mailbox.system_waits());
        cell.assert_parked();
    });
}

#[test]
fn an_idle_runner_that_is_taken_out_misses_nothing() {
    loom::model(|| {
        let cell = Cell::unbounded();
        at_once!(
            cell: cell.report(), { cell.tell_system(System::Suspend); cell.tell_system(System::Resume); cell.tell(0) };
            cell.run(Runner::new())
        );
        assert_eq!(*noted(&cell.system_handled), 3);
        assert_eq!(cell.all(Fate::Handled), [0]);
        cell.assert_parked();
    });
}

#[test]
fn a_message_waits_for_a_suspended_runner() {
    loom::model(|| {
        let cell = Cell::unbounded();
        at_once!(cell: cell.tell(0), cell.tell_system(System::Nothing); cell.run(Runner::suspended()));
        assert_eq!(*noted(&cell.system_handled), 1);
        cell.assert_each_once(&[]);
        assert_eq!(cell.mailbox.pending(), 1);
        cell.assert_parked();
    });
}

#[test]
fn what_came_while_suspended_is_handled_once_resumed() {
    loom::model(|| {
        let cell = Cell::unbounded();
        at_once!(cell: cell.tell(0), cell.tell_system(System::Resume); cell.run(Runner::suspended()));
        assert_eq!(cell.all(Fate::Handled), [0]);
        cell.assert_parked();
    });
}

#[test]
fn a_suspension_loses_nothing_that_comes_meanwhile() {
    loom::model(|| {
        let cell = Cell::unbounded();
        at_once!(
            cell: { cell.tell(0); cell.tell(1) }, { cell.tell_system(System::Suspend); cell.tell_system(System::Resume) };
            cell.run(Runner::new())
        );
        assert_eq!(cell.all(Fate::Handled), [0, 1]);
        assert_eq!(*noted(&cell.system_handled), 2);
        cell.assert_parked();
    });
}

#[test]
fn what_a_closing_mailbox_does_not_leave_is_given_back() {
    loom::model(|| {
        let cell = Cell::unbounded();
        at_once!(cell: { cell.tell(0); cell.tell(1) }, cell.tell_system(System::Stop); cell.run(Runner::new()));
        cell.assert_each_once(&[0, 1]);
        assert!(cell.mailbox.unpark().is_none(), "it has ended");
        // In order, whatever the moment.
        assert!(!cell.all(Fate::GivenBack).contains(&0) || cell.all(Fate::GivenBack).contains(&1));
    });
}

#[test]
fn controls_and_system_messages_are_left_or_given_back_too() {
    loom::model(|| {
        let cell = Cell::unbounded();
        at_once!(cell: cell.control(), cell.tell_system(System::Nothing); {
            cell.run(Runner::new());
            cell.tell_system(System::Stop);
        });
        cell.assert_each_once(&[Cell::CONTROL]);
        assert_eq!(*noted(&cell.system_handled), 2);
    });
}

#[test]
fn who_is_woken_while_it_runs_takes_another_turn() {
    loom::model(|| {
        let cell = Cell::unbounded();
        let wake = |cell: &Cell| {
            cell.due.store(true, Ordering::Relaxed);
            cell.run_if_given(cell.mailbox.wake());
        };
        at_once!(cell: wake(&cell), cell.tell(0); cell.run(Runner::suspended()));
        assert!(*noted(&cell.due_seen), "nobody looked");
        cell.assert_parked();
    });
}

#[test]
fn a_parked_runner_is_given_to_one() {
    loom::model(|| {
        let cell = Cell::unbounded();
        cell.run(Runner::new());
        let given = |runner: Option<Runner>| usize::from(runner.is_some());
        let (first, second, third) = (Arc::clone(&cell), Arc::clone(&cell), &cell);
        let first = thread::spawn(move || match first.mailbox.enter().push(0) {
            Pushed::Taken(runner) => given(runner),
            refused => panic!("{refused:?}"),
        });
        let second = thread::spawn(move || given(second.mailbox.push_system(System::Nothing).unwrap()));
        let third = given(third.mailbox.wake()) + given(third.mailbox.unpark());
        assert_eq!(first.join().unwrap() + second.join().unwrap() + third, 1);
    });
}

#[test]
fn a_full_mailbox_fails_no_message_twice() {
    loom::model(|| {
        let cell = Cell::bounded(Overflow::Fail);
        at_once!(cell: { cell.tell(0); cell.tell(1) }, cell.tell(2); cell.run(Runner::new()));
        cell.assert_each_once(&[0, 1, 2]);
        cell.assert_parked();
    });
}

#[test]
fn a_full_mailbox_drops_the_newest_once() {
    loom::model(|| {
        let cell = Cell::bounded(Overflow::DropNewest);
        at_once!(cell: { cell.tell(0); cell.tell(1) }, cell.tell(2); cell.run(Runner::new()));
        cell.assert_each_once(&[0, 1, 2]);
        cell.assert_parked();
    });
}

#[test]
fn a_full_mailbox_drops_the_oldest_once() {
    loom::model(|| {
        let cell = Cell::bounded(Overflow::DropOldest);
        at_once!(cell: { cell.tell(0); cell.tell(1) }, cell.tell(2); cell.run(Runner::new()));
        cell.assert_each_once(&[0, 1, 2]);
        cell.assert_parked();
        assert_room_for_one(&cell);
    });
}

/// No room was lost or made on the way.
fn assert_room_for_one(cell: &Cell) {
    assert!(matches!(cell.mailbox.enter().push(10), Pushed::Taken(_)));
    assert!(matches!(cell.mailbox.enter().push(11), Pushed::Displaced(10)));
}

#[test]
fn a_mailbox_that_drops_the_oldest_keeps_the_last() {
    loom::model(|| {
        let cell = Cell::bounded(Overflow::DropOldest);
        at_once!(cell: { cell.tell(0); cell.tell(1); cell.tell(2) }; cell.run(Runner::new()));
        cell.assert_each_once(&[0, 1, 2]);
        assert_eq!(cell.all(Fate::Handled).last(), Some(&2));
    });
}

#[test]
fn who_waits_for_room_and_who_displaces_share_it() {
    loom::model(|| {
        let cell = Cell::bounded(Overflow::DropOldest);
        at_once!(cell: cell.send(0), { cell.tell(1); cell.tell(2) }; cell.run(Runner::new()));
        cell.assert_each_once(&[0, 1, 2]);
        cell.assert_parked();
        assert_room_for_one(&cell);
    });
}

#[test]
fn a_mailbox_that_drops_the_oldest_keeps_the_newest_while_suspended() {
    loom::model(|| {
        let cell = Cell::bounded(Overflow::DropOldest);
        at_once!(cell: cell.tell(0), { cell.tell(1); cell.tell(2) }; cell.run(Runner::suspended()));
        assert_eq!(cell.mailbox.pending(), 1);
        assert_eq!(cell.all(Fate::Displaced).len(), 2);
        cell.tell_system(System::Resume);
        cell.assert_each_once(&[0, 1, 2]);
        cell.assert_parked();
    });
}

#[test]
fn a_bounded_mailbox_that_closes_loses_nothing() {
    loom::model(|| {
        let cell = Cell::bounded(Overflow::DropOldest);
        at_once!(cell: { cell.tell(0); cell.tell(1) }, cell.tell_system(System::Stop); cell.run(Runner::new()));
        cell.assert_each_once(&[0, 1]);
        assert!(!cell.all(Fate::Displaced).contains(&1), "no later message could displace it");
    });
}

#[test]
fn who_waits_for_room_gets_it() {
    loom::model(|| {
        let cell = Cell::bounded(Overflow::Fail);
        at_once!(cell: { cell.send(0); cell.send(1) }, cell.send(2); cell.run(Runner::new()));
        cell.assert_each_once(&[0, 1, 2]);
        assert_eq!(cell.all(Fate::Handled).len(), 3);
        cell.assert_parked();
    });
}

#[test]
fn who_gives_up_leaves_its_place_to_the_next() {
    loom::model(|| {
        let cell = Cell::bounded(Overflow::Fail);
        cell.tell(0);
        at_once!(cell: cell.send_at_once_or_never(1), cell.send(2); cell.run(Runner::new()));
        cell.assert_each_once(&[0, 1, 2]);
        assert!(cell.all(Fate::Handled).contains(&2));
        cell.assert_parked();
        assert!(matches!(cell.mailbox.enter().push(10), Pushed::Taken(_)), "room was lost");
        assert!(matches!(cell.mailbox.enter().push(11), Pushed::Full(11)), "room was made");
    });
}

#[test]
fn who_tells_goes_before_nobody_who_waits() {
    loom::model(|| {
        let cell = Cell::bounded(Overflow::Fail);
        cell.tell(0);
        let mut waiting = pin!(push_when_room(&cell.mailbox, 1));
        let waker = std::task::Waker::noop();
        assert!(waiting.as_mut().poll(&mut TaskContext::from_waker(waker)).is_pending());
        at_once!(cell: cell.tell(2); cell.run(Runner::new()));
        let Poll::Ready(Ok(runner)) = waiting.as_mut().poll(&mut TaskContext::from_waker(waker)) else {
            panic!("it was not let in")
        };
        cell.run_if_given(runner);
        assert_eq!(cell.all(Fate::Handled), [0, 1]);
        assert_eq!(cell.all(Fate::Full), [2]);
    });
}

#[test]
fn who_waits_for_room_gets_the_message_back_when_the_mailbox_closes() {
    loom::model(|| {
        let cell = Cell::bounded(Overflow::Fail);
        at_once!(cell: cell.send(0), cell.send(1), cell.tell_system(System::Stop); cell.run(Runner::suspended()));
        cell.assert_each_once(&[0, 1]);
        assert_eq!(cell.all(Fate::Handled), []);
    });
}
