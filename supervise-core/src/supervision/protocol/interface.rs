//! The queries and commands that the performer may give a protocol besides its inputs.

use std::hash::Hash;

use super::{Instance, Out, Phase, Protocol, SpawnRefusal};
use crate::base::ActorName;
use crate::supervision::Time;
use crate::supervision::children::{ChildRecord, Children, Marked};
use crate::supervision::directive::{Directive, Terms};
use crate::supervision::restart_window::{RestartStatistics, Standing};
use crate::supervision::settings::{Count, Strategy};
use crate::supervision::vocabulary::{Cause, ChildId, Effect, HowEnded, SystemMessage};
use crate::supervision::watch::WatchKind;

impl<R: Hash + Eq + Clone, C: Cause> Protocol<R, C> {
    // ---- queries -------------------------------------------------------------------------------------------------

    /// Whether the next user message may be handled. Invariant 4.
    pub fn accepts_messages(&self) -> bool {
        self.suspended == 0
            && matches!(self.phase, Phase::Running)
            && self.instance == Instance::Live
            && self.out.is_none()
            && self.pending.is_none()
            && !self.is_deciding()
    }

    /// Whether the actor is suspended, or waits for the return of its code to restart or stop. The last hook of an instance is such code.
    pub fn is_held(&self) -> bool {
        self.suspended > 0 || self.pending.is_some() || self.armed
    }

    /// Whether user code is out, or is about to be called.
    pub fn runs_code(&self) -> bool {
        self.out.is_some() || self.wanted.is_some()
    }

    /// Whether the child `later` is suspended and goes on only after the running code of its sibling `first` has returned, because both
    /// restart with one group of declared children. Its `Suspend` may still be on its way.
    ///
    /// Rule [14.8](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-14.8).
    pub fn restarts_after(&self, later: ChildId, first: ChildId) -> bool {
        let (Some(fields), Some(children)) = (&self.fields, &self.children) else { return false };
        let schedule = |child| children.find(child)?.delayed().map(|delayed| delayed.schedule);
        let is_delayed = || schedule(later).is_some_and(|of_group| schedule(first) == Some(of_group));
        let is_field = |child| fields.field_of(child).is_some();
        fields.restart_in_turn(later, first) || (is_field(later) && is_field(first) && is_delayed())
    }

    /// Whether the child `later` is asked to stop only after its sibling `first` has ended.
    ///
    /// Rules [14.4](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-14.4) and
    /// [14.8](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-14.8).
    pub fn stops_after(&self, later: ChildId, first: ChildId) -> bool {
        self.is_dying(first) && self.fields.as_ref().is_some_and(|fields| fields.stops_after(later, first))
    }

    /// Whether the child `later` survives a restart of this actor, which goes on only after its sibling `first` has ended.
    ///
    /// Rule [14.8](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-14.8).
    pub fn survives_after(&self, later: ChildId, first: ChildId) -> bool {
        self.goes_on_after(first) && !self.is_dying(later)
    }

    /// Whether this actor restarts or stops, and goes on only after `child` has ended.
    ///
    /// Rule [14.8](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-14.8).
    pub fn goes_on_after(&self, child: ChildId) -> bool {
        let waits = matches!(self.phase, Phase::Restarting(_) | Phase::Waiting(_) | Phase::Terminating);
        waits && self.is_dying(child)
    }

