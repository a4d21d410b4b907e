//! A store, a process with an actor for each queue, and the invariants.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use supervise_core::durable::Seq;
use supervise_core::durable::queue::{Fed, Queue, Seen};
use supervise_core::durable::suspects::Suspects;

use super::explore::{Checked, SmallWorld};

/// How often a failed message is delivered again.
const REDELIVER: u32 = 1;

/// After how many deaths a message is quarantined.
const CRASHES: u32 = 2;

/// How large a world is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Limits {
    pub(super) queues: usize,
    pub(super) messages: u32,
    pub(super) window: usize,
    pub(super) failures: u32,
    pub(super) crashes: u32,
    pub(super) stops: u32,
    pub(super) fulls: u32,
}

/// What can happen. The numbers are those of queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Send(usize),
    Commit,
    /// The group has no room for messages.
    Full,
    Claim(usize),
    Page(usize),
    Begin(usize),
    Return(usize),
    Fail(usize),
    /// The actor stops and gives back what it has.
    Stop(usize),
    Crash {
        power: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Change {
    Append,
    Handled(Seq),
    /// The number of attempts and of crashes.
    Charged(Seq, u32, u32),
    Quarantine(Seq),
    Release,
}

/// A message as it is stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Stored {
    attempts: u32,
    crashes: u32,
}

/// The state that survives the process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Disk {
    last: Seq,
    waiting: BTreeMap<Seq, Stored>,
    quarantine: Vec<Seq>,
    begun: Option<Seq>,
    handled: Seq,
    /// Messages up to this one may have been begun by a process that died.
    may_have_begun: Seq,
}

/// What happened to a message, for the invariants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct History {
    begun: bool,
    handled: bool,
    /// How many failures this process has seen, and how many the store knows.
    failed: u32,
    stored: u32,
    /// It may be begun once more: it failed, was given back, or a crash allows it.
    may_repeat: bool,
}

/// An actor in the process.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Owner {
    queue: Queue,
    lane: VecDeque<Seq>,
    /// The message with the handler.
    under_way: Option<Seq>,
    /// The message that is tried again, and whether the store knows its failure.
    due: Option<(Seq, bool)>,
    /// Of the messages in memory.
    attempts: BTreeMap<Seq, Stored>,
    /// Whether a handler was begun since the last mark of an idle actor.
    marked: bool,
    /// The message whose handler was begun last.
    last: Option<Seq>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct World {
    limits: Limits,
    disks: Vec<Disk>,
    owners: Vec<Option<Owner>>,
    group: Vec<(usize, Change)>,
    suspects: Suspects<usize>,
    /// The suspects that are in lanes or with handlers.
    tried: Vec<(usize, Seq)>,
    histories: Vec<BTreeMap<Seq, History>>,
}

