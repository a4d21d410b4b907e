//! How a model carries out a decision about one of its children.

use std::collections::BTreeSet;

use supervise_core::supervision::{
    Backoff, Call, Cause, ChildId, Count, Directive, Effect, Growth, Limit, OnLimit, Reset, Ruling, Scope,
    Strategy, SystemMessage, Terms, Time, Timer,
};

use super::{Code, Culprit, Instance, Model, Stage};
use crate::fault::Fault;
use crate::world::Message;

/// A creation that is tried again under no limit must not spin.
const OF_CREATION: Backoff =
    Backoff::exponential(Time::from_millis(100), Time::from_secs(10)).reset_after(Time::from_millis(100));

/// A child that is suspended until a delay is over.
#[derive(Debug, Clone)]
pub(super) struct Wait {
    pub(super) round: u64,
    /// What it gets when the delay is over.
    pub(super) answer: Message,
    /// How often it has been suspended: for its own failures and for those of its siblings.
    pub(super) owed: u32,
    /// Fields restart one after another.
    pub(super) grouped: bool,
}

impl Model {
    pub(super) fn decided(&mut self, ruling: &Ruling<'_, Fault>) {
        let (id, cause, restarts) = self.deciding.take().expect("somebody is decided about");
        let strategy = ruling.strategy;
        let culprit = self.child(id).actor;
        let cannot_resume = cause.is_initialization();
        if self.fields.wait_for(id) {
            return self.decided_about_a_start(id, cause, restarts, ruling);
        }
        match ruling.verdict {
            Err(own) => self.fail(own, Culprit::Child(culprit), &BTreeSet::new()),
            Ok(Directive::Escalate) => self.fail(cause, Culprit::Child(culprit), &BTreeSet::new()),
            // If the child is already about to restart, that restart answers this failure too.
            Ok(directive) if directive != Directive::Stop && self.is_to_restart(id, restarts) => {
                self.owe_one_more(id);
            }
            Ok(directive) if self.fields.is_temporary(id) && (directive != Directive::Resume || cannot_resume) => {
                self.fields.give_up(id);
                if directive != Directive::Stop {
                    self.stop_now(id);
                } else if !self.child(id).asked_to_stop {
                    self.stop_group(&self.affected(id, strategy.scope));
                }
            }
            // If the child is already about to end, that end answers this failure too.
            Ok(_) if self.child(id).asked_to_stop => {}
            Ok(Directive::Resume) if !cannot_resume => self.send(culprit, SystemMessage::Resume(Some(cause))),
            Ok(Directive::Resume) => {
                let delay = self.delay(id, cause, &OF_CREATION, ruling.now);
                self.answer(SystemMessage::Resume(Some(cause)), id, &[id], false, Some(delay));
            }
            Ok(Directive::Stop) => self.stop_group(&self.affected(id, strategy.scope)),
            Ok(directive @ (Directive::Restart | Directive::RestartAfter(_) | Directive::RestartOn(_))) => {
                let all = self.affected(id, strategy.scope);
                let mut affected = all.clone();
                if !self.may_be_delayed(id, cause, &directive, strategy) {
                    // Children whose instance an earlier restart is about to replace do not need another restart.
                    affected.retain(|other| *other == id || !self.child(*other).to_be_replaced);
                }
                let backoff = declared(&directive, ruling);
                if !self.gives_up(id, cause, backoff.as_ref(), ruling.now)
                    && self.rule_may_restart(id, &directive, ruling)
                    && self.may_restart(&affected, strategy, ruling.now)
                {
                    let delay = self.restart_delay(id, cause, &directive, ruling);
                    let grouped = strategy.scope != Scope::OneForOne;
                    self.answer(SystemMessage::Restart(cause), id, &affected, grouped, delay);
                } else if strategy.on_limit == OnLimit::Escalate {
                    self.fail(cause, Culprit::Child(culprit), &BTreeSet::new());
                } else {
                    self.stop_group(&all);
                }
            }
            Ok(_) => unreachable!("there is no other directive"),
        }
    }

    /// The new instance waits for a field that cannot start. With a delayed restart it starts again later; under one-for-one
    /// nobody waits for it meanwhile. Without a delay, or beyond the limit, the new instance is given up.
    fn decided_about_a_start(&mut self, id: ChildId, cause: Fault, restarts: u32, ruling: &Ruling<'_, Fault>) {
        let strategy = ruling.strategy;
        let backoff = match ruling.verdict {
            _ if self.fields.is_temporary(id) => None,
            Ok(Directive::RestartAfter(backoff)) => Some(backoff),
            Ok(Directive::RestartOn(terms)) => terms.backoff.or(strategy.backoff),
            Ok(Directive::Restart) => strategy.backoff,
            _ => None,
        };
        match backoff {
            // Its group restarts for an earlier failure of a sibling.
            Some(_) if self.is_to_restart(id, restarts) => self.owe_one_more(id),
            Some(backoff)
                if !self.gives_up(id, cause, Some(&backoff), ruling.now)
                    && ruling
                        .verdict
                        .as_ref()
                        .is_ok_and(|directive| self.rule_may_restart(id, directive, ruling))
                    && self.may_restart(&[id], strategy, ruling.now) =>
            {
                let delay = self.delay(id, cause, &backoff, ruling.now);
                self.answer(SystemMessage::Restart(cause), id, &[id], false, Some(delay));
                if strategy.scope == Scope::OneForOne {
                    self.fields.wait_no_more_for(id);
                }
            }
            _ => self.field_did_not_start(ruling.verdict.err().unwrap_or(cause)),
        }
    }

