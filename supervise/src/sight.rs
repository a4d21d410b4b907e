//! The input of the collector: plain values, so that its tests need no system.

use std::time::Duration;

use supervise_core::{
    ActorPath, Count, DeadLetterReason, DeciderTable, During, Event, Glimpse, Intervention, Limit, NodeState,
    OnLimit, Outcome, Scope, Standing, Strategy, Window,
};

/// How many events are read before a look. A system keeps fewer for a subscriber, unless it is told otherwise.
pub(super) const EVENTS_AT_ONCE: usize = 65_536;

/// The time since the system began.
pub(super) type Time = Duration;

/// One actor, as a look found it.
#[derive(Debug, Clone)]
pub(super) struct Sight<'a> {
    /// Its incarnation.
    pub(super) key: u64,
    pub(super) depth: usize,
    pub(super) name: &'a str,
    pub(super) actor_type: &'static str,
    pub(super) state: NodeState,
    pub(super) handling: bool,
    pub(super) parked: bool,
    pub(super) handler: Option<&'static str>,
    /// Wraps.
    pub(super) pushed: u32,
    pub(super) waiting: usize,
    pub(super) capacity: Option<usize>,
    pub(super) stashed: usize,
    /// The keys of the actors for which its code waits.
    pub(super) waits_for: Vec<u64>,
    pub(super) restarts: u32,
    pub(super) attempt: u32,
    pub(super) budget: Option<Budget>,
    /// `None`: something may refuse its restart, or that is not known.
    pub(super) endless: Option<Endless>,
    pub(super) due: Option<Time>,
    /// Whether it has restarted and may get a message again that made it fail.
    pub(super) may_repeat: bool,
}

/// Set if its supervisor's strategy and rules declare nothing that refuses a restart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Endless {
    /// Whether they declare a delay. If they declare none and a restart is delayed, the strategy depends on the
    /// supervisor's instance, and may give the child up.
    pub(super) delays: bool,
}

impl Endless {
    fn of(strategy: &Strategy, table: DeciderTable) -> Option<Self> {
        let rules = match table {
            DeciderTable::Default => &[],
            DeciderTable::Rules(rules) => rules,
            _ => return None,
        };
        let of_rules = rules.iter().filter_map(|rule| rule.directive);
        let limited = of_rules.clone().any(|directive| !directive.limit().is_unlimited());
        let mut backoffs = of_rules.filter_map(|directive| directive.backoff()).chain(strategy.backoff).peekable();
        let delays = backoffs.peek().is_some();
        let gives_up = backoffs.any(|backoff| backoff.give_up_after.is_some());
        let is_known = strategy.limit.is_unlimited() && rules.iter().all(|rule| rule.configured.is_none());
        (is_known && !limited && !gives_up).then_some(Self { delays })
    }
}

/// The actors that go when the limit of an actor is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// The supervisor fails.
    Supervisor,
    /// The actor stops, and with it its siblings, all or only those that were started after it.
    Siblings { later: bool },
    /// The actor stops.
    Nobody,
}

impl Takes {
    fn of(strategy: &Strategy) -> Self {
        match (strategy.on_limit, strategy.scope) {
            (OnLimit::Escalate, _) => Self::Supervisor,
            (OnLimit::Stop, Scope::OneForOne) => Self::Nobody,
            (OnLimit::Stop, Scope::AllForOne) => Self::Siblings { later: false },
            (OnLimit::Stop, Scope::RestForOne) => Self::Siblings { later: true },
        }
    }
}

/// Whose failures a restart limit counts for an actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    /// Its own.
    Own,
    /// Also those of its siblings, because the strategy restarts them together. Each of them has a count.
    Group,
    /// Those of all children of its supervisor, which share one count.
    All,
}

impl Counts {
    fn of(strategy: &Strategy, is_rule: bool) -> Self {
        match (strategy.count, strategy.scope) {
            (Count::Supervisor, _) => Self::All,
            (Count::Child, Scope::AllForOne | Scope::RestForOne) if !is_rule => Self::Group,
            (Count::Child, _) => Self::Own,
        }
    }
}

/// How much of a restart limit is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Budget {
    pub(super) used: u32,
    pub(super) of: u32,
    pub(super) within: Option<Duration>,
    pub(super) counts: Counts,
    /// The actors that go at the limit.
    pub(super) takes: Takes,
    /// The rule whose own limit it is. `None`: the strategy's.
    pub(super) rule: Option<&'static str>,
    /// When the count starts anew, or the oldest restart stops counting.
    pub(super) anew_at: Option<Time>,
    /// Whether only the oldest restart stops counting then.
    pub(super) slides: bool,
}

