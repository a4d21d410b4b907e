//! The timers that an actor sets for itself: keyed timers and the receive timeout.
//!
//! A timer that is due puts a control into the actor's own user lane. When the cell reaches the control, it makes
//! or takes the message. The cell skips the control of a timer that was cancelled or replaced, or that belonged to
//! an earlier instance.
//!
//! 1. A timer has at most one control in the lane, because the cell sets the next tick of a periodic timer when it reaches
//!    the control. So ticks do not pile up for an actor that is slower than its timer, or suspended.
//!
//! Rules 15.1 and 15.2.

use std::any::Any;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use tokio::time::Instant;

use crate::base::{Timers, UserValue, later};

/// The shortest interval of a periodic timer and the shortest receive timeout: the resolution of the clock.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);

/// The key of a timer.
pub type TimerKey = Cow<'static, str>;

/// Identifies one setting of a timer. An actor never uses a generation twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Generation(u64);

/// The timers of one actor. The type of its messages is erased, so that this is compiled once and not for each actor.
pub(crate) struct ActorTimers {
    due: Timers,
    keyed: HashMap<TimerKey, Keyed>,
    keys: HashMap<Generation, TimerKey>,
    idle: Option<Idle>,
    next: u64,
}

struct Keyed {
    generation: Generation,
    what: What,
}

/// Makes a message, and puts it into an `Option` of the actor's messages.
type Make = UserValue<Box<dyn FnMut(&mut dyn Any) + Send>>;

fn erased<M: 'static>(mut make: impl FnMut() -> Option<M> + Send + 'static) -> Make {
    UserValue::new(Box::new(move |place| {
        if let Some(place) = place.downcast_mut() {
            *place = make();
        }
    }))
}

enum What {
    Once(Make),
    Every { interval: Duration, next: Instant, make: Make },
}

/// The receive timeout.
struct Idle {
    after: Duration,
    generation: Generation,
    make: Make,
    /// A message that counts as activity is being handled, so the idle time begins after it.
    over: bool,
}

impl ActorTimers {
    pub(crate) fn new() -> Self {
        Self { due: Timers::new(), keyed: HashMap::new(), keys: HashMap::new(), idle: None, next: 0 }
    }

    fn generation(&mut self) -> Generation {
        self.next += 1;
        Generation(self.next)
    }

    // ---- keyed timers --------------------------------------------------------------------------------------------

    pub(crate) fn start_once<M: Send + 'static>(&mut self, key: TimerKey, delay: Duration, message: M) {
        let mut message = Some(message);
        self.start(key, later(Instant::now(), delay), What::Once(erased(move || message.take())));
    }

    pub(crate) fn start_every<M: 'static>(
        &mut self,
        key: TimerKey,
        interval: Duration,
        mut make: impl FnMut() -> M + Send + 'static,
    ) {
        let interval = interval.max(SHORTEST_INTERVAL);
        let next = later(Instant::now(), interval);
        self.start(key, next, What::Every { interval, next, make: erased(move || Some(make())) });
    }

    fn start(&mut self, key: TimerKey, at: Instant, what: What) {
        self.cancel(&key);
        let generation = self.generation();
        self.due.set(generation.0, at);
        self.keys.insert(generation, key.clone());
        self.keyed.insert(key, Keyed { generation, what });
    }

    pub(crate) fn cancel(&mut self, key: &str) {
        if let Some(keyed) = self.keyed.remove(key) {
            self.keys.remove(&keyed.generation);
            self.due.cancel(keyed.generation.0);
        }
    }

    pub(crate) fn is_active(&self, key: &str) -> bool {
        self.keyed.contains_key(key)
    }

    /// Cancels all keyed timers. The receive timeout stays.
    pub(crate) fn cancel_all(&mut self) {
        for generation in self.keys.drain().map(|(generation, _)| generation) {
            self.due.cancel(generation.0);
        }
        self.keyed.clear();
    }

    // ---- the receive timeout -------------------------------------------------------------------------------------

    pub(crate) fn set_idle<M: 'static>(&mut self, after: Duration, mut make: impl FnMut() -> M + Send + 'static) {
        let after = after.max(SHORTEST_INTERVAL);
        self.clear_idle();
        let generation = self.generation();
        self.idle = Some(Idle { after, generation, make: erased(move || Some(make())), over: false });
        self.due.set(generation.0, later(Instant::now(), after));
    }

    pub(crate) fn clear_idle(&mut self) {
        if let Some(idle) = self.idle.take() {
            self.due.cancel(idle.generation.0);
        }
    }

    /// Restarts the idle time from now.
    pub(crate) fn rearm_idle(&mut self) {
        let generation = self.generation();
        if let Some(idle) = &mut self.idle {
            self.due.cancel(idle.generation.0);
            idle.generation = generation;
            idle.over = false;
            self.due.set(generation.0, later(Instant::now(), idle.after));
        }
    }

    /// A message that counts as activity is being handled.
    pub(crate) fn idle_is_over(&mut self) {
        if let Some(idle) = &mut self.idle {
            idle.over = true;
        }
    }

    /// The message has been handled. Restarts the idle time if the message counted as activity.
    pub(crate) fn rearm_idle_if_over(&mut self) {
        if self.idle.as_ref().is_some_and(|idle| idle.over) {
            self.rearm_idle();
        }
    }

    // ---- the cell's side -----------------------------------------------------------------------------------------

    /// Returns the next timer that is due, or wakes the task when one is.
    pub(crate) fn poll_due(&mut self, cx: &mut TaskContext<'_>) -> Poll<Generation> {
        self.due.poll_due(cx).map(Generation)
    }

    /// The next timer that is due now.
    pub(crate) fn next_due(&mut self) -> Option<Generation> {
        self.due.next_due().map(Generation)
    }

    /// The cell has taken the control of a timer: returns its message, unless the timer is gone. Runs the user's `make`.
    pub(crate) fn take<M: 'static>(&mut self, generation: Generation) -> Option<Fired<M>> {
        let mut message = None;
        let by_idleness = self.fire(generation, &mut message)?;
        message.map(|message| Fired { message, by_idleness })
    }

    /// Puts the message of a timer into `place`. Returns whether it came from the receive timeout.
    fn fire(&mut self, generation: Generation, place: &mut dyn Any) -> Option<bool> {
        if let Some(idle) = &mut self.idle
            && idle.generation == generation
        {
            (idle.make)(place);
            return Some(true);
        }
        let key = self.keys.get(&generation)?;
        let keyed = self.keyed.get_mut(key)?;
        match &mut keyed.what {
            What::Every { interval, next, make } => {
                // A late tick does not delay the ticks after it (1).
                *next = later(*next, *interval).max(Instant::now());
                self.due.set(generation.0, *next);
                make(place);
            }
            What::Once(make) => {
                make(place);
                let key = self.keys.remove(&generation)?;
                self.keyed.remove(&key);
            }
        }
        Some(false)
    }
}

/// The message of a timer.
pub(crate) struct Fired<M> {
    pub(crate) message: M,
    /// Whether it came from the receive timeout.
    pub(crate) by_idleness: bool,
}

impl fmt::Debug for ActorTimers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActorTimers").field("keys", &self.keyed.keys()).finish_non_exhaustive()
    }
}