    /// A creation that is tried again under neither a limit nor a backoff must not spin. A permanent child that ended
    /// by itself skips the first of these delays.
    fn restart_delay(
        &mut self,
        id: ChildId,
        cause: Fault,
        directive: &Directive,
        ruling: &Ruling<'_, Fault>,
    ) -> Option<Time> {
        if let Some(backoff) = declared(directive, ruling) {
            return Some(self.delay(id, cause, &backoff, ruling.now));
        }
        let missing = self.fields.is_missing(id);
        let limited = !ruling.strategy.limit.is_unlimited() || has_limit(directive);
        if limited || !(missing || cause.is_initialization()) {
            return None;
        }
        let delay = self.delay(id, cause, &OF_CREATION, ruling.now);
        if missing && self.child(id).delays.len() == 1 { None } else { Some(delay) }
    }

    /// Whether a restart waits for a delay, declared or not.
    fn may_be_delayed(&self, id: ChildId, cause: Fault, directive: &Directive, strategy: &Strategy) -> bool {
        let creates = cause.is_initialization() || self.fields.is_missing(id);
        let by_rule = match directive {
            Directive::RestartOn(terms) => terms.backoff.is_some(),
            other => matches!(other, Directive::RestartAfter(_)),
        };
        by_rule
            || strategy.backoff.is_some()
            || (creates && strategy.limit.is_unlimited() && !has_limit(directive))
    }

    /// Whether a restart for an earlier failure is on its way to the instance that failed.
    fn is_to_restart(&mut self, id: ChildId, restarts: u32) -> bool {
        let in_its_turn = self.fields.is_to_restart(id);
        let child = self.child(id);
        if in_its_turn || child.asked_to_stop {
            return in_its_turn;
        }
        match &child.waits {
            Some(wait) => matches!(wait.answer, SystemMessage::Restart(_)),
            None => child.restarts_sent > restarts,
        }
    }

    /// One suspension more is undone with a restart that is on its way.
    fn owe_one_more(&mut self, id: ChildId) {
        if self.fields.is_to_restart(id) {
            self.fields.owe_one_more(id);
        } else if let Some(wait) = &mut self.child(id).waits {
            wait.owed += 1;
        } else {
            let actor = self.child(id).actor;
            self.send(actor, SystemMessage::Resume(None));
        }
    }

    /// The children that a directive reaches, fields first. Under rest-for-one all others count as started
    /// after the fields.
    fn affected(&self, culprit: ChildId, scope: Scope) -> Vec<ChildId> {
        let mut affected: Vec<_> = self.fields.affected(culprit, scope).collect();
        for id in self.children.keys().copied().filter(|id| !self.fields.has(*id)) {
            let reached = match scope {
                Scope::OneForOne => false,
                Scope::AllForOne => true,
                Scope::RestForOne => self.fields.has(culprit) || id >= culprit,
            };
            if reached {
                affected.push(id);
            }
        }
        if scope == Scope::OneForOne { vec![culprit] } else { affected }
    }

    /// The limit of the rule is checked first, and only for the culprit. The limit of the strategy is checked
    /// after it.
    fn rule_may_restart(&mut self, id: ChildId, directive: &Directive, ruling: &Ruling<'_, Fault>) -> bool {
        let Directive::RestartOn(terms) = directive else { return true };
        let requests = match ruling.strategy.count {
            Count::Supervisor => self.by_rule.entry(terms.rule).or_default(),
            Count::Child => self.child(id).by_rule.entry(terms.rule).or_default(),
        };
        permits(&terms.limit, requests, ruling.now)
    }

    fn may_restart(&mut self, affected: &[ChildId], strategy: &Strategy, now: Time) -> bool {
        match strategy.count {
            Count::Supervisor => permits(&strategy.limit, &mut self.restarts, now),
            Count::Child => affected.iter().all(|id| permits(&strategy.limit, &mut self.child(*id).restarts, now)),
        }
    }

    /// Suspends the children that do not wait already, and gives all the same answer, at once or after a
    /// delay.
    fn answer(
        &mut self,
        answer: Message,
        culprit: ChildId,
        affected: &[ChildId],
        grouped: bool,
        delay: Option<Time>,
    ) {
        let round = self.last_round + 1;
        if delay.is_some() {
            self.last_round = round;
        }
        for id in affected {
            let owed = self.take_owed(*id);
            let child = self.child(*id);
            let actor = child.actor;
            let suspend = *id != culprit && owed == 0;
            let owed = if *id == culprit { owed + 1 } else { owed.max(1) };
            // A dying child does not wait for an answer.
            if delay.is_none() || !child.asked_to_stop {
                child.waits = Some(Wait { round, answer: answer.clone(), owed, grouped });
            }
            if suspend {
                self.send(actor, SystemMessage::Suspend);
            }
        }
        match delay {
            None => self.round_is_over(round),
            Some(delay) => self.does.push(Effect::Arm(Timer::Restart(round), Some(delay))),
        }
    }