/// Whether at most one restart of two or more is left.
pub(super) fn is_near(used: u32, of: u32) -> bool {
    of >= 2 && used + 1 >= of
}

impl Budget {
    pub(super) fn is_near(self) -> bool {
        is_near(self.used, self.of)
    }

    fn of(standing: Standing, limit: Limit, strategy: &Strategy, rule: Option<&'static str>) -> Self {
        Self {
            used: standing.used,
            of: standing.of,
            within: limit.within,
            counts: Counts::of(strategy, rule.is_some()),
            takes: Takes::of(strategy),
            rule,
            anew_at: standing.anew_at,
            // The window of a limit that depends on the supervisor's instance is not known here. In either case,
            // the oldest restart stops counting.
            slides: limit.window == Window::Sliding || limit.is_unlimited(),
        }
    }
}

impl<'a> Sight<'a> {
    /// `above` is how its parent supervises.
    pub(super) fn of(glimpse: &'a Glimpse, above: Option<&(Strategy, DeciderTable)>) -> Self {
        let endless = above
            .filter(|_| glimpse.attempt() > 0 && glimpse.standing().is_none())
            .and_then(|(strategy, table)| Endless::of(strategy, *table));
        let above = above.map(|(strategy, _)| strategy);
        let of_strategy = glimpse
            .standing()
            .zip(above)
            .map(|(standing, strategy)| Budget::of(standing, strategy.limit, strategy, None));
        let of_rule = glimpse.standing_of_rule().zip(above).map(|((rule, standing), strategy)| {
            let limit = rule.directive.map_or(Limit::UNLIMITED, |directive| directive.limit());
            Budget::of(standing, limit, strategy, Some(rule.pattern))
        });
        let budget =
            of_rule.into_iter().chain(of_strategy).min_by_key(|budget| budget.of.saturating_sub(budget.used));
        let waits = if glimpse.is_parked() { glimpse.waits_for() } else { Vec::new() };
        Self {
            key: glimpse.uid().into(),
            depth: glimpse.depth(),
            name: glimpse.actor().name(),
            actor_type: glimpse.actor_type(),
            state: glimpse.state(),
            handling: glimpse.is_handling(),
            parked: glimpse.is_parked(),
            handler: glimpse.handler(),
            pushed: glimpse.pushed(),
            waiting: glimpse.waiting(),
            capacity: glimpse.capacity(),
            stashed: glimpse.stashed(),
            waits_for: waits.iter().map(|actor| actor.uid().into()).collect(),
            restarts: glimpse.restarts(),
            attempt: glimpse.attempt(),
            budget,
            endless,
            due: glimpse.due(),
            // Only the cards of actors that have restarted tell of it.
            may_repeat: glimpse.restarts() > 0 && glimpse.may_repeat(),
        }
    }

    /// How many messages it took up so far. It wraps.
    pub(super) fn handled(&self) -> u32 {
        self.pushed.wrapping_sub(u32::try_from(self.waiting).unwrap_or(u32::MAX))
    }
}

/// Something that happened between two looks.
#[derive(Debug, Clone)]
pub(super) enum Happening {
    Failed(Decision),
    GaveUp(GivenUp),
    Delayed(Replacement),
    Lost(Loss),
    Intervened(Intervened),
    /// This many events were missed.
    Missed(u64),
}

/// A failure, and what was decided.
#[derive(Debug, Clone)]
pub(super) struct Decision {
    pub(super) key: u64,
    /// The path of the actor that failed.
    pub(super) child: String,
    pub(super) child_type: &'static str,
    pub(super) supervisor: String,
    pub(super) supervisor_type: &'static str,
    /// The supervisor's incarnation.
    pub(super) supervisor_key: u64,
    pub(super) text: String,
    /// The path of the actor that failed first, if its failure was escalated.
    pub(super) origin: Option<String>,
    pub(super) during: Option<During>,
    pub(super) rule: Option<&'static str>,
    pub(super) outcome: Outcome,
    pub(super) attempt: u32,
    /// How much of the limit is used after it.
    pub(super) used: Option<(u32, u32)>,
    /// If a backoff supervisor is to replace the actor that was ended: after which delay.
    pub(super) replaced: Option<Duration>,
}

impl Decision {
    /// Whether the actor was ended.
    pub(super) fn ended(&self) -> bool {
        matches!(self.outcome, Outcome::Stopped { .. } | Outcome::LimitReached { .. })
    }
}

