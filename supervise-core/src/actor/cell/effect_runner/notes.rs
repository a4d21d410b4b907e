//! Passing the protocol's notes on to the log and to the subscribers, with what they need to know about the actor.

use super::EffectRunner;
use super::decision::Basis;
use crate::actor::cell::{AnyCell, Core};
use crate::actor::definition::Actor;
use crate::actor::end_reason::EndReason;
use crate::base::ActorPath;
use crate::failure::{During, Failure};
use crate::observe::{About, Life, Observer, may_log};
use crate::supervision::{ChildId, Note, OnLimit, Outcome, Strategy};

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
    let life = || match &note {
        Note::Started { again } if !again || core.protocol().runs_for_the_first_time() => Some(Life::Started),
        // `Started` stands for a restart too: an earlier attempt had failed, and this one succeeded.
        Note::Restarted(_) | Note::Started { .. } => Some(Life::Restarted),
        Note::Aborted => Some(Life::Aborted),
        Note::Stopped(_) => {
            let messages = cell.vitals().taken_up();
            Some(Life::Ended { why: core.end_reason().name(), messages })
        }
        _ => None,
    };
    observer.count(|| Some((core.description().type_name(), life()?)));
    if observer.wants(&note) {
        core.tell(cell, observer, note, strategy, basis);
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
    fn tell(
        &self,
        cell: &dyn AnyCell,
        observer: &Observer,
        note: Note<Failure>,
        strategy: &Strategy,
        basis: Option<&Basis>,
    ) {
        match note.child() {
            Some(child) => self.tell_of_child(observer, note, child, strategy, basis),
            None => self.tell_of_itself(cell, observer, note, strategy),
        }
    }

    fn tell_of_itself(&self, cell: &dyn AnyCell, observer: &Observer, note: Note<Failure>, strategy: &Strategy) {
        if may_log() {
            let mut about = self.about(self.path(), strategy, None);
            if matches!(note, Note::Started { again: true } | Note::Restarted(_))
                && let Some(parent) = &self.parent
            {
                // The parent keeps the count. This cell's lock is not held while the parent's is taken.
                about.attempt = parent.core().protocol().failures_in_row(self.id);
            }
            // The handler or hook that the actor entered last.
            let dropped = matches!(note, Note::Aborted).then(|| cell.vitals().entered);
            let dropped = dropped.and_then(|entered| During::numbered(entered, self.description().handlers()));
            observer.log(&about, &note, dropped.map_or("", During::name));
        }
        observer.publish_own(note, || self.path_in_parts());
    }

    fn tell_of_child(
        &self,
        observer: &Observer,
        note: Note<Failure>,
        id: ChildId,
        strategy: &Strategy,
        basis: Option<&Basis>,
    ) {
        // The last decision may have been made in an earlier step.
        let basis = basis.filter(|_| matches!(note, Note::Decided { .. } | Note::DeciderFailed { .. }));
        let strategy = basis.map_or(strategy, |basis| &basis.strategy);
        let mut about = self.about(self.keep_path(), strategy, basis);
        let now = about.now.unwrap_or_default();
        let protocol = self.protocol();
        let child = protocol.child(id).cloned();
        if let (Note::Decided { outcome, .. }, Some(directive)) = (&note, about.directive) {
            let refused = matches!(outcome, Outcome::LimitReached { .. } | Outcome::LimitEscalated);
            about.standing = protocol.standing_of_rule(id, strategy, directive, refused, now);
            if about.standing.is_some() {
                about.limit = directive.limit();
            }
            if refused && protocol.gave_up(id) {
                about.gave_up_after =
                    directive.backoff().or(strategy.backoff).and_then(|backoff| backoff.give_up_after);
            }
        }
        about.standing = about.standing.or_else(|| protocol.standing(id, strategy, now));
        about.attempt = protocol.failures_in_row(id);
        let is_last = about.standing.is_some_and(|standing| standing.used >= standing.of);
        if is_last && strategy.on_limit == OnLimit::Escalate && may_log() {
            let others = || protocol.children().filter(|(other, _)| *other != id);
            let names = others().take(NAMED).map(|(_, other)| other.name().to_owned()).collect();
            about.others = Some((names, others().count()));
        }
        drop(protocol);
        if let Some(child) = child {
            let child = child.core();
            (about.uid, about.child) = (child.uid, Some(child.keep_path()));
            about.child_type = child.description().type_name();
        }
        observer.note_of_child(about, note);
    }

    fn about<'a>(&self, actor: ActorPath, strategy: &'a Strategy, basis: Option<&'a Basis>) -> About<'a> {
        let description = self.description();
        let actor_type = description.type_name();
        About {
            actor,
            actor_type,
            actor_uid: self.uid,
            uid: self.uid,
            child: None,
            child_type: actor_type,
            directive: basis.and_then(|basis| basis.directive.as_ref()),
            strategy,
            limit: strategy.limit,
            rule: description.table().rule_named(basis.and_then(|basis| basis.rule)),
            standing: None,
            gave_up_after: None,
            attempt: 0,
            now: basis.map(|basis| basis.now),
            others: None,
        }
    }
}
