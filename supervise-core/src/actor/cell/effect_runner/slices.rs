//! One step can have many effects: an end tells every watcher, a failure suspends every child, and a stop turns all
//! waiting messages into dead letters. They are carried out in slices, one in each turn, so that other actors and tasks
//! have their turns in between.
//!
//! 1. The protocol takes no further step, and no user code runs, before all effects of the last step are carried out.
//! 2. A question about a child is an effect too, which counts as much as a message.
//! 3. Leaving work to the next turn takes no memory that grows with the work.
//!
//! Rule 1.9.

use super::EffectRunner;
use crate::actor::actor_ref::AnyActorRef;
use crate::actor::cell::run::THROUGHPUT;
use crate::actor::cell::{Effects, Room, System};
use crate::actor::control::Control;
use crate::actor::definition::Actor;
use crate::actor::dispatch;
use crate::mailbox::{Lane, SystemLane};
use crate::supervision::Effect;

/// How many effects or dead letters count as one message.
const EFFECTS_OF_A_MESSAGE: u16 = 32;

/// How many children that a step looks at count as one message.
const CHILDREN_OF_A_MESSAGE: usize = 8;

/// How many system messages a decision, a call of a hook or a new instance counts as.
const MESSAGES_OF_A_LONG_STEP: u32 = 8;

/// How many effects and dead letters one turn deals with at most.
const SLICE: u16 = 128 * EFFECTS_OF_A_MESSAGE;

/// What the last step left to do.
pub(super) struct Rest<M> {
    /// The last effect comes first.
    room: Box<Room>,
    /// What waited in the user lane when it was closed.
    user: Option<Lane<M, Control>>,
    /// What waited in the system lane when it was closed.
    system: Option<SystemLane<System>>,
}

/// The watchers that these effects would tell of the end. The last effect comes first.
fn watchers_in(effects: Effects) -> Vec<AnyActorRef> {
    let watcher = |effect| match effect {
        Effect::TellWatcher(watcher, _) => Some(watcher),
        _ => None,
    };
    effects.into_iter().rev().filter_map(watcher).collect()
}

impl<A: Actor> EffectRunner<A> {
    /// A step with at most this many effects is not counted, because the system message that caused it is charged.
    pub(super) const FEW: usize = 16;

    /// Whether the last step has effects that are not carried out.
    #[inline]
    pub(in crate::actor::cell) fn has_rest(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.rest.is_some())
    }

    /// Carries out the next slice of what is left.
    #[cold]
    pub(in crate::actor::cell) fn go_on_with_rest(&mut self, drop_instance: &mut dyn FnMut()) {
        self.advance(None, drop_instance);
        if self.rest().room.effects.is_empty() {
            self.rare().rest = None;
        }
    }

    #[cold]
    pub(super) fn take_rest(&mut self) -> Box<Room> {
        std::mem::take(&mut self.rest().room)
    }

    /// Leaves effects to the next turn.
    #[cold]
    pub(super) fn leave_rest(&mut self, room: Box<Room>) {
        self.rest().room = room;
    }

    pub(super) fn take_closed_user_lane(&mut self) -> Option<Lane<A::Message, Control>> {
        self.rare.as_mut()?.rest.as_mut()?.user.take()
    }

    #[cold]
    pub(super) fn leave_closed_user_lane(&mut self, lane: Lane<A::Message, Control>) {
        self.rest().user = Some(lane);
    }

    pub(super) fn take_closed_system_lane(&mut self) -> Option<SystemLane<System>> {
        self.rare.as_mut()?.rest.as_mut()?.system.take()
    }

    #[cold]
    pub(super) fn leave_closed_system_lane(&mut self, lane: SystemLane<System>) {
        self.rest().system = Some(lane);
    }

    /// The watchers that have not been told of the end.
    pub(super) fn untold_watchers(&mut self) -> Vec<AnyActorRef> {
        let rest = self.rare.as_mut().and_then(|rare| rare.rest.as_mut());
        rest.map_or_else(Vec::new, |rest| watchers_in(std::mem::take(&mut rest.room.effects)))
    }

    fn rest(&mut self) -> &mut Rest<A::Message> {
        self.rare().rest.get_or_insert_with(|| Box::new(Rest { room: Box::default(), user: None, system: None }))
    }

    /// Whether this turn has dealt with as many effects, or with as many system messages, as one turn may.
    #[inline]
    pub(in crate::actor::cell) fn has_supervised_enough(&self) -> bool {
        self.supervised >= THROUGHPUT || self.slice_is_over()
    }

    fn slice_is_over(&self) -> bool {
        self.performed >= SLICE
    }

    /// Counts this many effects against the slice of this turn. Returns how many of them are left to the next turn.
    pub(super) fn begin_slice(&mut self, effects: usize) -> usize {
        let room = SLICE.saturating_sub(self.performed);
        let here = u16::try_from(effects).map_or(room, |effects| effects.min(room));
        self.performed += here;
        effects - usize::from(here)
    }

    /// Counts one dead letter, or one actor that is told. Returns whether it was the last of this turn.
    #[must_use]
    pub(super) fn count_one(&mut self) -> bool {
        self.performed += 1;
        self.slice_is_over()
    }

    /// Counts a decision, a call of a hook or a new instance. Each takes longer than a system message, and tokio looks for timers
    /// that are due only after each 61st poll of a busy worker, so the polls of a carrier have to be short.
    #[inline]
    pub(super) fn count_long_step(&mut self) {
        self.supervised += MESSAGES_OF_A_LONG_STEP;
    }

    /// Counts children that the last step looked at. They count against the system messages of this turn, because the next step may
    /// look at as many. A whole turn is enough.
    #[cold]
    pub(super) fn count_children(&mut self, children: usize) {
        let messages = u32::try_from(children / CHILDREN_OF_A_MESSAGE).unwrap_or(THROUGHPUT);
        self.supervised += messages.min(THROUGHPUT);
    }

    /// Charges the carrier for the messages that were handled in this turn, and for what else was done.
    #[inline]
    pub(super) fn charge(&mut self, handled: u32) {
        let performed = std::mem::take(&mut self.performed);
        let performed = u32::from(performed / EFFECTS_OF_A_MESSAGE);
        dispatch::charge(handled + std::mem::take(&mut self.supervised) + performed);
    }
}