    /// Whether the actor ended.
    pub fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended)
    }

    /// Whether the actor was told to stop.
    pub fn is_stopping(&self) -> bool {
        self.is_terminating() || self.stop_is_pending()
    }

    /// Whether this actor stops the child, and waits for its end.
    pub fn awaits_end_of(&self, child: ChildId) -> bool {
        self.is_dying(child)
    }

    /// Whether this actor has asked the child to stop. Declared children are asked one after another.
    ///
    /// Rule [14.4](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-14.4).
    pub fn has_asked_to_stop(&self, child: ChildId) -> bool {
        self.is_dying(child) && self.fields.as_ref().is_none_or(|fields| !fields.is_in_line(child))
    }

    /// How many suspensions have not been undone yet.
    pub fn suspensions(&self) -> u32 {
        self.suspended
    }

    /// How many system messages are deferred.
    pub fn deferrals(&self) -> usize {
        self.deferred.as_ref().map_or(0, |deferred| deferred.failures.len() + deferred.control.len())
    }

    /// How many restarts that its parent sent this actor has begun.
    pub fn restarts(&self) -> u32 {
        self.restarts
    }

    /// Whether the actor has no instance that has completed its start.
    pub fn is_starting(&self) -> bool {
        self.instance != Instance::Live || !matches!(self.phase, Phase::Running)
    }

    /// How many restarts a child was told to do, including those that no limit counts.
    pub fn restarts_in_all(&self, id: ChildId) -> u32 {
        self.children.as_ref().and_then(|all| all.find(id)).map_or(0, ChildRecord::restarts_sent)
    }

    /// Whether a child is temporary, so that it never restarts.
    pub fn never_restarts(&self, id: ChildId) -> bool {
        self.is_temporary(id)
    }

    /// Whether a failure of this actor has not been answered yet.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Whether the next instance, or the end, waits for the code that runs.
    pub fn waits_for_code(&self) -> bool {
        self.pending.is_some()
    }

    /// The children in start order, including those that are stopping.
    pub fn children(&self) -> impl DoubleEndedIterator<Item = (ChildId, &R)> {
        Children::of(self.children.as_deref()).map(|(id, child)| (id, &child.target))
    }

    /// The child of this name.
    pub fn child_named(&self, name: &str) -> Option<&R> {
        self.children.as_ref()?.named(name).map(|child| &child.target)
    }

    /// A child's name, and how many restarts its limit has counted.
    pub fn child_info(&self, id: ChildId) -> Option<(ActorName, u32)> {
        let child = self.children.as_ref()?.find(id)?;
        Some((child.name.clone(), child.restarts()))
    }

    /// A child.
    pub fn child(&self, id: ChildId) -> Option<&R> {
        self.children.as_ref()?.find(id).map(|child| &child.target)
    }

    /// How many failures of a child there were in a row, as far as somebody was told of them.
    ///
    /// Rule [10.6](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-10.6).
    pub fn failures_in_row(&self, id: ChildId) -> u32 {
        let child = self.children.as_ref().and_then(|all| all.find(id));
        child.and_then(ChildRecord::history).map_or(0, |history| history.streak.failures())
    }

    /// How much of the limit a failure of this child would find used at `now`. `None` if there is no limit.
    pub fn standing(&self, id: ChildId, strategy: &Strategy, now: Time) -> Option<Standing> {
        let children = self.children.as_ref()?;
        let unused = RestartStatistics::default();
        let statistics = match strategy.count {
            Count::Supervisor => &children.restarts,
            Count::Child => children.find(id)?.history().map_or(&unused, |history| &history.restarts),
        };
        statistics.standing(&strategy.limit, now)
    }

    /// When the delayed restart for which a child waits is due, if it waits for one.
    pub fn due(&self, id: ChildId) -> Option<Time> {
        Some(self.children.as_ref()?.find(id)?.delayed()?.due)
    }

    /// At most `most` children from `first` on, in start order, and whether each is new. A new child has not
    /// failed and was not restarted, so nothing else is known about it.
    pub fn some_children(&self, first: ChildId, most: usize) -> impl Iterator<Item = (ChildId, &R, bool)> {
        let children = self.children.as_deref().into_iter();
        let children = children.flat_map(move |children| children.starting_at(first));
        children.take(most).map(|(id, child)| (id, &child.target, child.is_new()))
    }

    /// Whether a message handler is out.
    pub fn handler_is_parked(&self) -> bool {
        self.out == Some(Out::Handler)
    }

    /// How much of the limit of the rule that decided about this child is used. `None` if the rule has no limit, or if it granted the
    /// restart and the strategy's limit then refused it.
    ///
    /// Rule [7.11](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-7.11).
    pub fn standing_of_rule(
        &self,
        id: ChildId,
        strategy: &Strategy,
        directive: &Directive,
        refused: bool,
        now: Time,
    ) -> Option<Standing> {
        let Directive::RestartOn(Terms { rule, limit, .. }) = directive else { return None };
        let children = self.children.as_ref()?;
        let count = match strategy.count {
            Count::Child => children.find(id)?.history()?.of_rules.find(*rule)?,
            Count::Supervisor => children.of_rules.find(*rule)?,
        };
        if refused && !count.refused(limit) { None } else { count.standing(limit, now) }
    }

    /// Whether the restart of this child was refused because it has been failing for too long.
    ///
    /// Rule [7.13](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-7.13).
    pub fn gave_up(&self, id: ChildId) -> bool {
        let child = self.children.as_ref().and_then(|children| children.find(id));
        child.and_then(|child| child.history()).is_some_and(|history| history.backoff.gave_up())
    }

    /// The watched actors.
    pub fn watched(&self) -> impl Iterator<Item = &R> {
        self.watch.iter().flat_map(|watch| watch.watched())
    }

    /// The actors that watch this one.
    pub fn watchers(&self) -> impl Iterator<Item = &R> {
        self.watch.iter().flat_map(|watch| watch.watchers())
    }

    /// Whether its instance is the first one that ran. The count wraps, so this is reliable for the first 255 runs only.
    pub fn runs_for_the_first_time(&self) -> bool {
        self.runs == 1
    }

    // ---- commands, answered at once ------------------------------------------------------------------------------

    /// Adds a child. `make` gets its id and the number of suspensions it inherits, and runs only if the name is free.
    ///
    /// # Errors
    ///
    /// If the name is taken or the actor is stopping.
    ///
    /// Rules [2.3](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-2.3) and
    /// [5.1](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-5.1).
    pub fn spawn(&mut self, name: &ActorName, make: impl FnOnce(ChildId, u32) -> R) -> Result<R, SpawnRefusal> {
        if self.is_terminating() {
            return Err(SpawnRefusal::Stopping);
        }
        let inherited = self.suspended;
        let reserved = self.fields.as_ref().is_some_and(|fields| fields.has_name(name));
        if reserved {
            return Err(SpawnRefusal::NameTaken);
        }
        let children = self.children.get_or_insert_default();
        let added = children.add(name, |id| make(id, inherited));
        added.map(|(_, target)| target).ok_or(SpawnRefusal::NameTaken)
    }

    /// Adds a child under a made-up name, which `make` also gets.
    ///
    /// # Errors
    ///
    /// If the actor is ending.
    pub fn spawn_anonymous(
        &mut self,
        make: impl FnOnce(&ActorName, ChildId, u32) -> R,
    ) -> Result<R, SpawnRefusal> {
        if self.is_terminating() {
            return Err(SpawnRefusal::Stopping);
        }
        let inherited = self.suspended;
        let children = self.children.get_or_insert_default();
        Ok(children.add_anonymous(|name, id| make(name, id, inherited)))
    }

    /// A restart was not sent: the child has not taken an earlier one, which answers both.
    ///
    /// Rule [7.10](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-7.10).
    pub fn restart_was_joined(&mut self, id: ChildId) {
        if let Some(child) = self.child_mut(id) {
            child.uncount_restart();
        }
    }

    /// Requests the stop of a child.
    pub fn stop_child(&mut self, id: ChildId, effects: &mut Vec<Effect<R, C>>) {
        if self.mark_stopping(id) == Marked::Now {
            self.send_to(id, SystemMessage::Terminate, effects);
        }
    }

    /// Unwatches and stops all children, the last one first: the default of `pre_restart`.
    pub fn stop_children(&mut self, effects: &mut Vec<Effect<R, C>>) {
        self.stop_children_from(ChildId(0), effects);
    }

    /// Watches an actor. Returns the kind of an earlier watch, which stays as it is.
    pub fn watch(&mut self, subject: &R, kind: WatchKind, effects: &mut Vec<Effect<R, C>>) -> Option<WatchKind> {
        if self.is_terminating() {
            return None;
        }
        let earlier = self.watches().watch(subject, kind);
        if earlier.is_none() {
            effects.push(Effect::Watch(subject.clone()));
        }
        earlier
    }

    /// Ends a watch, and cancels a notification that is already queued.
    pub fn unwatch(&mut self, subject: &R, effects: &mut Vec<Effect<R, C>>) {
        effects.extend(self.watch.as_mut().and_then(|watch| watch.unwatch(subject)).map(Effect::Unwatch));
    }

    /// The queued notification of an actor's end is about to be delivered. `None`: the actor is no longer watched.
    #[must_use]
    pub fn dequeued(&mut self, subject: &R) -> Option<(WatchKind, HowEnded)> {
        self.watch.as_mut()?.dequeued(subject)
    }
}
