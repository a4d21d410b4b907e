//! What happened in the last fifteen minutes: failures and dead letters; and in the last hour: ends, and branches that went down.

mod given_up;

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::time::Duration;

use supervise_core::{DeadLetterReason, During, Outcome};

use super::pace::{Loop, push_last};
use super::places::Places;
use super::sight::{Decision, Intervened, Loss, Replacement, Time};

/// How far back the history goes.
pub(super) const KEPT: Duration = Duration::from_secs(15 * 60);
/// How many failures are kept, how many falls, and for how many recipients lost messages are counted.
const FAILURES: usize = 512;
const FALLS: usize = 64;
/// How many supervisors of an escalation are named, the first ones and the last one.
const PASSED: usize = 12;
/// For how many branches failures are counted, and the length of one count.
const LANES: usize = 32;
pub(super) const SLOT: Duration = Duration::from_secs(15);
/// How many ends are kept, and how far back. Branches that are down are kept as long.
const ENDS: usize = 32;
const HOUR: Duration = Duration::from_secs(60 * 60);
/// How many interventions are kept.
const INTERVENTIONS: usize = 32;
const RECIPIENTS: usize = 256;
/// How many kinds of dead letters of one recipient are counted separately, and how many senders. An actor has a bounded number of handlers, but
/// anybody may send to it.
const KINDS: usize = 64;
const SENDERS: usize = 8;
/// This many dead letters within [`MINUTE`] give a card.
pub(super) const MANY_LOST: usize = 10;
const MINUTE: Duration = Duration::from_secs(60);

/// A failure that was escalated, or that ended an actor at its limit.
#[derive(Debug, Clone)]
pub(super) struct Fall {
    /// The actor that failed first.
    pub(super) origin: String,
    pub(super) origin_key: u64,
    /// The actor that the last decision was about, and the supervisor that decided.
    pub(super) last_key: u64,
    pub(super) decider_key: u64,
    /// The supervisors that failed because of it, the lowest one first. `…` stands for those that are left out.
    pub(super) passed: Vec<String>,
    /// The type of the actor that is down: the last of these, or else the origin.
    pub(super) down_type: &'static str,
    pub(super) text: String,
    /// The handler or hook in which the first of the actors failed.
    pub(super) during: Option<During>,
    /// The rule of the last decision.
    pub(super) rule: Option<&'static str>,
    /// Whether a pool or a backoff supervisor stopped because its last child failed. It is the only one that passed the failure on.
    pub(super) gave_up: bool,
    /// The last outcome, and the supervisor that decided. `None` while the failure of the last supervisor is
    /// undecided.
    pub(super) end: Option<(Outcome, String)>,
    /// The state of the last limit that refused a restart: how much of it was used, and its size.
    pub(super) used: Option<(u32, u32)>,
    pub(super) at: Time,
}

impl Fall {
    /// Whether an actor is down because of it.
    pub(super) fn is_harm(&self) -> bool {
        !matches!(self.end, Some((Outcome::Restarting { .. } | Outcome::Resumed | Outcome::AlreadyAnswered, _)))
    }

    /// Whether the actor that is down was stopped, so that another one may take its place.
    fn is_vacant(&self) -> bool {
        matches!(self.end, Some((Outcome::Stopped { .. } | Outcome::LimitReached { .. }, _)))
    }

    /// The path of the actor that is down, if it is harm.
    pub(super) fn down(&self) -> &str {
        self.passed.last().unwrap_or(&self.origin)
    }

    /// What alike branches have in common: the type of the actor that is down, where the first one failed, and how that ended.
    pub(super) fn sort(&self) -> (&'static str, Option<During>, &'static str) {
        let end = match self.end {
            _ if self.gave_up => "gave up",
            Some((Outcome::LimitReached { .. }, _)) => "limit",
            Some((Outcome::Stopped { .. }, _)) => "stopped",
            Some(_) => "escalated",
            None => "failed",
        };
        (self.down_type, self.during, end)
    }

    fn pass(&mut self, decision: &Decision) {
        if self.passed.len() == PASSED {
            self.passed.truncate(PASSED - 2);
            self.passed.push("…".to_owned());
        }
        self.passed.push(decision.supervisor.clone());
        self.down_type = decision.supervisor_type;
    }
}

