//! Passing the protocol's notes on to the log and to the subscribers, with what they need to know about the actor.

use super::EffectRunner;
use super::decision::Basis;
use crate::actor::cell::{AnyCell, Core};
use crate::actor::definition::Actor;
use crate::actor::end_reason::EndReason;
use crate::failure::Failure;
use crate::observe::{About, Life, Observer};
use crate::supervision::{ChildId, Note, OnLimit, Outcome, Strategy, Time};

/// How many siblings of a failed actor are named.
const NAMED: usize = 3;

impl<A: Actor> EffectRunner<A> {
    pub(super) fn note(&self, note: Note<Failure>, basis: Option<&Basis>) {
        let core = &self.cell.core;
        match &note {
            Note::Decided { child, cause, outcome, .. } => core.decided(*child, cause, *outcome),
            Note::DeciderFailed { child, about, .. } => {
                core.left_child_unanswered(*child, about, Outcome::Escalated);
            }
            _ => {}
        }
        let observer = core.system.observer();
        if observer.listens_to(&note) {
            heard(&*self.cell, self.strategy(), observer, note, basis);
        }
    }
}

// What follows depends on no actor type, so that it is compiled once.

#[cold]
fn heard(
    cell: &dyn AnyCell,
    strategy: &Strategy,
    observer: &Observer,
    note: Note<Failure>,
    basis: Option<&Basis>,
) {
    let core = cell.core();
    observer.count(core.description().type_name(), || match &note {
        Note::Started { again } if !again || core.protocol().runs_for_the_first_time() => Some(Life::Started),
        // `Started` stands for a restart too: an earlier attempt had failed, and this one succeeded.
        Note::Restarted(_) | Note::Started { .. } => Some(Life::Restarted),
        Note::Aborted => Some(Life::Aborted),
        Note::Stopped(_) => {
            let messages = cell.vitals().taken_up();
            Some(Life::Ended { why: core.end_reason().name(), messages })
        }
        _ => None,
    });
    if observer.wants(&note) {
        core.tell(observer, note, strategy, basis);
    }
}

impl Core {
    #[cold]
    fn decided(&self, child: ChildId, cause: &Failure, outcome: Outcome) {
        match outcome {
            Outcome::Escalated | Outcome::LimitEscalated => {
                let failed = self.protocol().child(child).cloned();
                cause.escalated(|| failed.map_or_else(|| self.path(), |failed| failed.path()));
            }
            Outcome::Stopped { .. } | Outcome::LimitReached { .. } => {}
            Outcome::Resumed | Outcome::Restarting { .. } | Outcome::AlreadyAnswered => return,
        }
        self.left_child_unanswered(child, cause, outcome);
    }

    /// Records the failure of a child that neither a resume nor a restart answers, as the reason of its end. Must be
    /// called before the child is told to stop.
    ///
    /// Rule 8.8.
    #[cold]
    fn left_child_unanswered(&self, child: ChildId, cause: &Failure, outcome: Outcome) {
        let protocol = self.protocol();
        let Some(failed) = protocol.child(child).cloned() else { return };
        let ends = protocol.awaits_end_of(child);
        drop(protocol);
        let at_limit = matches!(outcome, Outcome::LimitReached { .. } | Outcome::LimitEscalated);
        failed.core().left_unanswered(EndReason::unanswered(cause.clone(), at_limit), ends);
    }

    #[cold]
    fn tell(&self, observer: &Observer, note: Note<Failure>, strategy: &Strategy, basis: Option<&Basis>) {
        let (strategy, rule, now) = match basis {
            Some(basis) => (basis.strategy, basis.rule, basis.now),
            None => (*strategy, None, Time::ZERO),
        };
        let mut about = About {
            actor: if note.child().is_some() { self.keep_path() } else { self.path() },
            actor_type: self.description().type_name(),
            uid: self.uid,
            child: None,
            child_type: self.description().type_name(),
            strategy,
            rule: self.description().table().rule_named(rule),
            standing: None,
            gave_up_after: None,
            attempt: 0,
            now: basis.map(|basis| basis.now),
            others: None,
        };
        if matches!(note, Note::Started { again: true } | Note::Restarted(_))
            && let Some(parent) = &self.parent
        {
            // The parent keeps the count. This cell's lock is not held while the parent's is taken.
            about.attempt = parent.core().protocol().failures_in_row(self.id);
        }
        if let Some(id) = note.child() {
            let protocol = self.protocol();
            let child = protocol.child(id).cloned();
            about.standing = match &note {
                Note::Decided { directive, outcome, .. } => {
                    let refused = matches!(outcome, Outcome::LimitReached { .. } | Outcome::LimitEscalated);
                    let standing = protocol.standing_of_rule(id, &strategy, directive, refused, now);
                    if standing.is_some() {
                        about.strategy.limit = directive.limit();
                    }
                    if refused && protocol.gave_up(id) {
                        about.gave_up_after =
                            directive.backoff().or(strategy.backoff).and_then(|backoff| backoff.give_up_after);
                    }
                    standing.or_else(|| protocol.standing(id, &strategy, now))
                }
                _ => protocol.standing(id, &strategy, now),
            };
            about.attempt = protocol.failures_in_row(id);
            let is_last = about.standing.is_some_and(|standing| standing.used >= standing.of);
            if is_last && about.strategy.on_limit == OnLimit::Escalate {
                let others = || protocol.children().filter(|(other, _)| *other != id);
                let names = others().take(NAMED).map(|(_, other)| other.name().to_owned()).collect();
                about.others = Some((names, others().count()));
            }
            drop(protocol);
            if let Some(child) = child {
                (about.uid, about.child) = (child.core().uid, Some(child.core().keep_path()));
                about.child_type = child.core().description().type_name();
            }
        }
        observer.note(about, note);
    }
}