    /// A child that will be restarted together with this actor gets no answer of its own.
    pub(super) fn round_is_due(&mut self, round: u64) {
        let restarts = matches!(self.stage, Stage::Restarting(_) | Stage::Preparing);
        let makes =
            matches!(self.code, Some(Code::Hook(Call::StartNewInstance(_)))) || self.fields.are_declared_again();
        let rebuilds = makes || self.instance == Instance::Broken;
        for (id, child) in &mut self.children {
            if let Some(wait) = &mut child.waits
                && wait.round == round
                && (restarts || (rebuilds && self.survivors.contains(id)))
            {
                wait.round = 0;
                self.fields.leave_to_parent(*id);
                if makes {
                    self.fields.renew(*id);
                }
            }
        }
        self.round_is_over(round);
    }

    fn round_is_over(&mut self, round: u64) {
        for id in self.children.keys().copied().collect::<Vec<_>>() {
            let Some(Wait { answer, owed, grouped, .. }) =
                self.child(id).waits.take_if(|wait| wait.round == round)
            else {
                continue;
            };
            match answer {
                SystemMessage::Restart(cause) => self.restart_child(id, cause, owed, grouped),
                resume => {
                    let actor = self.child(id).actor;
                    self.send(actor, resume);
                    for _ in 1..owed {
                        self.send(actor, SystemMessage::Resume(None));
                    }
                }
            }
        }
    }

    /// Whether the failure of `child` at `now` begins a new streak, because it was quiet before.
    fn was_quiet(&mut self, child: ChildId, cause: Fault, backoff: &Backoff, now: Time) -> bool {
        let (Growth::Exponential { max, .. }, Reset::After(quiet)) = (backoff.growth, backoff.reset) else {
            unreachable!("these worlds have no other");
        };
        let missing = self.fields.is_missing(child);
        let child = self.child(child);
        // While its starts fail, it does not run, so this time does not count as quiet.
        let has_run = missing || !cause.is_initialization() || child.runs != child.runs_counted;
        let quiet = if cause.is_initialization() { quiet.max(max) } else { quiet };
        has_run && child.delays.last().is_some_and(|due| now.saturating_sub(*due) >= quiet)
    }

    /// Whether `child` has been failing for too long.
    fn gives_up(&mut self, child: ChildId, cause: Fault, backoff: Option<&Backoff>, now: Time) -> bool {
        let Some((backoff, limit)) = backoff.and_then(|backoff| Some((backoff, backoff.give_up_after?))) else {
            return false;
        };
        let quiet = self.was_quiet(child, cause, backoff, now);
        let child = self.child(child);
        !quiet && !child.delays.is_empty() && now.saturating_sub(child.failing_since) >= limit
    }

    /// How long the answer to the failure of `child` at `now` has to wait.
    fn delay(&mut self, child: ChildId, cause: Fault, backoff: &Backoff, now: Time) -> Time {
        let Growth::Exponential { min, max, .. } = backoff.growth else {
            unreachable!("these worlds have no other");
        };
        let quiet = self.was_quiet(child, cause, backoff, now);
        let child = self.child(child);
        child.runs_counted = child.runs;
        let dues = &mut child.delays;
        if quiet {
            dues.clear();
        }
        if dues.is_empty() {
            child.failing_since = now;
        }
        let delay = dues.iter().fold(min, |delay, _| (delay * 2).min(max));
        dues.push(now + delay);
        delay
    }
}

/// The backoff that the rule or the strategy declares.
fn declared(directive: &Directive, ruling: &Ruling<'_, Fault>) -> Option<Backoff> {
    match directive {
        Directive::RestartAfter(backoff) | Directive::RestartOn(Terms { backoff: Some(backoff), .. }) => {
            Some(*backoff)
        }
        _ => ruling.strategy.backoff,
    }
}

fn has_limit(directive: &Directive) -> bool {
    matches!(directive, Directive::RestartOn(terms) if !terms.limit.is_unlimited())
}

/// Whether one more restart at `now` is granted, all former requests given.
fn permits(limit: &Limit, requests: &mut Vec<Time>, now: Time) -> bool {
    if limit.max_retries == Some(0) || limit.is_unlimited() {
        return limit.max_retries.is_none();
    }
    requests.push(now);
    let granted = limit.max_retries.unwrap_or(1) as usize;
    let Some(within) = limit.within else {
        return requests.len() <= granted;
    };
    // The window opens at the first request, and again at the first one after it has passed.
    let mut opened = requests[0];
    let mut inside = 0;
    for request in requests.iter() {
        if request.saturating_sub(opened) > within {
            opened = *request;
            inside = 0;
        }
        inside += 1;
    }
    inside <= granted
}