/// The failures of one branch in the last 15 minutes.
#[derive(Debug, Clone)]
pub(super) struct Lane {
    /// The path of the top-level actor.
    pub(super) path: String,
    /// The newest one last.
    pub(super) marks: VecDeque<Mark>,
    /// Since when something in it is stuck, blocks a thread or is in a deadlock.
    pub(super) held: Option<Time>,
}

impl Lane {
    pub(super) fn new(path: &str) -> Self {
        Self { path: path.to_owned(), marks: VecDeque::new(), held: None }
    }

    pub(super) fn failures(&self) -> u64 {
        self.marks.iter().map(|mark| mark.failures).sum()
    }
}

/// The failures of one branch within one [`SLOT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    /// The number of the slot since the system began.
    pub(super) slot: u64,
    pub(super) failures: u64,
    /// Whether one of them was the third in a row, or a later one.
    pub(super) is_bad: bool,
}

/// The path of the top-level actor above this path, or the path itself.
pub(super) fn lane_of(path: &str) -> &str {
    path.match_indices('/').nth(2).map_or(path, |(end, _)| &path[..end])
}

/// The dead letters of one recipient.
#[derive(Debug, Clone)]
pub(super) struct Losing {
    pub(super) recipient: String,
    pub(super) letters: u64,
    pub(super) first: Time,
    pub(super) last: Time,
    pub(super) reason: DeadLetterReason,
    /// How many of each kind of message.
    kinds: Vec<(&'static str, u64)>,
    /// The senders that sent most, and how many messages each has sent at most.
    senders: Vec<(String, u64)>,
    /// Whether there were others.
    pub(super) has_more_senders: bool,
    recent: VecDeque<Time>,
}

impl Losing {
    /// Whether the recipient loses many messages now.
    pub(super) fn is_many(&self, now: Time) -> bool {
        many(&self.recent, now)
    }

    /// The most frequent kind, and how many of a hundred are of that kind.
    pub(super) fn mostly(&self) -> (&'static str, u64) {
        let (kind, most) = self.kinds.iter().max_by_key(|kind| kind.1).copied().unwrap_or(("", 0));
        (kind, most * 100 / self.letters.max(1))
    }

    /// The known senders. The one that sent most comes first.
    pub(super) fn senders(&self) -> Vec<&str> {
        let mut senders: Vec<&(String, u64)> = self.senders.iter().collect();
        senders.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
        senders.into_iter().map(|(sender, _)| &**sender).collect()
    }

    fn count_kind(&mut self, kind: &'static str) {
        match self.kinds.iter().position(|known| known.0 == kind) {
            Some(at) => self.kinds[at].1 += 1,
            None if self.kinds.len() < KINDS => self.kinds.push((kind, 1)),
            None => {}
        }
    }

    /// If there are too many, a new sender takes the place and the count of the one that sent least. So the actor that sends most is known
    /// in the end, however many others sent before.
    fn count_sender(&mut self, sender: String) {
        let known = self.senders.iter().position(|known| known.0 == sender);
        if known.is_none() && self.senders.len() < SENDERS {
            return self.senders.push((sender, 1));
        }
        let least = || self.senders.iter().enumerate().min_by_key(|(_, (_, sent))| *sent).map(|(at, _)| at);
        let Some(at) = known.or_else(least) else { return };
        self.senders[at].1 += 1;
        if known.is_none() {
            self.senders[at].0 = sender;
            self.has_more_senders = true;
        }
    }
}

fn many(recent: &VecDeque<Time>, now: Time) -> bool {
    recent.len() == MANY_LOST && recent.front().is_some_and(|&first| now.saturating_sub(first) <= MINUTE)
}

/// How many of something happened in each minute. The minutes are numbered since the system began.
#[derive(Debug, Default)]
pub(super) struct Minutes(VecDeque<(u64, u64)>);

impl Minutes {
    /// Counts what happened at a time no earlier than that of the ones before.
    fn add(&mut self, at: Time, many: u64) {
        let minute = at.as_secs() / 60;
        match self.0.back_mut() {
            Some((last, count)) if *last >= minute => *count += many,
            _ => self.0.push_back((minute, many)),
        }
    }

