//! The decisions of this actor as a supervisor: the protocol asks a [`Question`], and this asks the decider and gives the protocol the
//! answer.

use std::sync::Arc;
use std::time::Duration;

use super::EffectRunner;
use crate::actor::cell::{Core, Room};
use crate::actor::configuration::Configuration;
use crate::actor::definition::Actor;
use crate::actor::props::{Policy, Settings};
use crate::base::{ActorName, contained};
use crate::failure::{During, Failure};
use crate::supervision::{ChildId, ChildInfo, Directive, Input, Ruling, Scope, Strategy, Time};

/// A question of the protocol to the supervisor. The protocol continues with the answer.
pub(super) enum Question {
    /// What to do about the failure of a child.
    Decide(ChildId, Failure),
    /// What to do about the end of a permanent child. The answer is always a restart.
    RestartEnded(Failure),
}

/// A decision, before it is carried out.
struct Decided {
    verdict: Result<Directive, Failure>,
    cause: Failure,
    /// Whether a restart may be another try of a creation.
    creates: bool,
    /// The place of the rule that matched.
    rule: Option<u16>,
}

/// What a decision was based on, for the log and the subscribers.
pub(in crate::actor::cell) struct Basis {
    /// The decider's answer, unless it failed.
    pub(super) directive: Option<Directive>,
    pub(super) strategy: Strategy,
    /// The place of the rule that matched.
    pub(super) rule: Option<u16>,
    pub(super) now: Time,
}

impl<A: Actor> EffectRunner<A> {
    /// The step that answers a question of the protocol.
    #[cold]
    pub(super) fn answer(&mut self, question: Question, about: &mut Option<ChildInfo>, room: &mut Room) {
        let (mut given, mut rule) = (None, None);
        // Another creation may be delayed without a declared backoff (rule 5.3).
        let (verdict, cause, creates) = match question {
            Question::Decide(child, cause) => {
                // The step may have been in an earlier turn.
                let info = about.take().or_else(|| self.cell.core.protocol().about(child));
                let creates = cause.is_initialization();
                (self.decide(&cause, info, &mut given, &mut rule), cause, creates)
            }
            Question::RestartEnded(cause) => (Ok(Directive::Restart), cause, true),
        };
        let strategy = given.as_ref().unwrap_or_else(|| self.strategy());
        let decided = Decided { verdict, cause, creates, rule };
        let concerns_siblings = strategy.scope != Scope::OneForOne;
        self.accepts = self.cell.core.decided_by(decided, strategy, about, room);
        if concerns_siblings {
            // Rule 14.8.
            self.cell.core.wake_waiting();
        }
    }

    /// Asks the decider. A decider that chooses a strategy for each failure puts the strategy into `given`. A table puts the
    /// place of the rule that matched into `rule`.
    fn decide(
        &self,
        cause: &Failure,
        info: Option<ChildInfo>,
        given: &mut Option<Strategy>,
        rule: &mut Option<u16>,
    ) -> Result<Directive, Failure> {
        let nobody = || ChildInfo { name: ActorName::from(""), restarts: 0, is_answered: false, runs: 0 };
        let info = info.unwrap_or_else(nobody);
        let decided = contained(|| match self.policy() {
            Some(policy) => {
                let (ruled, strategy) = (policy.decide)(cause, &info)?;
                *given = Some(strategy);
                Ok(ruled)
            }
            None => match self.configuration() {
                Some(values) => A::rule_by(values, cause, &info),
                None => A::rule(cause, &info),
            },
        });
        match decided.unwrap_or_else(|payload| Err(Failure::panic(payload))) {
            Ok((directive, matched)) => {
                *rule = matched;
                Ok(directive)
            }
            Err(failure) => Err(failure.left(Some(During::Decider))),
        }
    }

    pub(super) fn strategy(&self) -> &Strategy {
        match (self.policy(), self.configuration()) {
            (Some(policy), _) => &policy.strategy,
            (None, Some(values)) => values.strategy(),
            (None, None) => const { &A::STRATEGY },
        }
    }

    /// Whether the answer to a failure may be a restart of other children too. A policy may choose a strategy for each failure.
    pub(in crate::actor::cell) fn may_restart_groups(&self) -> bool {
        self.policy().is_some() || self.strategy().scope != Scope::OneForOne
    }

    fn configuration(&self) -> Option<&Configuration> {
        self.rare.as_ref()?.configuration.as_deref()
    }

    /// Takes the values of a new instance.
    ///
    /// Rule 7.12.
    pub(in crate::actor::cell) fn configure(&mut self, configuration: Arc<Configuration>) {
        self.rare().configuration = Some(configuration);
    }

    fn policy(&self) -> Option<&Policy> {
        self.settings()?.policy.as_ref()
    }

    pub(super) fn stop_timeout(&self) -> Duration {
        self.settings().and_then(|settings| settings.stop_timeout).unwrap_or(A::STOP_TIMEOUT)
    }

    fn settings(&self) -> Option<&Settings> {
        self.rare.as_ref()?.settings.as_deref()
    }
}

impl Core {
    /// Takes the step. Returns whether messages are accepted. Here, so that it is compiled once and not for each actor type.
    #[cold]
    fn decided_by(
        &self,
        Decided { verdict, cause, creates, rule }: Decided,
        strategy: &Strategy,
        about: &mut Option<ChildInfo>,
        room: &mut Room,
    ) -> bool {
        let system = &self.system;
        let heard = system.observer().hears_failures();
        // Only a delay needs a random number, and only a delay, a limit and a listener need the time.
        let of_rule = |asks: fn(&Directive) -> bool| verdict.as_ref().is_ok_and(asks);
        let delays = strategy.backoff.is_some() || of_rule(Directive::has_backoff);
        let limited = !strategy.limit.is_unlimited() || of_rule(Directive::is_limited);
        let now = if delays || creates || heard || limited { system.now() } else { Time::ZERO };
        let draw = if delays { fastrand::f64() } else { 0.0 };
        let ruling = Ruling { verdict, strategy, now, draw, heard };
        let accepts = self.step(Input::Decided(cause, &ruling), about, &mut room.effects);
        // No closure, which would copy the whole basis even if nobody is told.
        room.basis = None;
        if heard {
            room.basis = Some(Basis { directive: ruling.verdict.ok(), strategy: *strategy, rule, now });
        }
        accepts
    }
}
