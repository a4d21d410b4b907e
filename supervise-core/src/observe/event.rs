//! What happens in a system, as its subscribers get it.

use std::sync::Arc;
use std::time::Duration;

use super::dead_letter::DeadLetter;
use super::intervention::Intervention;
use crate::base::{ActorPath, Uid};
use crate::failure::Failure;
use crate::supervision::{Count, Directive, Hook, HowEnded, Limit, Note, Outcome, Standing};

/// Something that happened in a system.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// An actor is ready for its first message.
    #[non_exhaustive]
    Started {
        /// The actor.
        actor: ActorPath,
    },
    /// A [pool](crate::pattern::Pool) or a [backoff supervisor](crate::pattern::BackoffSupervisor) stops, because a failure ended its last
    /// child and no other one takes its place (rules
    /// [13.4](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-13.4),
    /// [13.5](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-13.5) and
    /// [13.8](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-13.8)).
    #[non_exhaustive]
    GaveUp {
        /// The pool or the backoff supervisor.
        actor: ActorPath,
        /// The name of its type.
        actor_type: &'static str,
        /// Its incarnation.
        uid: Uid,
        /// The incarnation of its supervisor.
        supervisor_uid: Uid,
        /// The failure that ended its child.
        failure: Failure,
    },
    /// A failure has ended the child of a [backoff supervisor](crate::pattern::BackoffSupervisor), and another one takes its place after
    /// this delay (rules
    /// [13.3](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-13.3) and
    /// [13.4](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-13.4)). If the supervisor restarts or stops, it
    /// does not wait any longer.
    #[non_exhaustive]
    ReplacementDelayed {
        /// The child.
        child: ActorPath,
        /// How long the supervisor waits.
        delay: Duration,
        /// How many times in a row a child has ended.
        attempt: u32,
        /// How many of these ends were failures. An end without a failure sets this to 0.
        failures: u32,
    },
    /// A supervisor decided about a failed child. This event occurs once for each failure
    /// (rule [10.2](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-10.2)).
    #[non_exhaustive]
    Decided {
        /// The supervisor that decided.
        supervisor: ActorPath,
        /// The name of its type, as [`std::any::type_name`] returns it.
        supervisor_type: &'static str,
        /// The supervisor's incarnation. It stays the same when the supervisor restarts.
        supervisor_uid: Uid,
        /// The child that failed.
        child: ActorPath,
        /// The name of its type.
        child_type: &'static str,
        /// The child's incarnation.
        uid: Uid,
        /// The failure. [`Failure::during`] names the code that failed.
        failure: Failure,
        /// The text of the failure and of its causes, each once, at most 512 bytes. Keeping this text does not keep the error
        /// alive.
        text: Arc<str>,
        /// The decider's answer.
        directive: Directive,
        /// The rule that matched, as the table of the supervisor writes it: `io::Error`, `_`. `default` for the default decider, the
        /// function's name for `decider = ..`. `None` if no rule matched, or if the decider was passed at run
        /// time.
        rule: Option<&'static str>,
        /// The result of the decision. A limit may refuse a restart.
        outcome: Outcome,
        /// The number of this failure in its streak, counted from 1
        /// (rule [10.6](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-10.6)).
        attempt: u32,
        /// How much of the restart limit is used after the decision. `None`: there is no limit.
        standing: Option<Standing>,
    },
    /// A restart was refused because the limit is reached. This event comes right before the decision, which says what follows
    /// (rule [10.2](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-10.2)).
    #[non_exhaustive]
    LimitReached {
        /// Whose limit.
        supervisor: ActorPath,
        /// The actor that failed once too often.
        child: ActorPath,
        /// Its failure. The [`origin`](Failure::origin) is the actor that failed first, if that was another one.
        failure: Failure,
        /// How many restarts were granted.
        limit: Limit,
        /// Whose restarts were counted.
        count: Count,
        /// Set if the child was given up because it had been failing for this long
        /// ([`Backoff::give_up_after`](crate::Backoff::give_up_after)). The limit of the number of restarts was not asked then.
        gave_up_after: Option<Duration>,
    },
    /// A decider failed, so its supervisor fails.
    #[non_exhaustive]
    DeciderFailed {
        /// The supervisor whose decider failed.
        supervisor: ActorPath,
        /// The child that failed.
        child: ActorPath,
        /// The decider's failure.
        failure: Failure,
        /// The child's failure, which the decider had to decide.
        about: Failure,
    },
    /// A supervisor has failed or is restarting itself, so it decides about a child later.
    #[non_exhaustive]
    ReportDeferred {
        /// The supervisor that decides later.
        supervisor: ActorPath,
        /// The child that failed.
        child: ActorPath,
    },
    /// No supervisor decides a failure, because the failed actor has ended or its supervisor is stopping.
    #[non_exhaustive]
    ReportDropped {
        /// The supervisor that received the report.
        supervisor: ActorPath,
        /// The failure.
        failure: Failure,
    },
    /// An actor has a new instance.
    #[non_exhaustive]
    Restarted {
        /// The actor.
        actor: ActorPath,
        /// The failure.
        failure: Failure,
    },
    /// A failed actor continues with its instance.
    #[non_exhaustive]
    Resumed {
        /// The actor.
        actor: ActorPath,
    },
    /// A hook failed, and its failure was ignored.
    #[non_exhaustive]
    HookFailed {
        /// The actor.
        actor: ActorPath,
        /// The hook.
        hook: Hook,
        /// The failure.
        failure: Failure,
    },
    /// A handler or hook outlived the stop timeout and was dropped at its await point.
    #[non_exhaustive]
    Aborted {
        /// The actor.
        actor: ActorPath,
    },
    /// An actor ended.
    #[non_exhaustive]
    Stopped {
        /// The actor.
        actor: ActorPath,
        /// How it ended.
        how: HowEnded,
    },
    /// An operator did something to an actor
    /// (rule [22.7](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-22.7)).
    #[non_exhaustive]
    Intervened {
        /// The actor.
        actor: ActorPath,
        /// Its incarnation.
        uid: Uid,
        /// What the operator asked for.
        what: Intervention,
        /// Who it was: the label of the operator's token.
        by: Arc<str>,
    },
    /// There is an association with another node (feature `remote`).
    #[non_exhaustive]
    NodeUp {
        /// The node: `system@host:port`.
        node: Arc<str>,
    },
    /// Another node was given up, and all refs to its actors ended (feature `remote`,
    /// rule [26.3](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-26.3)).
    #[non_exhaustive]
    NodeDown {
        /// The node: `system@host:port`.
        node: Arc<str>,
        /// Why, in a word: `vanished`, `silent`, `lost`.
        why: &'static str,
    },
    /// This node and another one cannot talk to each other (feature `remote`).
    #[non_exhaustive]
    NodeRefused {
        /// The node: `system@host:port`.
        node: Arc<str>,
        /// Why, in a word: `version`, `mesh`.
        why: &'static str,
    },
    /// A message became a dead letter.
    DeadLetter(DeadLetter),
    /// An actor with a durable mailbox ended, and messages stay in its queue
    /// (rule [27.10](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.10)).
    #[cfg(feature = "durable")]
    #[non_exhaustive]
    Kept {
        /// The actor.
        actor: ActorPath,
        /// The queue.
        queue: Arc<str>,
        /// How many messages.
        messages: u64,
    },
    /// Messages wait in a queue of the message store that no actor has owned since the system was started, 30 s ago
    /// (rule [27.11](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.11)).
    #[cfg(feature = "durable")]
    #[non_exhaustive]
    QueueUnowned {
        /// The queue.
        queue: Arc<str>,
        /// How many messages.
        messages: u64,
    },
    /// A message of a durable mailbox is in quarantine. A dead letter says so too
    /// (rule [27.15](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.15)).
    #[cfg(feature = "durable")]
    #[non_exhaustive]
    Quarantined {
        /// The actor.
        actor: ActorPath,
        /// The queue.
        queue: Arc<str>,
        /// The message.
        id: crate::durable::MessageId,
        /// The stored name of its handler.
        kind: Arc<str>,
        /// Why.
        fate: crate::durable::Fate,
        /// The failures of its attempts, or the reason in words.
        failures: Vec<Failure>,
    },
    /// The message store has failed, or cannot be opened. It is tried again
    /// (rule [27.13](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.13)).
    #[cfg(feature = "durable")]
    #[non_exhaustive]
    StoreFailed {
        /// What happened.
        error: Arc<str>,
    },
    /// The message store is open again.
    #[cfg(feature = "durable")]
    StoreOpened,
    /// Accepted messages are missing from the message store
    /// (rule [27.14](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-27.14)).
    #[cfg(feature = "durable")]
    #[non_exhaustive]
    MessagesMissing {
        /// Which.
        messages: Vec<crate::durable::MessageId>,
    },
    /// The subscriber was too slow and missed this many events.
    Missed(u64),
}

impl Event {
    /// The event for a note that an actor made about itself. `None`: only the log reports the note.
    pub(super) fn of_itself(actor: ActorPath, note: Note<Failure>) -> Option<Self> {
        Some(match note {
            Note::Started { .. } => Self::Started { actor },
            Note::Restarted(failure) => Self::Restarted { actor, failure },
            Note::Resumed => Self::Resumed { actor },
            Note::Stopped(how) => Self::Stopped { actor, how },
            Note::HookFailed(hook, failure) => Self::HookFailed { actor, hook, failure },
            Note::Aborted => Self::Aborted { actor },
            Note::TurnedIntoCreate
            | Note::TurnedIntoRestart
            | Note::Decided { .. }
            | Note::DeciderFailed { .. }
            | Note::ReportDeferred(_)
            | Note::ReportDropped(..) => return None,
        })
    }
}
