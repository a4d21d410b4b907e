//! The protocol's inputs and outputs: data only.

use std::time::Duration;

use super::Time;
use super::directive::Directive;
use super::settings::Strategy;

/// A child under its parent. Ids grow in start order and are never used twice by one parent, so that a report of an
/// earlier child of the same name finds nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChildId(pub(crate) u64);

impl ChildId {
    /// The id of an actor that is nobody's child.
    pub const ROOT: Self = Self(0);
}

impl From<ChildId> for u64 {
    fn from(id: ChildId) -> Self {
        id.0
    }
}

/// How an actor ended.
///
/// Rule 8.6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HowEnded {
    /// Its running handler and hooks finished in time.
    Graceful,
    /// A handler or hook outlived the stop timeout and was dropped at its await point.
    Aborted,
    /// It was gone already when it was watched.
    AlreadyGone,
}

/// What the protocol must know about a failure's cause.
pub trait Cause: Clone {
    /// This cause, as what kept its actor from starting.
    #[must_use]
    fn at_initialization(self) -> Self;
    /// This cause, as what broke a restart that was for `original`.
    #[must_use]
    fn at_restart(self, original: Self) -> Self;
    /// Whether it is one of the two above.
    fn is_initialization(&self) -> bool;
    /// Whether an actor below the one that failed failed first, and nobody between them could mend it.
    fn is_from_below(&self) -> bool {
        false
    }
    /// Whether its actor was killed or broke a death pact, which no restart mends.
    fn is_final(&self) -> bool;
    /// Why a permanent child is made anew, and siblings restart with it: it ended by itself.
    #[must_use]
    fn end_of_permanent() -> Self;
}

/// What actors tell each other on the system lane.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SystemMessage<R, C> {
    /// Handle no user message until resumed or restarted as often as suspended.
    Suspend,
    /// Undo one suspension. A cause answers the receiver's own failure; without one it comes from an ancestor.
    Resume(Option<C>),
    /// Replace the instance, which undoes one suspension too.
    Restart(C),
    /// As [`Restart`](Self::Restart), together with siblings: tell the parent when the old instance has been replaced.
    RestartTogether(C),
    /// Do the first half of a restart, and tell the parent: it restarts its declared children one after another.
    PrepareRestart(C),
    /// End for good.
    Terminate,
    /// A child reports its failure.
    Failed {
        /// Which child.
        child: ChildId,
        /// Why.
        cause: C,
        /// How many [restarts](Self::Restart) by this parent the child had begun. Fewer than were sent: a restart replaces the
        /// instance that failed.
        restarts: u32,
    },
    /// A child or a watched actor ended.
    Ended {
        /// Which actor.
        subject: R,
        /// Its id, when it was a child of the receiver.
        child: Option<ChildId>,
        /// How.
        how: HowEnded,
    },
    /// Tell this actor when the receiver ends.
    Watch(R),
    /// Do not tell it any more.
    Unwatch(R),
    /// A child asks to start its backoff anew.
    ResetBackoff(ChildId),
    /// The instance of a child that restarts together with siblings is gone, and the next one is about to be made.
    Replaced(ChildId),
    /// A declared child's instance is ready.
    Started(ChildId),
    /// A declared child has done the first half of its restart.
    RestartPrepared(ChildId),
}

/// One thing that happens to a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Input<'a, R, C> {
    /// A message from the system lane.
    Message(SystemMessage<R, C>),
    /// The user code that is out waits at an await point. Without a call out it is a message handler.
    Parked,
    /// The user code that is out came back. Without a call out it was a message handler.
    Returned(Returned<C>),
    /// The decider answered.
    Decided(Ruling<'a, C>),
    /// Time is up.
    Due(Timer),
}

/// How user code came back.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Returned<C> {
    /// It succeeded.
    Ok,
    /// It failed, by an error or a panic.
    Err(C),
    /// Its future was dropped at an await point.
    Aborted,
}

