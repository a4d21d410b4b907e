//! Looks at a system, and passes what it finds to the collector. Sends no message, and runs no code of an
//! actor.

use std::fmt;
use std::time::{Duration, Instant, SystemTime};

use supervise_core::{ActorSystem, DeciderTable, Event, Events, Interest, NodeState, Strategy};

use super::collector::{Collector, Look, View};
use super::detail::Chooser;
#[cfg(feature = "tracing")]
use super::lines::{Lines, say};
use super::pulse::Pulse;
use super::rows::Listing;
use super::sight::{Happening, Sight};
use super::text::text;
use crate::sight::EVENTS_AT_ONCE;

/// Looks at a system on request, for tests on a paused clock and for programs that look in a task of their own.
/// [`Console::by_hand`](super::Console::by_hand) makes it.
///
/// Ages and rates are exact to within the time between two looks, so look often.
pub struct Watch {
    system: ActorSystem,
    events: Events,
    collector: Collector,
    pulse: Pulse,
    texts: bool,
    view: View,
    #[cfg(feature = "tracing")]
    lines: Lines,
}

impl Watch {
    pub(super) fn new(system: &ActorSystem, texts: bool) -> Self {
        let events = system.events().subscribe_to(Interest::FAILURES | Interest::DEAD_LETTERS);
        let mut watch = Self {
            system: system.clone(),
            events,
            collector: Collector::default(),
            pulse: Pulse::default(),
            texts,
            view: View::default(),
            #[cfg(feature = "tracing")]
            lines: Lines::default(),
        };
        watch.look();
        watch
    }

    /// Reads the events since the last look, and looks at each actor.
    ///
    /// The time is proportional to the number of actors. A look delays an actor by no more than the time to list 1024 children
    /// (rule [22.1](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-22.1)).
    pub fn look(&mut self) {
        self.look_for(&mut []);
    }

    /// Takes a look, and shows the readers what they wish to see of it.
    pub(super) fn look_for(&mut self, listings: &mut [Listing]) {
        self.read_events();
        self.collector.beat(self.pulse.beat(self.system.runtime()), self.system.uptime());
        self.forget_repaired();
        let began = Began::now();
        let look = self.collector.look(self.system.uptime(), listings);
        let (view, runs) = walk(&self.system, look, &mut self.events, EVENTS_AT_ONCE, self.texts);
        self.view = seen(view, began);
        #[cfg(feature = "tracing")]
        if runs {
            for line in self.lines.after(&self.view) {
                say(self.system.name(), &self.view, &line);
            }
        }
        #[cfg(not(feature = "tracing"))]
        let _: bool = runs;
    }

    /// Shows readers the system between two looks. Nothing is remembered of this.
    pub(super) fn glance_for(&mut self, listings: &mut [Listing]) -> View {
        self.read_events();
        self.forget_repaired();
        let began = Began::now();
        let glance = self.collector.glance(self.system.uptime(), listings);
        let (view, _) = walk(&self.system, glance, &mut self.events, EVENTS_AT_ONCE, self.texts);
        seen(view, began)
    }

    /// Reads the events so far. If events come faster than they are read, the others are left for the next time.
    fn read_events(&mut self) {
        for _ in 0..EVENTS_AT_ONCE {
            let Some(event) = self.events.try_recv() else { break };
            self.happened(event);
        }
    }

    /// Forgets the branches in whose place another actor runs.
    fn forget_repaired(&mut self) {
        self.collector.forget_repaired(|path| self.system.find(path).map(|actor| actor.uid().into()));
    }

    /// The problems, the worst first, then the last failures, in lines of at most 80 columns.
    pub fn text(&self) -> String {
        text(self.system.name(), &self.view, self.view.age())
    }

    pub(super) fn happened(&mut self, event: Event) {
        if let Some(happening) = happening(&event, self.texts) {
            self.collector.happened(happening, self.system.uptime());
        }
    }

    pub(super) fn system(&self) -> &ActorSystem {
        &self.system
    }

    pub(super) fn events(&mut self) -> &mut Events {
        &mut self.events
    }