/// A pool or a backoff supervisor that stops, because a failure ended its last child.
#[derive(Debug, Clone)]
pub(super) struct GivenUp {
    pub(super) key: u64,
    pub(super) actor: String,
    pub(super) actor_type: &'static str,
    /// The incarnation of its supervisor.
    pub(super) supervisor_key: u64,
}

/// Another child takes the place of one that a failure ended, after a delay.
#[derive(Debug, Clone)]
pub(super) struct Replacement {
    /// The path of both.
    pub(super) child: String,
    pub(super) delay: Duration,
    /// How many times in a row a child has ended, and how many of the last ones were failures.
    pub(super) attempt: u32,
    pub(super) failures: u32,
}

/// A dead letter.
#[derive(Debug, Clone)]
pub(super) struct Loss {
    /// The path of the recipient. If it is an actor of another node: with that node.
    pub(super) recipient: String,
    /// Its sender's path, if that is known.
    pub(super) sender: Option<String>,
    pub(super) message: &'static str,
    pub(super) reason: DeadLetterReason,
}

/// What an operator did to an actor.
#[derive(Debug, Clone)]
pub(super) struct Intervened {
    /// The actor's path.
    pub(super) actor: String,
    pub(super) what: Intervention,
    pub(super) by: String,
}

/// The path within this system, or the whole path of an actor of another node, which may have the same path within its own system.
fn path_of(actor: &ActorPath) -> String {
    if actor.address().is_some() { actor.to_string() } else { actor.local().to_owned() }
}

impl Happening {
    /// `None` if the collector does not use this event.
    pub(super) fn of(event: &Event) -> Option<Self> {
        Some(match event {
            Event::Decided {
                supervisor,
                supervisor_type,
                supervisor_uid,
                child,
                child_type,
                uid,
                failure,
                text,
                rule,
                outcome,
                attempt,
                standing,
                ..
            } => Self::Failed(Decision {
                key: (*uid).into(),
                child: child.local().to_owned(),
                child_type,
                supervisor: supervisor.local().to_owned(),
                supervisor_type,
                supervisor_key: (*supervisor_uid).into(),
                text: text.to_string(),
                origin: failure.origin().filter(|origin| *origin != child).map(|origin| origin.local().to_owned()),
                during: failure.during(),
                rule: *rule,
                outcome: *outcome,
                attempt: *attempt,
                used: standing.map(|standing| (standing.used, standing.of)),
                replaced: None,
            }),
            Event::GaveUp { actor, actor_type, uid, supervisor_uid, .. } => Self::GaveUp(GivenUp {
                key: (*uid).into(),
                actor: actor.local().to_owned(),
                actor_type,
                supervisor_key: (*supervisor_uid).into(),
            }),
            Event::ReplacementDelayed { child, delay, attempt, failures, .. } => Self::Delayed(Replacement {
                child: child.local().to_owned(),
                delay: *delay,
                attempt: *attempt,
                failures: *failures,
            }),
            Event::DeadLetter(letter) => Self::Lost(Loss {
                recipient: path_of(&letter.recipient),
                sender: letter.sender.as_ref().map(path_of),
                message: letter.message,
                reason: letter.reason,
            }),
            Event::Intervened { actor, what, by, .. } => {
                Self::Intervened(Intervened { actor: actor.local().to_owned(), what: *what, by: by.to_string() })
            }
            Event::Missed(missed) => Self::Missed(*missed),
            _ => return None,
        })
    }
}

/// Every reason of a dead letter. Each has a name in the metrics and words in the console.
#[cfg(test)]
pub(super) const REASONS: &[DeadLetterReason] = &[
    DeadLetterReason::Stopped,
    DeadLetterReason::NoChild,
    DeadLetterReason::MailboxFull,
    DeadLetterReason::TooManyChildren,
    DeadLetterReason::StashFull,
    DeadLetterReason::Quarantined,
    DeadLetterReason::Abandoned,
    DeadLetterReason::NotFound,
    DeadLetterReason::CircuitOpen,
    DeadLetterReason::Unreachable,
    DeadLetterReason::TooLarge,
    DeadLetterReason::Unsendable,
    DeadLetterReason::UnknownMessage,
    DeadLetterReason::Untrusted,
    DeadLetterReason::Undecodable,
    #[cfg(feature = "durable")]
    DeadLetterReason::NotAccepted,
    #[cfg(feature = "durable")]
    DeadLetterReason::Damaged,
    #[cfg(feature = "durable")]
    DeadLetterReason::CrashedTheProcess,
];
