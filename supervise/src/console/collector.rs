//! Makes one view from a series of looks and events. Time is an argument, so this needs no runtime and no
//! clock.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use supervise_core::NodeState;

use super::ailments::ailments;
use super::backlogs::{Backlog, Backlogs};
use super::below::Way;
use super::cards::{Card, Hand, Kind, Known, MOST_CARDS, deadlocked};
use super::detail::Detail;
use super::failing::Failures;
use super::history::{Fall, History, Lane, lane_of};
use super::marks::Marks;
use super::past::{down, losses, lost};
use super::places::Sought;
use super::rows::{Listing, Shown, rate};
use super::sight::{Decision, Happening, Intervened, Sight, Time};
use super::threads::{Handlers, Threads};
use super::waits::{LINK, Link, Waits};
use super::wish::Wish;

/// After this long in one message, an actor is mentioned beside the card of a stuck actor.
const LONG: Duration = Duration::from_secs(5);
const MOST_MENTIONED: usize = 5;
/// How many failures a view shows.
const MOST_FAILURES: usize = 60;
/// For how many top-level actors a look notes since when an actor below them has been held up, and how many lanes the timeline has.
const MOST_HELD: usize = 32;
const MOST_LANES: usize = 8;

/// Collects the looks and events so far.
#[derive(Debug, Default)]
pub(super) struct Collector {
    marks: Marks,
    failures: Failures,
    history: History,
    /// Which actors waited for which at the last look.
    waits: Waits,
    /// The mailboxes that fell behind at the last look.
    backlogs: Backlogs,
    threads: Threads,
    /// How many messages all actors together handled per second, between the last two looks.
    per_second: f64,
    /// How many messages all actors together had handled at the last look.
    handled_in_all: u64,
    looked: Option<Time>,
}

/// A look that is being taken.
#[derive(Debug)]
pub(super) struct Look<'c> {
    collector: &'c mut Collector,
    /// What readers see of it.
    listings: &'c mut [Listing],
    /// Whether this look leaves marks and counts unchanged, because it only serves a new reader before the next
    /// regular look.
    is_glance: bool,
    waits: Waits,
    backlogs: Backlogs,
    handlers: Handlers,
    now: Time,
    handled: u64,
    longest: Option<Time>,
    hand: Hand,
    mentioned: Vec<Mention>,
    /// The paths of top-level actors, and since when something below them is stuck, blocks a thread or is in a deadlock.
    held: Vec<(String, Time)>,
    /// The supervisors that have been undecided since the last look or longer.
    undecided: Vec<String>,
    /// What tells whether places are in a restart loop.
    sought: Sought,
    /// Whether an actor may be near a limit, but its failures are forgotten.
    may_be_near: bool,
    way: Way,
}

/// An actor that has been in one message for long, although no message waits in its own mailbox. Others may wait for its
/// answer.
#[derive(Debug, Clone)]
pub(super) struct Mention {
    pub(super) path: String,
    pub(super) handler: Option<&'static str>,
    pub(super) since: Time,
}