impl World {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            disks: vec![Disk::default(); limits.queues],
            owners: vec![None; limits.queues],
            group: Vec::new(),
            suspects: Suspects::new(),
            tried: Vec::new(),
            histories: vec![BTreeMap::new(); limits.queues],
        }
    }

    /// The store does not know yet what became of a message that has failed. Nothing begins before it does.
    fn owes(&self, at: usize) -> bool {
        self.group
            .iter()
            .any(|(of, change)| *of == at && matches!(change, Change::Charged(..) | Change::Quarantine(_)))
    }

    fn history(&mut self, at: usize, seq: Seq) -> &mut History {
        self.histories[at].entry(seq).or_default()
    }

    fn claim(&mut self, at: usize) {
        let disk = &self.disks[at];
        let queue = Queue::claimed(
            self.limits.window,
            CRASHES,
            disk.last,
            disk.handled,
            disk.begun.filter(|begun| disk.waiting.contains_key(begun)),
            !disk.waiting.is_empty(),
        )
        .with_doubts(disk.may_have_begun);
        self.owners[at] = Some(Owner {
            queue,
            lane: VecDeque::new(),
            under_way: None,
            due: None,
            attempts: BTreeMap::new(),
            marked: false,
            last: None,
        });
    }

    fn commit(&mut self) {
        let group = std::mem::take(&mut self.group);
        let concerned: Vec<usize> = group.iter().map(|(at, _)| *at).collect();
        for (at, change) in group {
            let disk = &mut self.disks[at];
            match change {
                Change::Append => {
                    disk.last = disk.last.next();
                    let seq = disk.last;
                    disk.waiting.insert(seq, Stored::default());
                    self.history(at, seq);
                    if let Some(owner) = &mut self.owners[at]
                        && owner.queue.committed(seq)
                    {
                        owner.lane.push_back(seq);
                        owner.attempts.insert(seq, Stored::default());
                    }
                }
                Change::Handled(seq) => {
                    disk.waiting.remove(&seq);
                }
                Change::Charged(seq, attempts, crashes) => {
                    let by_crash = disk.waiting.get(&seq).is_some_and(|stored| stored.crashes < crashes);
                    disk.waiting.entry(seq).and_modify(|stored| *stored = Stored { attempts, crashes });
                    self.history(at, seq).stored = attempts;
                    if by_crash {
                        self.has_charged(at);
                    }
                    if let Some(owner) = &mut self.owners[at]
                        && let Some((due, is_charged)) = &mut owner.due
                        && *due == seq
                    {
                        *is_charged = true;
                    }
                }
                Change::Quarantine(seq) => {
                    if disk.waiting.remove(&seq).is_some() {
                        disk.quarantine.push(seq);
                    }
                    if let Some(owner) = &mut self.owners[at] {
                        owner.queue.end(seq);
                    }
                    self.has_charged(at);
                }
                Change::Release => disk.begun = None,
            }
        }
        for at in concerned {
            self.idle(at);
        }
    }

    /// What an earlier process had begun has been charged.
    fn has_charged(&mut self, at: usize) {
        if let Some(owner) = &self.owners[at]
            && !owner.marked
        {
            (self.disks[at].begun, self.disks[at].handled) = (None, owner.queue.handled());
        }
    }

    fn page(&mut self, at: usize) {
        let Some(owner) = &mut self.owners[at] else { return };
        let Some(wanted) = owner.queue.wants() else { return };
        let page: Vec<(Seq, Stored)> = self.disks[at]
            .waiting
            .range(wanted.after.next()..)
            .take(wanted.messages)
            .map(|(seq, stored)| (*seq, *stored))
            .collect();
        let seen: Vec<Seen> = page
            .iter()
            .map(|(seq, stored)| Seen { seq: *seq, crashes: stored.crashes, is_damaged: false })
            .collect();
        let fed = owner.queue.page(wanted, &seen, self.suspects.is_free(at));
        let (mut was_tried, mut charges) = (false, false);
        for fed in fed {
            let stored =
                |seq: Seq| page.iter().find(|(own, _)| *own == seq).map_or(Stored::default(), |(_, own)| *own);
            match fed {
                Fed::Push(seq) | Fed::Try(seq) => {
                    owner.lane.push_back(seq);
                    owner.attempts.insert(seq, stored(seq));
                    if matches!(fed, Fed::Try(_)) {
                        was_tried = true;
                        self.suspects.tries(at, seq, Duration::ZERO);
                        self.tried.push((at, seq));
                    }
                }
                Fed::Forget(seq) => self.group.push((at, Change::Handled(seq))),
                Fed::Charge(seq) => {
                    charges = true;
                    let Stored { attempts, crashes } = stored(seq);
                    self.group.push((at, Change::Charged(seq, attempts, crashes + 1)));
                }
                Fed::Crashed(seq) | Fed::Damaged(seq) => self.group.push((at, Change::Quarantine(seq))),
            }
        }
        if owner.queue.is_held() {
            self.suspects.waits(at);
        } else if !was_tried
            && !charges
            && let Some(next) = self.suspects.waits_no_more(at)
        {
            self.let_in(next);
        }
    }

    fn let_in(&mut self, at: usize) {
        if let Some(owner) = &mut self.owners[at] {
            owner.queue.let_in();
        }
    }

    fn over(&mut self, at: usize, seq: Seq) {
        self.tried.retain(|tried| *tried != (at, seq));
        if let Some(next) = self.suspects.over(at, seq) {
            self.let_in(next);
        }
    }

    fn begin(&mut self, at: usize) -> Checked {
        let Some(owner) = &mut self.owners[at] else { return Ok(()) };
        let seq = match owner.due.take() {
            Some((seq, _)) => seq,
            None => match owner.lane.pop_front() {
                Some(seq) => seq,
                None => return Ok(()),
            },
        };
        owner.under_way = Some(seq);
        owner.last = Some(seq);
        owner.marked = true;
        let Stored { attempts, crashes } = owner.attempts.get(&seq).copied().unwrap_or_default();
        if crashes >= CRASHES {
            return Err(format!("{seq:?} of queue {at} is tried although {crashes} processes have died with it"));
        }
        (self.disks[at].begun, self.disks[at].handled) = (Some(seq), owner.queue.handled());
        let looks_new = attempts == 0 && crashes == 0 && !owner.queue.may_have_begun(seq);
        let on_disk = self.disks[at].waiting.get(&seq).map(|stored| stored.attempts);
        let earlier = self.histories[at].range(..seq).find(|(_, history)| !history.begun).map(|(seq, _)| *seq);
        let skipped = earlier.filter(|earlier| {
            !self.disks[at].quarantine.contains(earlier)
                && !self.group.contains(&(at, Change::Quarantine(*earlier)))
        });
        let history = self.history(at, seq);
        let repeats = history.begun && !std::mem::take(&mut history.may_repeat);
        let was_begun = std::mem::replace(&mut history.begun, true);
        let stored = history.stored;
        if repeats {
            return Err(format!("{seq:?} of queue {at} is handled again, and nothing allows it"));
        }
        if was_begun && looks_new {
            return Err(format!("{seq:?} of queue {at} is handled again, and looks as if nobody had begun it"));
        }
        if let Some(skipped) = skipped {
            return Err(format!("{seq:?} of queue {at} is handled before {skipped:?}"));
        }
        if on_disk != Some(attempts) || attempts < stored {
            return Err(format!(
                "{seq:?} of queue {at} is tried after {attempts} failures, of which the store knows {on_disk:?} and knew {stored}"
            ));
        }
        Ok(())
    }

    fn fail(&mut self, at: usize) {
        let Some(owner) = &mut self.owners[at] else { return };
        let Some(seq) = owner.under_way.take() else { return };
        let stored = owner.attempts.entry(seq).or_default();
        stored.attempts += 1;
        let Stored { attempts, crashes } = *stored;
        self.group.push((at, Change::Charged(seq, attempts, crashes)));
        if attempts > REDELIVER {
            self.group.push((at, Change::Quarantine(seq)));
        } else {
            owner.due = Some((seq, false));
        }
        let history = self.history(at, seq);
        history.failed += 1;
        history.may_repeat = true;
    }

    /// No handler runs.
    fn idle(&mut self, at: usize) {
        if self.owes(at) {
            return;
        }
        if let Some(owner) = &mut self.owners[at]
            && owner.lane.is_empty()
            && owner.due.is_none()
            && owner.under_way.is_none()
            && owner.marked
        {
            owner.marked = false;
            (self.disks[at].begun, self.disks[at].handled) = (None, owner.queue.handled());
        }
    }

    fn stop(&mut self, at: usize) {
        let Some(mut owner) = self.owners[at].take() else { return };
        let back: Vec<Seq> = owner.due.map(|(seq, _)| seq).into_iter().chain(owner.lane).collect();
        for seq in back {
            owner.queue.give_back(seq);
            self.over(at, seq);
        }
        if !self.owes(at) {
            (self.disks[at].begun, self.disks[at].handled) = (None, owner.queue.handled());
        }
        self.group.push((at, Change::Release));
        if let Some(next) = self.suspects.forget(at) {
            self.let_in(next);
        }
    }

    fn crash(&mut self, power: bool) {
        self.group.clear();
        self.suspects = Suspects::new();
        self.tried.clear();
        for at in 0..self.limits.queues {
            let last = self.owners[at].take().and_then(|owner| owner.last);
            let disk = &mut self.disks[at];
            let may_have_begun = if power { disk.last } else { disk.begun.unwrap_or_default() };
            disk.may_have_begun = disk.may_have_begun.max(may_have_begun);
            if power {
                // The marks of the last clean end: none.
                (disk.begun, disk.handled) = (None, Seq(0));
            }
            for (seq, history) in &mut self.histories[at] {
                // Rule 27.6: the message under way, or whose handler has just come back; after a power cut all that was not
                // acknowledged.
                if power || last == Some(*seq) {
                    history.may_repeat = true;
                }
            }
        }
    }
}