/// A decider's answer and what its arithmetic needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruling<'a, C> {
    /// The directive, or the failure of the decider itself.
    pub verdict: Result<Directive, C>,
    /// The strategy it is carried out under.
    pub strategy: &'a Strategy,
    /// When.
    pub now: Time,
    /// A random number in `[0, 1)`, for jitter.
    pub draw: f64,
    /// Whether anybody listens to what comes of it.
    pub heard: bool,
}

/// Something to be told later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// The parked user code has had its stop timeout.
    Abort,
    /// A scheduled restart is due.
    Restart(u64),
}

/// Scheduled restarts are numbered from 1.
impl From<Timer> for u64 {
    fn from(timer: Timer) -> Self {
        match timer {
            Timer::Abort => 0,
            Timer::Restart(schedule) => schedule,
        }
    }
}

impl From<u64> for Timer {
    fn from(number: u64) -> Self {
        if number == 0 { Self::Abort } else { Self::Restart(number) }
    }
}

/// What the performer has to do. Effects are carried out in order; a [`Decide`](Effect::Decide), a
/// [`RestartEnded`](Effect::RestartEnded) or a [`Call`](Effect::Call) comes last and is answered by one input.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect<R, C> {
    /// Put a message on another actor's system lane.
    Send(R, SystemMessage<R, C>),
    /// Report a failure to the parent, as [`SystemMessage::Failed`]. The count is that of the instance that failed: another restart may
    /// begin in the same step.
    Report {
        /// Why.
        cause: C,
        /// How many restarts by the parent the actor had begun.
        restarts: u32,
    },
    /// Ask to be told when this actor ends.
    Watch(R),
    /// Ask not to be told any more.
    Unwatch(R),
    /// Put the news of this actor's end at the tail of the own user queue.
    Enqueue(R),
    /// Say [`Input::Due`] after this delay. `None` is the actor's stop timeout.
    Arm(Timer, Option<Duration>),
    /// Forget a timer.
    Disarm(Timer),
    /// Whoever waits for the actor's stop request may know now.
    AnnounceStop,
    /// Drop the parked future; answered by [`Returned::Aborted`].
    Abort,
    /// Drop the instance and all that belongs to it.
    DropInstance,
    /// Close the user lane, what is left goes to dead letters.
    CloseUserLane,
    /// Tell the parent that the old instance is gone, as [`SystemMessage::RestartTogether`] asks.
    TellReplaced,
    /// Tell the parent that the instance is ready.
    TellStarted,
    /// Tell the parent that the first half of a restart is done.
    TellRestartPrepared,
    /// Make the child of this field, by the factory that the field's declaration gave, and have the protocol
    /// [know it](super::Protocol::spawn_field) before the next step.
    StartChild(usize),
    /// Tell the parent that this actor ended.
    TellParent(HowEnded),
    /// Tell a watcher that this actor ended.
    TellWatcher(R, HowEnded),
    /// Close the system lane. Who watched too late for [`TellWatcher`](Effect::TellWatcher) is told now, and who watches from
    /// now on is told at once.
    CloseSystemLane,
    /// Tell whoever listens what happened.
    Note(Note<C>),
    /// Ask the decider about a child.
    Decide(ChildId, C),
    /// A permanent child ended by itself. Answered like [`Decide`](Effect::Decide), with
    /// [`Restart`](Directive::Restart), without asking the decider.
    RestartEnded(ChildId),
    /// Run user code.
    Call(Call<C>),
}

/// User code to run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Call<C> {
    /// The factory, for an actor with declared children: they start between it and the hook.
    Build,
    /// What the new instance says about this field: how its child is made.
    Declare(usize),
    /// The factory, unless it has run by [`Build`](Call::Build), then `pre_start`.
    Create,
    /// `pre_restart` of the old instance.
    PreRestart {
        /// Why it is restarted.
        cause: C,
        /// Whether its own message failed, rather than a sibling, a parent or a child.
        own: bool,
        /// Whether a handler of this instance was aborted, so that its state may be half-updated.
        aborted: bool,
    },
    /// The factory, unless it has run by [`Build`](Call::Build), then `post_restart` of the new instance.
    StartNewInstance(C),
    /// `post_stop`.
    PostStop {
        /// Whether a handler or hook of this instance was aborted, so that its state may be half-updated.
        aborted: bool,
    },
}