/// What is shown: a bounded amount, however large the system is.
#[derive(Debug, Clone, Default)]
pub(super) struct View {
    /// The time since the system began.
    pub(super) now: Time,
    /// When the look began.
    pub(super) began: Option<Instant>,
    /// The same by the clock on the wall.
    pub(super) clock: Option<SystemTime>,
    /// How long the look took.
    pub(super) took: Duration,
    /// How much of that this thread was on a processor. On a busy machine it is often less.
    pub(super) worked: Duration,
    /// The time until the next look.
    pub(super) interval: Duration,
    pub(super) actors: usize,
    pub(super) ill: usize,
    /// How many branches are down. Their actors have ended or failed, so not all of them are among those that are not well.
    pub(super) down: usize,
    /// Whether more may be down, because the console does not remember more of them.
    pub(super) may_have_more_down: bool,
    /// The problems that more may have, because more have failed than are remembered.
    pub(super) doubtful: Vec<Kind>,
    /// Whether there may be other problems, because events were missed.
    pub(super) may_have_missed: bool,
    /// The paths of the first actors that are not well.
    pub(super) unwell: Vec<String>,
    /// The kinds and subjects of problems that have no card, because their actors have a worse problem or are named in the card of another
    /// actor.
    #[cfg_attr(
        not(feature = "tracing"),
        expect(dead_code, reason = "only the log compares the cards of two looks")
    )]
    pub(super) hidden: Vec<(Kind, String)>,
    /// How long, at most, the oldest message has waited. `None` if no message waits.
    pub(super) longest: Option<Time>,
    pub(super) per_second: f64,
    /// The worst one first.
    pub(super) cards: Vec<Card>,
    /// The mailboxes that fall behind and have the oldest messages, the oldest first.
    pub(super) backlogs: Vec<Backlog>,
    /// The actors for which stuck actors may wait, the longest first.
    pub(super) mentioned: Vec<Mention>,
    /// The branches of the timeline: those that are held up, then those in which something was done by hand, then those that fail most.
    pub(super) lanes: Vec<Lane>,
    /// How many more of them there are.
    pub(super) more_lanes: usize,
    /// How many more cards there are.
    pub(super) more_cards: usize,
    /// The newest one last.
    pub(super) failures: Vec<(Time, Decision)>,
    /// How many more there were within 15 minutes.
    pub(super) more_failures: u64,
    /// The newest one last.
    pub(super) interventions: Vec<(Time, Intervened)>,
    /// Failures that ended an actor, within an hour.
    pub(super) ends: Vec<(Time, Decision)>,
    /// How many more there were.
    pub(super) more_ends: u64,
    pub(super) falls: Vec<Fall>,
    pub(super) lost_minutes: Vec<(u64, u64)>,
    /// How many events were missed.
    pub(super) missed: u64,
    /// How many busy actors could not be followed.
    pub(super) unfollowed: usize,
    /// How the system ended.
    pub(super) ended: Option<String>,
}

impl View {
    /// The time of day at a time of the system.
    pub(super) fn clock_at(&self, at: Time) -> Option<SystemTime> {
        self.clock?.checked_sub(self.now.saturating_sub(at))
    }

    /// Whether more actors may have problems than are known.
    pub(super) fn may_have_more_ill(&self) -> bool {
        !self.doubtful.is_empty()
    }

    /// How long ago the look began.
    pub(super) fn age(&self) -> Duration {
        self.began.map_or(Duration::ZERO, |began| began.elapsed())
    }
}

impl Collector {
    pub(super) fn happened(&mut self, happening: Happening, now: Time) {
        match happening {
            Happening::Failed(decision) => {
                let before = self.failures.of(decision.key).and_then(|failing| failing.current_loop(now));
                self.history.failed(decision.clone(), before, now);
                self.failures.note(decision, now);
            }
            Happening::GaveUp(given_up) => self.history.gave_up(given_up, now),
            Happening::Delayed(replacement) => self.history.delayed(&replacement, now),
            Happening::Lost(loss) => self.history.lost(loss, now),
            Happening::Intervened(intervened) => self.history.intervened(intervened, now),
            Happening::Missed(missed) => self.history.miss(missed, now),
        }
    }

    /// Forgets the branches in whose place another actor runs. `find` gives the key of the actor at a path.
    pub(super) fn forget_repaired(&mut self, find: impl Fn(&str) -> Option<u64>) {
        self.history.forget_repaired(find);
    }

    /// Notes how long a task waited for a thread, before a look.
    pub(super) fn beat(&mut self, waited: Option<Duration>, now: Time) {
        self.threads.note(waited, now);
    }

    pub(super) fn look<'c>(&'c mut self, now: Time, listings: &'c mut [Listing]) -> Look<'c> {
        self.history.forget(now);
        self.marks.begin();
        self.begin(now, listings, false)
    }

