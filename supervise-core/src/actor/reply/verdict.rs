//! The error for askers whose reply slots are dropped unanswered by code that may be failing.
//!
//! A slot that a failing handler holds is dropped before the handler's error reaches the cell. So while code of an actor
//! that keeps slots runs, a dropped slot gets a [`Verdict`] instead of an answer. The cell fills in the verdict when the
//! code has returned, within the same poll.
//!
//! ```text
//!   begin ─► code runs, drops slots ─► settle(the failure, or Unanswered) ─► the askers are woken
//! ```
//!
//! Only actors with [`Actor::KEEPS_REPLIES`](crate::Actor::KEEPS_REPLIES) begin and settle; others pay nothing.
//!
//! Rules 19.3 and 19.4.

use std::cell::RefCell;
use std::mem::{ManuallyDrop, replace, take};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

use crate::actor::dispatch;
use crate::actor::request::AskError;

/// The error that the askers of some dropped slots will get, once it is known.
pub(crate) struct Verdict(Mutex<State>);

enum State {
    /// The askers that wait for it. At most those of the slots that were dropped in one poll.
    Open(Vec<Waker>),
    Given(AskError),
}

impl Verdict {
    fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(State::Open(Vec::new()))))
    }

    /// The waker of an asker whose slot has been dropped.
    pub(super) fn awaited_by(&self, asker: Waker) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *state {
            State::Open(askers) => askers.push(asker),
            State::Given(_) => {
                drop(state);
                dispatch::wake_asker(asker);
            }
        }
    }

    pub(super) fn poll(&self, asker: Waker) -> Poll<AskError> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *state {
            State::Given(why) => {
                let why = why.clone();
                drop(state);
                Poll::Ready(why)
            }
            State::Open(askers) => {
                if askers.iter().any(|known| known.will_wake(&asker)) {
                    // Dropped outside the lock.
                    drop(state);
                } else {
                    askers.push(asker);
                }
                Poll::Pending
            }
        }
    }

    fn give(&self, why: AskError) {
        let given = replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), State::Given(why));
        if let State::Open(askers) = given {
            askers.into_iter().for_each(dispatch::wake_asker);
        }
    }
}

/// What happens to a slot that this thread drops unanswered.
#[derive(Default)]
enum Scope {
    /// No code of an actor that keeps slots runs. The asker gets `Unanswered` at once.
    #[default]
    None,
    /// Such code runs. It has a verdict once it has dropped a slot.
    Judged(Option<Arc<Verdict>>),
    /// All slots that are dropped now are dropped for this reason.
    Known(AskError),
}

thread_local! {
    /// `ManuallyDrop`, because other thread-locals may drop slots when the thread ends.
    static SCOPE: ManuallyDrop<RefCell<Scope>> = const { ManuallyDrop::new(RefCell::new(Scope::None)) };
}

/// What to do with a slot that is dropped unanswered.
#[derive(Clone)]
pub(crate) enum Dropped {
    Answer(AskError),
    Wait(Arc<Verdict>),
}

/// What to do with a slot that this thread drops unanswered.
pub(super) fn dropped() -> Dropped {
    SCOPE.with(|scope| match &mut *scope.borrow_mut() {
        Scope::None => Dropped::Answer(AskError::Unanswered),
        Scope::Judged(verdict) => Dropped::Wait(Arc::clone(verdict.get_or_insert_with(Verdict::new))),
        Scope::Known(why) => Dropped::Answer(why.clone()),
    })
}

/// Code of an actor that keeps slots is about to run. [`settle`] follows before this thread does anything else.
pub(crate) fn begin() {
    SCOPE.with(|scope| {
        let mut scope = scope.borrow_mut();
        if !matches!(*scope, Scope::Judged(_)) {
            *scope = Scope::Judged(None);
        }
    });
}

/// The code has returned. The askers of the slots that it dropped get the error `why`.
pub(crate) fn settle(why: impl FnOnce() -> AskError) {
    if let Scope::Judged(Some(verdict)) = SCOPE.with(|scope| take(&mut *scope.borrow_mut())) {
        verdict.give(why());
    }
}

/// The slots that `code` drops are dropped for this reason.
pub(crate) fn dropping<T>(why: AskError, code: impl FnOnce() -> T) -> T {
    apart(Scope::Known(why), code)
}

/// Runs the code of another actor on the stack of this one's turn or of an asker, and keeps the slots that it drops apart
/// from those of the outer code.
pub(crate) fn beside<T>(code: impl FnOnce() -> T) -> T {
    apart(Scope::None, code)
}

/// Runs `code` in a scope of its own. `code` must not panic.
fn apart<T>(scope: Scope, code: impl FnOnce() -> T) -> T {
    let outer = SCOPE.with(|now| now.replace(scope));
    let value = code();
    let inner = SCOPE.with(|now| now.replace(outer));
    drop(inner);
    value
}
