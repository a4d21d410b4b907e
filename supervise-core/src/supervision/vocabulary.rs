//! The protocol's inputs and outputs: data only.

use std::time::Duration;

use super::Time;
use super::directive::Directive;
use super::settings::Strategy;

/// Identifies a child under its parent. Ids grow in start order, and a parent never uses one twice, so a report of an
/// earlier child of the same name matches no child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChildId(pub(crate) u64);

impl ChildId {
    /// The id of an actor without a parent.
    pub const ROOT: Self = Self(0);
}

impl From<ChildId> for u64 {
    fn from(id: ChildId) -> Self {
        id.0
    }
}

/// How an actor ended.
///
/// Rule [8.6](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-8.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HowEnded {
    /// Its running handler and hooks finished in time.
    Graceful,
    /// A handler or hook outlived the stop timeout and was dropped at its await point.
    Aborted,
    /// It had already ended when it was watched.
    AlreadyGone,
    /// Its node was given up, so nobody here can know whether the actor still lives (feature `remote`,
    /// rule [26.4](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-26.4)).
    Unreachable,
    /// It has not ended: it lives on another node, and as many watches as the
    /// [`limit`](https://docs.rs/supervise-actors/latest/supervise/remote/struct.NodeBuilder.html#method.limit) allows are under way between the
    /// two nodes, so it is not watched. Only an actor that watches is told this:
    /// [`ended`](https://docs.rs/supervise-actors/latest/supervise/struct.ActorSystem.html#method.ended) waits until it can watch (feature
    /// `remote`, rule [26.4](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-26.4)).
    TooManyWatches,
}

/// What the protocol must know about a failure's cause.
pub trait Cause: Clone {
    /// This cause, marked as the failure of a start.
    #[must_use]
    fn at_initialization(self) -> Self;
    /// This cause, marked as the failure of a restart that was made for `original`.
    #[must_use]
    fn at_restart(self, original: Self) -> Self;
    /// Whether it is marked as the failure of a start or a restart.
    fn is_initialization(&self) -> bool;
    /// Whether its actor was killed or failed by a death pact. The default table does not restart after these.
    fn is_final(&self) -> bool;
    /// The cause that stands for a permanent child that ended by itself: it is replaced, and siblings may restart with
    /// it.
    #[must_use]
    fn end_of_permanent() -> Self;
}

/// What actors tell each other on the system lane.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SystemMessage<R, C> {
    /// Handle no user message until every suspension has been undone by a resume or a restart.
    Suspend,
    /// Undo one suspension. With a cause, it answers the receiver's own failure; without one, it comes from an
    /// ancestor.
    Resume(Option<C>),
    /// Replace the instance, and undo one suspension.
    Restart(C),
    /// As [`Restart`](Self::Restart), together with siblings: tell the parent when the old instance is gone.
    RestartTogether(C),
    /// Do the first half of a restart, and tell the parent, which restarts its declared children one after another.
    PrepareRestart(C),
    /// Stop for good.
    Terminate,
    /// A child reports its failure.
    Failed {
        /// The child.
        child: ChildId,
        /// The cause.
        cause: C,
        /// How many [restarts](Self::Restart) by this parent the child had begun. If the parent has sent more, one of
        /// them replaces the instance that failed.
        restarts: u32,
        /// How many times the child had begun to run, by a start that succeeded or by a resume. Wraps around.
        runs: u8,
    },
    /// A child or a watched actor ended.
    Ended {
        /// The actor.
        subject: R,
        /// Its id, when it was a child of the receiver.
        child: Option<ChildId>,
        /// How it ended.
        how: HowEnded,
    },
    /// Tell this actor when you end.
    Watch(R),
    /// Do not tell this actor any more.
    Unwatch(R),
    /// A child asks to reset its backoff.
    ResetBackoff(ChildId),
    /// A child need not wait any longer for its restart.
    RetryNow(ChildId),
    /// Somebody asks for the restart of a child.
    RestartByHand {
        /// The child.
        child: ChildId,
        /// Says who asks.
        cause: C,
        /// How many restarts the child had been told to do, as the one who asks saw it. Otherwise nothing happens.
        restarts: u32,
    },
    /// The old instance of a child that restarts together with siblings is gone, and the next one is about to be made.
    Replaced(ChildId),
    /// A declared child's instance is ready.
    Started(ChildId),
    /// A declared child has done the first half of its restart.
    RestartPrepared(ChildId),
}

impl<R, C> SystemMessage<R, C> {
    /// Whether the receiver goes on after a failure.
    pub(crate) fn goes_on(&self) -> bool {
        matches!(self, Self::Resume(_) | Self::Restart(_) | Self::RestartTogether(_) | Self::PrepareRestart(_))
    }
}

/// An input of the protocol: something that happened to a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Input<'a, R, C> {
    /// A message from the system lane.
    Message(SystemMessage<R, C>),
    /// The running user code waits at an await point. It is the last [`Call`](Effect::Call), or else a message handler.
    Parked,
    /// The running user code returned. It was the last [`Call`](Effect::Call), or else a message handler.
    Returned(Returned<C>),
    /// The decider answered about this cause, which was the question's.
    Decided(C, &'a Ruling<'a, C>),
    /// A timer is due.
    Due(Timer),
}

/// How user code returned.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Returned<C> {
    /// It succeeded.
    Ok,
    /// It failed, by an error or a panic.
    Err(C),
    /// Its future was dropped at an await point.
    Aborted,
}

/// A decider's answer, and what carrying it out needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruling<'a, C> {
    /// The directive, or the failure of the decider itself.
    pub verdict: Result<Directive, C>,
    /// The strategy it is carried out under.
    pub strategy: &'a Strategy,
    /// The time of the decision.
    pub now: Time,
    /// A random number in `[0, 1)`, for jitter.
    pub draw: f64,
    /// Whether the log or a subscriber needs the result.
    pub heard: bool,
}