impl SmallWorld for World {
    type Action = Action;

    const ENDS: usize = 1;

    fn actions(&self) -> Vec<Action> {
        let limits = &self.limits;
        let mut actions = Vec::new();
        if !self.group.is_empty() {
            actions.push(Action::Commit);
            if limits.fulls > 0 {
                actions.push(Action::Full);
            }
        }
        if limits.crashes > 0 {
            actions.extend([Action::Crash { power: false }, Action::Crash { power: true }]);
        }
        for at in 0..limits.queues {
            let Some(owner) = &self.owners[at] else {
                // The claim comes behind what was handed over before it.
                if self.group.is_empty() {
                    actions.push(Action::Claim(at));
                }
                continue;
            };
            if limits.messages > 0 {
                actions.push(Action::Send(at));
            }
            // A charge is durable before its message is read again.
            let is_charging =
                self.group.iter().any(|(of, change)| *of == at && matches!(change, Change::Charged(..)));
            if owner.queue.wants().is_some() && !(is_charging && owner.due.is_none()) {
                actions.push(Action::Page(at));
            }
            match (owner.under_way, owner.due) {
                _ if self.owes(at) => {}
                (Some(_), _) => {
                    actions.push(Action::Return(at));
                    if limits.failures > 0 {
                        actions.push(Action::Fail(at));
                    }
                }
                (None, Some((_, true))) => actions.push(Action::Begin(at)),
                (None, None) if !owner.lane.is_empty() => actions.push(Action::Begin(at)),
                _ => {}
            }
            if limits.stops > 0 && owner.under_way.is_none() {
                actions.push(Action::Stop(at));
            }
        }
        actions
    }