    /// Forgets the minutes that were over before this time.
    fn forget(&mut self, before: Time) {
        let oldest = before.as_secs() / 60;
        while self.0.front().is_some_and(|minute| minute.0 < oldest) {
            self.0.pop_front();
        }
    }

    pub(super) fn sum(&self) -> u64 {
        self.0.iter().map(|minute| minute.1).sum()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().copied()
    }
}

#[derive(Debug, Default)]
pub(super) struct History {
    /// The newest one last.
    pub(super) failures: VecDeque<(Time, Decision)>,
    /// How many older failures of the last 15 minutes were dropped from the list.
    pub(super) other_failures: Minutes,
    /// The newest one last.
    pub(super) interventions: VecDeque<(Time, Intervened)>,
    /// Failures that ended an actor.
    pub(super) ends: VecDeque<(Time, Decision)>,
    /// How many older ends of the last hour were dropped from the list.
    pub(super) other_ends: Minutes,
    pub(super) falls: VecDeque<Fall>,
    /// When the branch fell that was dropped last from the list while it was down.
    other_fall: Option<Time>,
    pub(super) places: Places,
    pub(super) lanes: Vec<Lane>,
    pub(super) losing: Vec<Losing>,
    /// How many messages the recipients lost that were dropped from the list.
    pub(super) other_losses: Minutes,
    /// The last dead letters of all recipients.
    recent_losses: VecDeque<Time>,
    /// All dead letters.
    pub(super) lost_minutes: Minutes,
    /// How many events were missed because they came too quickly, and when this happened last.
    pub(super) missed: u64,
    missed_at: Option<Time>,
}

impl History {
    /// `before`: the loop of restarts in which the actor was.
    pub(super) fn failed(&mut self, decision: Decision, before: Option<Loop>, now: Time) {
        // An actor that fails in a place has taken that place, and so has its supervisor.
        self.forget_repaired(|path| match path {
            path if path == decision.child => Some(decision.key),
            path if path == decision.supervisor => Some(decision.supervisor_key),
            _ => None,
        });
        self.fall(&decision, now);
        self.places.note(&decision, before, now);
        self.mark(&decision, now);
        if decision.ended() {
            if self.ends.len() == ENDS
                && let Some((at, _)) = self.ends.pop_front()
            {
                self.other_ends.add(at, 1);
            }
            self.ends.push_back((now, decision.clone()));
        }
        if self.failures.len() == FAILURES
            && let Some((at, _)) = self.failures.pop_front()
        {
            self.other_failures.add(at, 1);
        }
        self.failures.push_back((now, decision));
    }

    /// Counts a failure in its branch. If there are too many branches, the one without a failure for the longest time is forgotten.
    fn mark(&mut self, decision: &Decision, now: Time) {
        let path = lane_of(&decision.child);
        let at = self.lanes.iter().position(|lane| lane.path == path).unwrap_or_else(|| {
            if self.lanes.len() == LANES {
                let quietest =
                    self.lanes.iter().enumerate().min_by_key(|(_, lane)| lane.marks.back().map(|mark| mark.slot));
                let quietest = quietest.map_or(0, |(at, _)| at);
                self.lanes.swap_remove(quietest);
            }
            self.lanes.push(Lane::new(path));
            self.lanes.len() - 1
        });
        let marks = &mut self.lanes[at].marks;
        let (slot, is_bad) = (now.as_secs() / SLOT.as_secs(), decision.attempt >= 3);
        match marks.back_mut() {
            Some(last) if last.slot == slot => {
                (last.failures, last.is_bad) = (last.failures + 1, last.is_bad || is_bad);
            }
            _ => marks.push_back(Mark { slot, failures: 1, is_bad }),
        }
    }