    pub(super) fn view(&self) -> &View {
        &self.view
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("system", &self.system).finish_non_exhaustive()
    }
}

fn happening(event: &Event, texts: bool) -> Option<Happening> {
    let mut happening = Happening::of(event)?;
    if let (Happening::Failed(decision), false) = (&mut happening, texts) {
        decision.text.clear();
    }
    Some(happening)
}

/// When a look began.
struct Began {
    at: Instant,
    clock: SystemTime,
    processor: Option<Duration>,
}

impl Began {
    fn now() -> Self {
        Self { at: Instant::now(), clock: SystemTime::now(), processor: processor_time() }
    }
}

/// The processor time that this thread has used, where the system says it.
fn processor_time() -> Option<Duration> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    said.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// The processor time between two moments that lie `took` apart. If it is not known, all of that time.
fn worked(took: Duration, before: Option<Duration>, after: Option<Duration>) -> Duration {
    before.zip(after).map_or(took, |(before, after)| after.saturating_sub(before).min(took))
}

fn seen(view: View, began: Began) -> View {
    let took = began.at.elapsed();
    let worked = worked(took, began.processor, processor_time());
    View { began: Some(began.at), clock: Some(began.clock), took, worked, ..view }
}

/// Also returns whether the user guardian runs, so that the system is not ending.
///
/// `most`: how many events are read meanwhile, for all actors together.
fn walk(system: &ActorSystem, mut look: Look<'_>, events: &mut Events, most: usize, texts: bool) -> (View, bool) {
    let mut runs = false;
    let mut left = most;
    // How the actors above the current one supervise, from the root down.
    let mut above: Vec<(Strategy, DeciderTable)> = Vec::new();
    let mut choosers: Vec<(usize, Chooser)> = look
        .wishes()
        .enumerate()
        .filter_map(|(at, wish)| Some((at, Chooser::of(wish.focus.as_deref())?)))
        .collect();
    system.look(|glimpse| {
        above.truncate(glimpse.depth());
        let sight = Sight::of(glimpse, above.last());
        // If it has failed since the look began, its card and its line tell of the same failure.
        if look.lags(&sight) {
            while left > 0 {
                let Some(event) = events.try_recv() else { break };
                left -= 1;
                if let Some(happening) = happening(&event, texts) {
                    look.happened(happening);
                }
            }
        }
        runs |= sight.depth == 1 && sight.name == "user" && sight.state == NodeState::Running;
        let shown = look.see(&sight);
        for (at, chooser) in &mut choosers {
            if chooser.see(glimpse, look.path()) {
                let detail = chooser.detail(glimpse, &sight, look.path(), &shown);
                look.choose(*at, detail);
            } else if chooser.pass(glimpse) {
                look.add_below(*at, glimpse.waiting() + glimpse.stashed());
            }
        }
        // Most actors have none.
        if glimpse.has_children() {
            above.push((glimpse.strategy(), glimpse.table()));
        }
    });
    (look.close(), runs)
}

#[cfg(test)]
mod tests {
    use supervise::prelude::*;
    use supervise::testkit::TestSystem;

    use super::super::text::actor;
    use super::super::wish::Wish;
    use super::*;

    /// With wall-clock time, looks would seem longest on a busy machine, and would be rarest there.
    #[test]
    fn con_04_the_time_in_which_a_look_waits_for_a_processor_does_not_count() {
        let ms = Duration::from_millis;
        assert_eq!(worked(ms(900), Some(ms(5)), Some(ms(25))), ms(20));
        assert_eq!(worked(ms(3), Some(ms(5)), Some(ms(9))), ms(3), "the clock of processor time is coarse");
        assert_eq!(worked(ms(900), None, None), ms(900), "it is not known");
    }

    #[derive(Debug, thiserror::Error)]
    #[error("refused")]
    struct Refused;

    #[actor]
    #[supervise(one_for_one, on(Refused) = Restart(backoff(min = "10s", max = "20s")))]
    struct Desk;