/// Which hook failed without changing the course of things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Hook {
    /// `pre_restart`.
    PreRestart,
    /// `post_stop`.
    PostStop,
}

/// What came of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The child goes on with its next message.
    Resumed,
    /// This many children restart, at once or after a delay.
    Restarting {
        /// How many, the failed one included.
        children: usize,
        /// How long they stay suspended first.
        delay: Option<Duration>,
    },
    /// This many children stop, because the table says so.
    Stopped {
        /// How many, the failed one included.
        children: usize,
    },
    /// A restart was refused by the limit, so this many children stop.
    LimitReached {
        /// How many, the failed one included.
        children: usize,
    },
    /// The child was about to restart or to stop already, for an earlier reason, which answers this failure too.
    AlreadyAnswered,
    /// The supervisor itself fails with the child's cause: the table says so, or the supervisor waits for the first start of this
    /// child and nothing says that it is tried again (rule 14.1).
    Escalated,
    /// A restart was refused by the limit, and the supervisor itself fails with the child's cause: because of
    /// `on_limit = Escalate`, or because it waits for the first start of this child.
    LimitEscalated,
}

/// Something worth telling.
#[derive(Debug, Clone, PartialEq)]
pub enum Note<C> {
    /// The first instance is ready.
    Started,
    /// A new instance is ready.
    Restarted(C),
    /// The failed instance goes on.
    Resumed,
    /// The actor ended.
    Stopped(HowEnded),
    /// A decision and what came of it.
    Decided {
        /// Which child.
        child: ChildId,
        /// Why it failed.
        cause: C,
        /// What the table said. In a box, so that an effect is no larger than a message.
        directive: Box<Directive>,
        /// What came of it.
        outcome: Outcome,
    },
    /// The decider itself failed.
    DeciderFailed {
        /// About which child.
        child: ChildId,
        /// The decider's failure.
        cause: C,
        /// The failure that it was to decide about.
        about: C,
    },
    /// A child's report has to wait until the supervisor itself is well.
    ReportDeferred(ChildId),
    /// A report nobody decides: its child is unknown, or the supervisor is ending.
    ReportDropped(ChildId, C),
    /// A hook failed, and things went on.
    HookFailed(Hook, C),
    /// A restart or resume was turned into a first start, because there is no instance.
    TurnedIntoCreate,
    /// A resume was turned into a restart, because the last restart failed.
    TurnedIntoRestart,
    /// A handler or hook was dropped at its await point.
    Aborted,
}

impl<C> Note<C> {
    /// The child it is about.
    pub fn child(&self) -> Option<ChildId> {
        match self {
            Self::Decided { child, .. }
            | Self::DeciderFailed { child, .. }
            | Self::ReportDeferred(child)
            | Self::ReportDropped(child, _) => Some(*child),
            Self::Started
            | Self::Restarted(_)
            | Self::Resumed
            | Self::Stopped(_)
            | Self::HookFailed(..)
            | Self::TurnedIntoCreate
            | Self::TurnedIntoRestart
            | Self::Aborted => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Effects are moved twice each, and a supervisor that stops makes one for each child.
    #[cfg(target_pointer_width = "64")]
    #[test]
    fn an_effect_is_small() {
        type Wide = [usize; 2];
        let (effect, message) = (size_of::<Effect<Wide, Wide>>(), size_of::<SystemMessage<Wide, Wide>>());
        assert!(effect <= 64, "an effect takes {effect} bytes");
        assert!(message <= 40, "a system message takes {message} bytes");
    }
}