    /// Follows a failure up the tree. If a supervisor fails with its child's failure, the next decision is about that
    /// supervisor.
    fn fall(&mut self, decision: &Decision, now: Time) {
        let goes_up = matches!(decision.outcome, Outcome::Escalated | Outcome::LimitEscalated);
        let at_limit = matches!(decision.outcome, Outcome::LimitReached { .. } | Outcome::LimitEscalated);
        let open = self
            .falls
            .iter_mut()
            .rev()
            .find(|fall| fall.end.is_none() && fall.passed.last().is_some_and(|top| *top == decision.child));
        if let Some(fall) = open {
            (fall.at, fall.rule) = (now, decision.rule);
            (fall.last_key, fall.decider_key) = (decision.key, decision.supervisor_key);
            fall.used = decision.used.filter(|_| at_limit).or(fall.used);
            if goes_up {
                fall.pass(decision);
            } else {
                fall.end = Some((decision.outcome, decision.supervisor.clone()));
            }
            return;
        }
        if !goes_up && !at_limit {
            return;
        }
        self.make_room();
        let mut fall = Fall {
            origin: decision.child.clone(),
            origin_key: decision.key,
            last_key: decision.key,
            decider_key: decision.supervisor_key,
            passed: Vec::new(),
            down_type: decision.child_type,
            text: decision.text.clone(),
            // If the console has missed how another actor failed first, this one has not failed in that code.
            during: decision.during.filter(|_| decision.origin.is_none()),
            rule: decision.rule,
            gave_up: false,
            end: (!goes_up).then(|| (decision.outcome, decision.supervisor.clone())),
            used: decision.used.filter(|_| at_limit),
            at: now,
        };
        if goes_up {
            fall.pass(decision);
        }
        self.falls.push_back(fall);
    }

    fn make_room(&mut self) {
        if self.falls.len() == FALLS {
            // What ended well is forgotten before what is down, and one of many alike before one of few.
            let ended_well = self.falls.iter().position(|fall| !fall.is_harm());
            let first = ended_well.unwrap_or_else(|| self.first_of_most_alike());
            let gone = self.falls.remove(first);
            self.other_fall = self.other_fall.max(gone.filter(Fall::is_harm).map(|fall| fall.at));
        }
    }

    /// Where the first fall is of the largest group of alike ones.
    fn first_of_most_alike(&self) -> usize {
        let mut groups: Vec<(usize, usize, &Fall)> = Vec::new();
        for (at, fall) in self.falls.iter().enumerate() {
            match groups.iter_mut().find(|(.., first)| first.sort() == fall.sort()) {
                Some((alike, ..)) => *alike += 1,
                None => groups.push((1, at, fall)),
            }
        }
        groups.into_iter().max_by_key(|&(alike, at, _)| (alike, Reverse(at))).map_or(0, |(_, at, _)| at)
    }

    /// Forgets the branches in whose place, or in the place of whose supervisor, another actor runs. `find` gives the key of the actor at a
    /// path.
    pub(super) fn forget_repaired(&mut self, find: impl Fn(&str) -> Option<u64>) {
        let is_other = |path: &str, known: u64| find(path).is_some_and(|key| key != known);
        let is_repaired = |fall: &Fall| {
            let decider = fall.end.as_ref().is_some_and(|(_, by)| is_other(by, fall.decider_key));
            fall.is_vacant() && (decider || is_other(fall.down(), fall.last_key))
        };
        self.falls.retain(|fall| !is_repaired(fall));
    }

    /// A branch whose actor is replaced after a delay is not down.
    pub(super) fn delayed(&mut self, replacement: &Replacement, now: Time) {
        let Replacement { child, delay, .. } = replacement;
        self.falls.retain(|fall| !(fall.is_vacant() && fall.down() == child));
        for list in [&mut self.failures, &mut self.ends] {
            let of_child = list.iter_mut().rev().find(|(_, decision)| decision.child == *child);
            if let Some((_, decision)) = of_child.filter(|(_, decision)| decision.ended()) {
                decision.replaced = Some(*delay);
            }
        }
        self.places.delay(replacement, now);
    }

    /// Whether more branches may be down than are known: whether the others were repaired, nobody has looked.
    pub(super) fn may_have_more_falls(&self, now: Time) -> bool {
        self.other_fall.is_some_and(|at| now.saturating_sub(at) <= HOUR)
    }