/// A timer of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// The stop timeout of the parked user code is over.
    Abort,
    /// A scheduled restart is due.
    Restart(u64),
}

/// Abort is 0; scheduled restarts are numbered from 1.
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
        /// The cause.
        cause: C,
        /// How many restarts by the parent the actor had begun.
        restarts: u32,
        /// How many times the actor had begun to run.
        runs: u8,
    },
    /// Watch this actor.
    Watch(R),
    /// Do not watch this actor any more.
    Unwatch(R),
    /// Put the notification of this actor's end at the tail of the cell's own user lane.
    Enqueue(R),
    /// Start a timer: give [`Input::Due`] after this delay. `None` is the actor's stop timeout.
    Arm(Timer, Option<Duration>),
    /// Cancel a timer.
    Disarm(Timer),
    /// Complete the futures that wait for the actor's stop request.
    AnnounceStop,
    /// Nobody has requested the stop that follows: a significant child ended.
    EndsByItself,
    /// Drop the parked future; answered by [`Returned::Aborted`].
    Abort,
    /// Drop the instance and everything that belongs to it.
    DropInstance,
    /// Close the user lane. The remaining messages become dead letters.
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
    /// Close the system lane. An actor that watched too late for [`TellWatcher`](Effect::TellWatcher) is told now, and
    /// an actor that watches from now on is told at once.
    CloseSystemLane,
    /// Report to the log and the subscribers what happened.
    Note(Note<C>),
    /// Count this many children against the turn: the step has looked at each of them, and has no other effect that shows it.
    Charge(usize),
    /// Ask the decider about a child. The cause comes back with the answer.
    Decide(ChildId, C),
    /// A permanent child ended by itself. Answer like [`Decide`](Effect::Decide), with [`Restart`](Directive::Restart),
    /// without asking the decider.
    RestartEnded(ChildId, C),
    /// Run user code.
    Call(Call<C>),
}

/// User code to run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Call<C> {
    /// The factory, for an actor with declared children: they start between it and the hook.
    Build,
    /// The declaration of this field's child by the new instance.
    Declare(usize),
    /// The factory, unless it has run by [`Build`](Call::Build), then `pre_start`.
    Create,
    /// `pre_restart` of the old instance.
    PreRestart {
        /// Why the actor is restarted.
        cause: C,
        /// Whether the actor itself failed, rather than a sibling, a parent or a child.
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

/// A hook whose failure is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Hook {
    /// `pre_restart`.
    PreRestart,
    /// `post_stop`.
    PostStop,
}

/// The result of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The child continues with its next message.
    Resumed,
    /// The children restart, at once or after a delay.
    Restarting {
        /// How many children, including the failed one.
        children: usize,
        /// How long they stay suspended before the restart.
        delay: Option<Duration>,
    },
    /// The children stop, because the table says so.
    Stopped {
        /// How many children, including the failed one.
        children: usize,
    },
    /// The limit refused a restart, so the children stop.
    LimitReached {
        /// How many children, including the failed one.
        children: usize,
    },
    /// The child was already about to restart or stop for an earlier reason, which answers this failure too.
    AlreadyAnswered,
    /// The supervisor itself fails with the child's cause. Either the table says so, or the supervisor waits for the
    /// first start of this child, and no backoff lets that start be tried again (rule
    /// [14.1](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-14.1)).
    Escalated,
    /// A restart was refused by the limit, and the supervisor itself fails with the child's cause: because of
    /// `on_limit = Escalate`, or because it waits for the first start of this child.
    LimitEscalated,
}

impl Outcome {
    /// What follows, in a word.
    pub(crate) fn in_a_word(self) -> &'static str {
        match self {
            Self::Resumed => "resume",
            Self::Restarting { .. } => "restart",
            Self::Stopped { .. } => "stop",
            Self::LimitReached { .. } | Self::LimitEscalated => "limit",
            Self::AlreadyAnswered => "answered",
            Self::Escalated => "escalate",
        }
    }
}

/// Something to report.
#[derive(Debug, Clone, PartialEq)]
pub enum Note<C> {
    /// The first instance is ready.
    Started {
        /// Whether the parent has restarted the actor before, because it or a sibling could not start.
        again: bool,
    },
    /// A new instance is ready.
    Restarted(C),
    /// The failed instance continues.
    Resumed,
    /// The actor ended.
    Stopped(HowEnded),
    /// A decision and its result.
    Decided {
        /// The child.
        child: ChildId,
        /// Why the child failed.
        cause: C,
        /// The result.
        outcome: Outcome,
    },
    /// The decider itself failed.
    DeciderFailed {
        /// The child that the decider had to decide about.
        child: ChildId,
        /// The decider's failure.
        cause: C,
        /// The failure that it had to decide.
        about: C,
    },
    /// A child's report must wait until the supervisor's own failure or restart is over.
    ReportDeferred(ChildId),
    /// A report is dropped, because its child is unknown or the supervisor is stopping.
    ReportDropped(ChildId, C),
    /// A hook failed, and its failure was ignored.
    HookFailed(Hook, C),
    /// A restart or resume became a first start, because there is no instance.
    TurnedIntoCreate,
    /// A resume became a restart, because the last restart failed.
    TurnedIntoRestart,
    /// A handler or hook was dropped at its await point.
    Aborted,
}

impl<C> Note<C> {
    /// The child that the note is about.
    pub fn child(&self) -> Option<ChildId> {
        match self {
            Self::Decided { child, .. }
            | Self::DeciderFailed { child, .. }
            | Self::ReportDeferred(child)
            | Self::ReportDropped(child, _) => Some(*child),
            Self::Started { .. }
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