    #[actor]
    impl Desk {
        #[handler]
        fn seat(&mut self, ctx: &mut Context<Self>) -> Result<ClerkRef, SpawnError> {
            ctx.spawn("clerk", || Clerk)
        }
    }

    #[actor]
    struct Clerk;

    #[actor]
    impl Clerk {
        #[handler]
        fn stamp(&mut self) -> Result<(), Refused> {
            Err(Refused)
        }
        #[handler]
        async fn think(&mut self) {
            std::future::pending::<()>().await;
        }
    }

    /// The text of an actor says once what is wrong with it, whether the card of its group names it or not. Rule 22.4.
    #[supervise::test]
    async fn con_27_the_text_of_an_actor_says_once_what_is_wrong(system: &TestSystem) {
        let clerks = ["first", "second"].map(|name| system.spawn(name, || Clerk).unwrap());
        let mut watch = Watch::new(system, true);
        for clerk in [&clerks[0], &clerks[0], &clerks[0], &clerks[1], &clerks[1]] {
            clerk.think().tell().unwrap();
        }
        let mut listings = ["first", "second"].map(|name| Listing::of(Wish::of(&format!("focus=/user/{name}"))));
        for _ in 0..7 {
            system.advance(Duration::from_secs(1)).await;
            watch.look_for(&mut listings);
        }
        let said = listings.each_ref().map(|listing| {
            let path = listing.wish.focus.as_deref().expect("it is chosen");
            let text = actor("test", watch.view(), Duration::ZERO, path, listing.detail.as_ref());
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        });
        let says = "/user/first Clerk In `think` for 6 s. Stuck: In `think`: it waits at an `.await`";
        assert!(said[0].contains(says), "{}", said[0]);
        assert!(said[1].contains("/user/second Clerk Stuck. In `think` for 6 s. Mailbox"), "{}", said[1]);
        system.allow_dead_letters();
        for clerk in &clerks {
            system.stop(clerk);
        }
    }

    /// An actor that fails while a look goes on has one number of failures on its line, on its card and in its text. Rule 22.2.
    #[supervise::test]
    async fn con_13_a_failure_since_the_look_began_is_on_the_line_and_on_the_card(system: &TestSystem) {
        system.allow_failures();
        let clerk = system.spawn("desk", || Desk).unwrap().seat().await.unwrap();
        let mut watch = Watch::new(system, true);
        let stamp = || clerk.stamp().tell().unwrap();
        (0..3).for_each(|_| stamp());
        // The first two restarts, after 10 s and 20 s.
        system.advance(Duration::from_secs(31)).await;
        watch.read_events();
        stamp();
        // The look begins now. Before it reaches the clerk, that fails for the fourth time.
        let mut listing = [Listing::of(Wish::of("focus=/user/desk/clerk"))];
        let now = system.uptime();
        system.advance(Duration::from_secs(20)).await;
        let look = watch.collector.look(now, &mut listing);
        let (view, _) = walk(system, look, &mut watch.events, EVENTS_AT_ONCE, true);
        let detail = listing[0].detail.as_ref().expect("it is there");
        let text = actor("test", &view, Duration::ZERO, "/user/desk/clerk", Some(detail));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for said in [
            "Failed, 4 times in a row.",
            "Restart loop: Failed 4 times within",
            "That was its 4th failure in a row.",
            "Restarts 3 so far, the next one in",
        ] {
            assert!(text.contains(said), "{said}\n{text}");
        }
    }

    #[actor]
    #[supervise(one_for_one, on(Refused) = Restart(max_retries = 1))]
    struct Strict;

    #[actor]
    impl Strict {
        #[handler]
        fn seat(&mut self, ctx: &mut Context<Self>) -> Result<ClerkRef, SpawnError> {
            ctx.spawn("clerk", || Clerk)
        }
    }