    pub(super) fn miss(&mut self, missed: u64, now: Time) {
        self.missed += missed;
        self.missed_at = Some(now);
    }

    /// Whether branches may be down whose failures were missed.
    pub(super) fn may_have_missed(&self, now: Time) -> bool {
        self.missed_at.is_some_and(|at| now.saturating_sub(at) <= HOUR)
    }

    /// The supervisors that failed before this time, if nothing is known of a decision about them.
    pub(super) fn undecided(&self, before: Time) -> impl Iterator<Item = &str> {
        self.falls.iter().filter(move |fall| fall.end.is_none() && fall.at < before).map(Fall::down)
    }

    /// Forgets the branches of a supervisor that runs, so that the events of the decision about it were missed.
    pub(super) fn forget_undecided(&mut self, path: &str, before: Time) {
        self.falls.retain(|fall| fall.end.is_some() || fall.at >= before || fall.down() != path);
    }

    pub(super) fn intervened(&mut self, intervened: Intervened, now: Time) {
        if self.interventions.len() == INTERVENTIONS {
            self.interventions.pop_front();
        }
        self.interventions.push_back((now, intervened));
    }

    pub(super) fn lost(&mut self, loss: Loss, now: Time) {
        push_last(&mut self.recent_losses, MANY_LOST, now);
        self.lost_minutes.add(now, 1);
        let known = self.losing.iter().position(|losing| losing.recipient == loss.recipient);
        let at = known.unwrap_or_else(|| {
            if self.losing.len() == RECIPIENTS {
                let quietest = self.losing.iter().enumerate().min_by_key(|(_, losing)| losing.last);
                let quietest = self.losing.swap_remove(quietest.map_or(0, |(at, _)| at));
                self.other_losses.add(quietest.last, quietest.letters);
            }
            self.losing.push(Losing {
                recipient: loss.recipient,
                letters: 0,
                first: now,
                last: now,
                reason: loss.reason,
                kinds: Vec::new(),
                senders: Vec::new(),
                has_more_senders: false,
                recent: VecDeque::new(),
            });
            self.losing.len() - 1
        });
        let losing = &mut self.losing[at];
        losing.letters += 1;
        (losing.last, losing.reason) = (now, loss.reason);
        push_last(&mut losing.recent, MANY_LOST, now);
        losing.count_kind(loss.message);
        if let Some(sender) = loss.sender {
            losing.count_sender(sender);
        }
    }

    /// Whether the system loses many messages now, all recipients together.
    pub(super) fn loses_many(&self, now: Time) -> bool {
        many(&self.recent_losses, now)
    }

    /// Forgets what is older than [`KEPT`].
    pub(super) fn forget(&mut self, now: Time) {
        let old = |at: Time| now.saturating_sub(at) > KEPT;
        while self.failures.front().is_some_and(|failure| old(failure.0)) {
            self.failures.pop_front();
        }
        while self.interventions.front().is_some_and(|intervened| old(intervened.0)) {
            self.interventions.pop_front();
        }
        while self.ends.front().is_some_and(|end| now.saturating_sub(end.0) > HOUR) {
            self.ends.pop_front();
        }
        self.other_failures.forget(now.saturating_sub(KEPT));
        self.other_ends.forget(now.saturating_sub(HOUR));
        let first = now.saturating_sub(KEPT).as_secs() / SLOT.as_secs();
        for lane in &mut self.lanes {
            while lane.marks.front().is_some_and(|mark| mark.slot < first) {
                lane.marks.pop_front();
            }
        }
        self.lanes.retain(|lane| !lane.marks.is_empty());
        self.places.forget(now);
        self.losing.retain(|losing| !old(losing.last));
        self.other_losses.forget(now.saturating_sub(KEPT));
        // A branch is not well again because time has passed. As long as somebody sends to it, it is missed.
        let losing = &self.losing;
        let is_missed = |fall: &Fall| losing.iter().any(|losing| losing.recipient == fall.down());
        self.falls.retain(|fall| now.saturating_sub(fall.at) <= HOUR || is_missed(fall));
        self.lost_minutes.forget(now.saturating_sub(KEPT));
    }
}