    fn act(&mut self, action: Action) -> Checked {
        match action {
            Action::Send(at) => {
                self.limits.messages -= 1;
                self.group.push((at, Change::Append));
                Ok(())
            }
            Action::Commit => {
                self.commit();
                Ok(())
            }
            Action::Full => {
                self.limits.fulls -= 1;
                self.group.retain(|(_, change)| *change != Change::Append);
                self.commit();
                Ok(())
            }
            Action::Claim(at) => {
                self.claim(at);
                Ok(())
            }
            Action::Page(at) => {
                self.page(at);
                Ok(())
            }
            Action::Begin(at) => self.begin(at),
            Action::Return(at) => {
                let Some(owner) = &mut self.owners[at] else { return Ok(()) };
                let Some(seq) = owner.under_way.take() else { return Ok(()) };
                owner.queue.end(seq);
                self.group.push((at, Change::Handled(seq)));
                self.history(at, seq).handled = true;
                self.over(at, seq);
                self.idle(at);
                Ok(())
            }
            Action::Fail(at) => {
                self.limits.failures -= 1;
                self.fail(at);
                Ok(())
            }
            Action::Stop(at) => {
                self.limits.stops -= 1;
                self.stop(at);
                Ok(())
            }
            Action::Crash { power } => {
                self.limits.crashes -= 1;
                self.crash(power);
                Ok(())
            }
        }
    }

    fn check(&self) -> Checked {
        for (at, histories) in self.histories.iter().enumerate() {
            let disk = &self.disks[at];
            for (seq, history) in histories {
                if !(history.handled || disk.waiting.contains_key(seq) || disk.quarantine.contains(seq)) {
                    return Err(format!("{seq:?} of queue {at} was accepted and is lost"));
                }
            }
        }
        match &self.tried[..] {
            [] | [_] => Ok(()),
            more => Err(format!("{} suspects are tried at once", more.len())),
        }
    }

    /// Without further trouble, everything that was accepted is handled or in quarantine.
    fn run_to_its_end(&mut self, _: usize) -> Checked {
        self.limits = Limits { messages: 0, failures: 0, crashes: 0, stops: 0, fulls: 0, ..self.limits };
        for _ in 0..200 {
            let Some(action) = self.actions().first().copied() else { break };
            self.act(action)?;
            self.check()?;
        }
        if let Some(action) = self.actions().first() {
            return Err(format!("it never ends: {action:?}"));
        }
        for (at, disk) in self.disks.iter().enumerate() {
            if let Some((seq, _)) = disk.waiting.first_key_value() {
                return Err(format!("{seq:?} of queue {at} waits for ever"));
            }
        }
        Ok(())
    }
}