    /// A branch is repaired when another actor has taken the place of the one that was stopped. Rule 22.3.
    #[supervise::test]
    async fn con_15_a_branch_is_down_until_another_actor_takes_its_place(system: &TestSystem) {
        system.allow_failures();
        let strict = system.spawn("desk", || Strict).unwrap();
        let clerk = strict.seat().await.unwrap();
        let mut watch = Watch::new(system, true);
        (0..2).for_each(|_| clerk.stamp().tell().unwrap());
        system.settle().await;
        watch.look();
        assert_eq!(watch.view().down, 1, "{:?}", watch.view().cards);
        strict.seat().await.unwrap();
        watch.look();
        assert_eq!(watch.view().down, 0, "{:?}", watch.view().cards);
    }

    /// However many actors have failed since the look began, it reads a bounded number of events. Rule 22.4.
    #[supervise::test]
    async fn con_18_a_look_in_a_storm_of_failures_ends(system: &TestSystem) {
        system.allow_failures();
        system.allow_dead_letters();
        let desk = system.spawn("desk", || Desk).unwrap();
        let clerk = desk.seat().await.unwrap();
        let gone = system.spawn("gone", || Clerk).unwrap();
        gone.actor_ref().stop();
        let other = system.spawn("other", || Desk).unwrap().seat().await.unwrap();
        system.settle().await;
        let mut watch = Watch::new(system, true);
        (0..10).for_each(|_| _ = gone.stamp().tell());
        for clerk in [clerk, other] {
            clerk.stamp().tell().unwrap();
        }
        system.settle().await;
        let look = watch.collector.look(system.uptime(), &mut []);
        let (view, _) = walk(system, look, &mut watch.events, 3, true);
        assert!(view.failures.is_empty(), "{:?}", view.failures);
        let unread = std::iter::from_fn(|| watch.events.try_recv()).count();
        assert_eq!(unread, 9, "three of ten dead letters and two failures were read");
    }

    /// A reader who asks between two looks is not told of a branch that was repaired since the last one. Rule 22.4.
    #[supervise::test]
    async fn con_15_a_glance_knows_that_a_branch_was_repaired(system: &TestSystem) {
        system.allow_failures();
        let strict = system.spawn("desk", || Strict).unwrap();
        let clerk = strict.seat().await.unwrap();
        let mut watch = Watch::new(system, true);
        (0..2).for_each(|_| clerk.stamp().tell().unwrap());
        system.settle().await;
        watch.look();
        assert_eq!(watch.view().down, 1, "{:?}", watch.view().cards);
        strict.seat().await.unwrap();
        let view = watch.glance_for(&mut []);
        assert_eq!(view.down, 0, "{:?}", view.cards);
    }

    #[actor]
    #[supervise(one_for_one, on(Refused) = Restart(max_retries = 1))]
    struct Bureau {
        #[child(|_| || Clerk)]
        clerk: Child<Clerk>,
    }

    #[actor]
    impl Bureau {
        #[handler]
        fn close(&mut self) -> Result<(), Refused> {
            Err(Refused)
        }
        #[handler]
        fn who(&mut self) -> ClerkRef {
            self.clerk.actor().clone()
        }
    }

    /// A restart of the supervisor repairs a branch that it declares. Rule 22.3.
    #[supervise::test]
    async fn con_15_a_declared_child_is_down_until_its_supervisor_restarts(system: &TestSystem) {
        system.allow_failures();
        let bureau = system.spawn("desk", || Bureau { clerk: Child::default() }).unwrap();
        let mut watch = Watch::new(system, true);
        let clerk = bureau.who().await.unwrap();
        (0..2).for_each(|_| clerk.stamp().tell().unwrap());
        system.settle().await;
        watch.look();
        assert_eq!(watch.view().down, 1, "{:?}", watch.view().cards);
        bureau.close().tell().unwrap();
        system.settle().await;
        watch.look();
        assert!(system.find("/user/desk/clerk").is_some());
        assert_eq!(watch.view().down, 0, "{:?}", watch.view().cards);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_processor_time_of_a_thread_grows_while_it_works() {
        let before = processor_time().expect("Linux says it");
        let grows = (0..1_000_000).any(|_| processor_time().is_some_and(|now| now > before));
        assert!(grows, "{before:?}");
    }
}