    /// Begins a look that is not remembered, for readers who want to see the system between two looks.
    pub(super) fn glance<'c>(&'c mut self, now: Time, listings: &'c mut [Listing]) -> Look<'c> {
        self.begin(now, listings, true)
    }

    fn begin<'c>(&'c mut self, now: Time, listings: &'c mut [Listing], is_glance: bool) -> Look<'c> {
        listings.iter_mut().for_each(Listing::begin);
        let looked = self.looked.unwrap_or_default();
        let undecided = self.history.undecided(looked).map(str::to_owned).collect();
        let sought = self.history.places.sought(now);
        Look {
            collector: self,
            listings,
            is_glance,
            waits: Waits::default(),
            backlogs: Backlogs::default(),
            handlers: Handlers::default(),
            now,
            handled: 0,
            longest: None,
            hand: Hand::default(),
            mentioned: Vec::new(),
            held: Vec::new(),
            undecided,
            sought,
            may_be_near: false,
            way: Way::default(),
        }
    }
}

impl Look<'_> {
    /// Whether this actor has failed more often than the events so far tell.
    pub(super) fn lags(&self, sight: &Sight<'_>) -> bool {
        let known = || self.collector.failures.of(sight.key);
        sight.attempt > 0 && known().is_none_or(|failing| failing.decision.attempt < sight.attempt)
    }

    /// Notes an event since the look began.
    pub(super) fn happened(&mut self, happening: Happening) {
        self.collector.happened(happening, self.now);
    }

    /// Records an actor, and returns what its line shows. An actor is recorded before its children.
    pub(super) fn see(&mut self, sight: &Sight<'_>) -> Shown {
        self.way.go_to(sight);
        self.handled += u64::from(sight.handled());
        self.handlers.see(sight, self.way.path());
        self.sought.see(self.way.path(), sight.key, self.way.runs());
        self.decide(sight);
        let Self { collector, now, .. } = self;
        let Collector { marks, failures, waits, backlogs, .. } = &mut **collector;
        let now = *now;
        let peeked = if self.is_glance { marks.peek(sight, now) } else { None };
        let mark = if self.is_glance { peeked.as_ref() } else { marks.see(sight, now) };
        self.may_be_near |= failures.may_be_near(sight, now);
        let failing = if self.is_glance { failures.of(sight.key) } else { failures.see(sight, now) };
        let ailments = ailments(sight, mark, failing, waits, self.way.is_upheld(), now);
        let kind = ailments.worst;
        let oldest = mark.and_then(|mark| mark.oldest(now));
        let long = mark.map(|mark| mark.message_since.unwrap_or(mark.state_since));
        self.longest = self.longest.max(oldest.map(|age| age.at_most));
        if let Some(since) = long.filter(|since| now.saturating_sub(*since) >= LINK) {
            let arrived = oldest.map(|age| now.saturating_sub(age.about));
            self.waits.note(sight.key, || Link::of(sight, self.way.path(), since, arrived));
        }
        // An idle actor waits for nobody, and most actors are idle.
        let waits_for = mark.and_then(|_| waits.targets(sight.key).next()).map(|(_, link)| Arc::clone(&link.path));
        let behind_since = ailments.has(Kind::FallingBehind).then(|| {
            let arrived = now.saturating_sub(oldest.map_or(Time::ZERO, |age| age.about));
            self.backlogs.note(backlogs, sight, self.way.path(), arrived, waits_for.as_ref())
        });
        let shown = Shown {
            kind,
            since: match kind {
                Some(Kind::SlowStart | Kind::SlowEnd) => mark.map(|mark| mark.state_since),
                _ => long,
            },
            oldest: oldest.map(|age| age.about),
            waits_for,
        };
        let is_root = shown.waits_for.is_none();
        ailments.hidden().for_each(|kind| self.hand.hide(kind, sight));
        if kind.is_some() {
            self.hand.count(self.way.path());
        }
        match kind {
            // An actor that waits for a stuck actor belongs to the card of that actor. A circle has one card.
            None | Some(Kind::Deadlock) => {}
            Some(Kind::Stuck) if !is_root => self.hand.hide(Kind::Stuck, sight),
            Some(kind) => {
                let (supervisor, above) = self.way.above();
                let known = Known { mark, behind_since, failing, supervisor, above, waits, now };
                let asked = self.hand.add(kind, self.way.path(), sight, &known);
                if let Some(keys) = asked {
                    self.way.ask(keys);
                }
            }
        }
        let since = mark.and_then(|mark| mark.message_since).filter(|since| now.saturating_sub(*since) >= LONG);
        if let (Some(since), None, true) = (since, kind, is_root) {
            self.mention(sight.handler, since);
        }
        if let (Some(Kind::Deadlock | Kind::Stuck | Kind::BlocksThread), Some(since)) = (kind, shown.since) {
            self.hold(since);
        }
        let path = self.way.path();
        for listing in &mut *self.listings {
            listing.see(sight, path, &shown);
        }
        shown
    }

    /// A supervisor that runs has been decided about, although the console does not know how.
    fn decide(&mut self, sight: &Sight<'_>) {
        let path = self.way.path();
        if sight.state == NodeState::Running && self.undecided.iter().any(|undecided| undecided == path) {
            self.collector.history.forget_undecided(path, self.collector.looked.unwrap_or_default());
        }
    }

    pub(super) fn wishes(&self) -> impl Iterator<Item = &Wish> {
        self.listings.iter().map(|listing| &listing.wish)
    }

    /// Sets the details of the actor that the readers of a listing have chosen.
    pub(super) fn choose(&mut self, listing: usize, detail: Detail) {
        if let Some(listing) = self.listings.get_mut(listing) {
            listing.detail = Some(detail);
        }
    }

    /// Counts an actor below the chosen one, and its waiting messages.
    pub(super) fn add_below(&mut self, listing: usize, messages: usize) {
        if let Some(detail) = self.listings.get_mut(listing).and_then(|listing| listing.detail.as_mut()) {
            detail.below.0 += 1;
            detail.below.1 += messages;
        }
    }

    /// The path of the actor that was seen last.
    pub(super) fn path(&self) -> &str {
        self.way.path()
    }

    fn mention(&mut self, handler: Option<&'static str>, since: Time) {
        let place = self.mentioned.partition_point(|other| other.since <= since);
        if place < MOST_MENTIONED {
            self.mentioned.truncate(MOST_MENTIONED - 1);
            self.mentioned.insert(place, Mention { path: self.way.path().to_owned(), handler, since });
        }
    }

    /// Notes that the actor that was seen last is held up.
    fn hold(&mut self, since: Time) {
        let lane = lane_of(self.way.path());
        if let Some((_, first)) = self.held.iter_mut().find(|(known, _)| known == lane) {
            *first = since.min(*first);
        } else if self.held.len() < MOST_HELD {
            self.held.push((lane.to_owned(), since));
        }
    }

    /// Ends the look, and returns what all looks and events so far show.
    pub(super) fn close(self) -> View {
        let Self {
            collector,
            listings,
            is_glance,
            mut waits,
            backlogs,
            handlers,
            now,
            handled,
            longest,
            hand,
            mentioned,
            held,
            undecided: _,
            sought,
            may_be_near,
            mut way,
        } = self;
        way.end();
        for listing in &mut *listings {
            listing.end(now, !is_glance);
        }
        waits.close();
        for detail in listings.iter_mut().filter_map(|listing| listing.detail.as_mut()) {
            detail.complete(&waits);
        }
        if !is_glance {
            let seconds = collector.looked.map_or(0.0, |looked| now.saturating_sub(looked).as_secs_f64());
            collector.per_second = rate(handled.saturating_sub(collector.handled_in_all), seconds);
            collector.handled_in_all = handled;
            collector.looked = Some(now);
            collector.marks.end(now);
        }
        collector.history.places.found(&sought, now);
        let history = &collector.history;
        let (ill, unwell, mut hidden) = (hand.ill, hand.unwell.clone(), hand.hidden());
        hidden.extend(losses(history, now));
        hidden.extend(deadlocked(&waits));
        hidden.extend(history.places.subjects(now));
        let has_forgotten = collector.failures.may_have_more(now);
        let may_loop = has_forgotten || history.places.may_have_more(now);
        let doubts = [(Kind::RestartLoop, may_loop), (Kind::NearLimit, may_be_near || has_forgotten)];
        let doubtful: Vec<Kind> = doubts.into_iter().filter(|&(_, is)| is).map(|(kind, _)| kind).collect();
        let threads = collector.threads.card(&handlers);
        let is_down = |path: &str| history.falls.iter().any(|fall| fall.is_harm() && fall.down() == path);
        let mut others = history.places.cards(&sought, is_down, now);
        others.extend(down(&history.falls, history.may_have_more_falls(now)));
        others.extend(lost(history, now));
        others.extend(threads);
        let mut cards = hand.play(others, &waits, backlogs.longest(), &way, &doubtful, now);
        let down = cards.iter().filter(|card| card.kind == Kind::BranchDown).map(|card| card.actors).sum();
        let more_cards = cards.len().saturating_sub(MOST_CARDS);
        cards.truncate(MOST_CARDS);
        let is_stuck = cards.iter().any(|card| card.kind == Kind::Stuck);
        let (lanes, more_lanes) = lanes(history, held);
        let newest = history.failures.len().saturating_sub(MOST_FAILURES);
        let view = View {
            now,
            actors: way.actors,
            ill,
            down,
            may_have_more_down: history.may_have_more_falls(now),
            doubtful,
            may_have_missed: history.may_have_missed(now),
            unwell,
            hidden,
            longest,
            per_second: collector.per_second,
            cards,
            backlogs: backlogs.longest().to_vec(),
            mentioned: if is_stuck { mentioned } else { Vec::new() },
            lanes,
            more_lanes,
            more_cards,
            interventions: history.interventions.iter().cloned().collect(),
            failures: history.failures.range(newest..).cloned().collect(),
            more_failures: newest as u64 + history.other_failures.sum(),
            ends: history.ends.iter().cloned().collect(),
            more_ends: history.other_ends.sum(),
            falls: history.falls.iter().cloned().collect(),
            lost_minutes: history.lost_minutes.iter().collect(),
            missed: history.missed,
            unfollowed: collector.marks.unfollowed,
            ..View::default()
        };
        if !is_glance {
            (collector.waits, collector.backlogs) = (waits, backlogs);
        }
        view
    }
}

/// The lanes of the timeline, and how many more there are.
fn lanes(history: &History, held: Vec<(String, Time)>) -> (Vec<Lane>, usize) {
    let mut lanes = history.lanes.clone();
    let touched = |path: &str| history.interventions.iter().any(|(_, done)| lane_of(&done.actor) == path);
    let others = history.interventions.iter().map(|(_, done)| (lane_of(&done.actor).to_owned(), None));
    for (path, since) in held.into_iter().map(|(path, since)| (path, Some(since))).chain(others) {
        match lanes.iter_mut().find(|lane| lane.path == path) {
            Some(lane) => lane.held = lane.held.or(since),
            None => lanes.push(Lane { held: since, ..Lane::new(&path) }),
        }
    }
    lanes.sort_by_cached_key(|lane| {
        (lane.held.is_none(), !touched(&lane.path), Reverse(lane.failures()), lane.path.clone())
    });
    let more = lanes.len().saturating_sub(MOST_LANES);
    lanes.truncate(MOST_LANES);
    // Within these, each keeps its place while the numbers grow.
    lanes.sort_by(|a, b| a.path.cmp(&b.path));
    (lanes, more)
}

#[cfg(test)]
mod tests;
