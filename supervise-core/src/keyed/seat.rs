//! The place of one key: its occupant, and what happens to messages between two occupants.
//!
//! 1. A seat has an occupant exactly while it is in the map.
//! 2. An occupant is *called* from when it is passivated, or from when somebody asks for the child of its key while it
//!    ends. If messages are sent to a called occupant, it gets a successor: its lane stays open until its end is known,
//!    and then, in one step under the seat's lock, the lane is closed and its messages move to the successor. A sender
//!    that finds the lane closed finds the successor here.
//!
//! Rules 18.3, 18.4 and 18.5.

use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::ChildKey;
use super::seat_map::{Added, SeatMap};
use crate::actor::{
    Actor, ActorRef, AnyActorRef, AnySeat, AskError, AtClose, Cell, Control, LastActive, NoOccupant, Props,
    SpawnError,
};
use crate::base::{Hold, Uid, UserValue, contained, is_name_character};
use crate::mailbox::Entry;
use crate::observe::DeadLetterReason;
use crate::supervision::WatchKind;

/// How many looks in a row must find an occupant idle before it is passivated. Looks are a quarter of the idle time apart,
/// so the first and the last of them are the idle time apart.
const QUIET_LOOKS: u8 = 5;

pub(super) struct Seat<K: 'static, C: Actor> {
    key: UserValue<K>,
    hash: u64,
    map: Arc<SeatMap<K, C>>,
    state: Mutex<State<C>>,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct State<C: Actor> {
    occupant: Option<ActorRef<C>>,
    /// The occupant was told to stop.
    leaving: bool,
    /// See 2 above.
    called: bool,
    /// The occupant was told to passivate as soon as it has handled the messages that it was sent.
    dismissed: bool,
    /// Whether the sweeps visit this seat.
    in_sweeps: bool,
    /// How many looks in a row have found the occupant idle.
    quiet: u8,
}

impl<K: ChildKey, C: Actor> Seat<K, C> {
    pub(super) fn new(key: K, hash: u64, map: Arc<SeatMap<K, C>>) -> Self {
        let state =
            State { occupant: None, leaving: false, called: false, dismissed: false, in_sweeps: false, quiet: 0 };
        Self { key: UserValue::new(key), hash, map, state: Mutex::new(state) }
    }

    pub(super) fn key(&self) -> &K {
        &self.key
    }

    pub(super) fn hash(&self) -> u64 {
        self.hash
    }

    /// The current occupant. If it is leaving, this calls it.
    pub(super) fn call(&self) -> Option<ActorRef<C>> {
        let mut state = self.state();
        let occupant = state.occupant.clone()?;
        state.called |= state.leaving;
        Some(occupant)
    }

    /// The occupant, unless it is leaving.
    pub(super) fn staying(&self) -> Option<ActorRef<C>> {
        let state = self.state();
        if state.leaving { None } else { state.occupant.clone() }
    }

    /// The occupant, whether it is leaving or not.
    #[cfg(feature = "remote")]
    pub(super) fn occupant(&self) -> Option<ActorRef<C>> {
        self.state().occupant.clone()
    }

    /// Lets the occupant end because it is not needed now.
    pub(super) fn passivate(&self) {
        let occupant = {
            let mut state = self.state();
            if std::mem::replace(&mut state.dismissed, true) { None } else { state.occupant.clone() }
        };
        dismiss(occupant);
    }

    /// Lets the occupant handle what it was sent, and end.
    pub(super) fn drain(&self) {
        let occupant = self.state().occupant.clone();
        if let Some(occupant) = occupant {
            occupant.stop_when_drained();
        }
    }

    /// Checks in a sweep whether the occupant is idle. Returns whether the next sweep must visit this seat.
    pub(super) fn look(&self) -> bool {
        let idle = {
            let mut state = self.state();
            let Some(occupant) = &state.occupant else {
                state.in_sweeps = false;
                return false;
            };
            state.quiet = match occupant.look() {
                LastActive::Now => 0,
                // Idle from now on.
                LastActive::SinceTheLastLook => 1,
                LastActive::None => state.quiet + 1,
            };
            if state.quiet < QUIET_LOOKS {
                return true;
            }
            state.quiet = 0;
            if std::mem::replace(&mut state.dismissed, true) { None } else { state.occupant.clone() }
        };
        dismiss(idle);
        true
    }

    /// Makes a child for this empty seat, unless this seat or another one of the same key got a child in the meantime.
    pub(super) fn occupy(self: &Arc<Self>) -> Result<ActorRef<C>, SpawnError> {
        let name = self.name();
        loop {
            // Somebody else may have occupied it meanwhile. A key that does not equal itself does not find its
            // seat.
            if let Some(child) = self.call() {
                return Ok(child);
            }
            let others = self.map.with_hash(self.hash);
            if let Some(seat) = others.as_ref().and_then(|others| others.find(&self.key)) {
                match seat.call() {
                    Some(child) => return Ok(child),
                    // It has been vacated since, and is no longer in the map.
                    None => continue,
                }
            }
            let _hold = Hold::new();
            let mut state = self.state();
            if state.occupant.is_some() {
                continue;
            }
            let to_sweeps = self.map.idle.is_some() && !state.in_sweeps;
            match self.map.add(self, others.as_ref(), to_sweeps) {
                Added::Yes => state.in_sweeps |= to_sweeps,
                Added::LookAgain => continue,
                Added::Closed => return Err(SpawnError::Stopping { parent: self.map.registry().path() }),
                Added::Full { limit } => {
                    return Err(SpawnError::TooManyChildren { parent: self.map.registry().path(), limit });
                }
            }
            let made = self.make(&name, &mut Vec::new(), &mut state);
            if made.is_err() {
                self.map.remove(self);
            }
            return made;
        }
    }

    /// Makes a child, with messages that wait for it.
    fn make(
        self: &Arc<Self>,
        name: &str,
        waiting: &mut Vec<C::Message>,
        state: &mut State<C>,
    ) -> Result<ActorRef<C>, SpawnError> {
        let seat = Arc::clone(self);
        let props = Props::<C>::from_factory(Box::new(move || seat.map.make(&seat.key)));
        let registry = self.map.registry();
        let child = Cell::spawn_seated(
            registry,
            name,
            props.mailbox(self.map.mailbox),
            Arc::clone(self) as Arc<dyn AnySeat>,
            waiting,
        )?;
        registry.command(|protocol, effects| protocol.watch(&child.to_any(), WatchKind::Notify, effects));
        state.occupant = Some(child.clone());
        state.leaving = false;
        state.called = false;
        state.dismissed = false;
        state.quiet = 0;
        Ok(child)
    }

    /// The key as a name. Characters that a name cannot contain are written as `%hh`.
    ///
    /// Rule 18.1.
    fn name(&self) -> String {
        escaped(&self.key.to_string())
    }

    /// Called when there is no longer a supervisor for a child.
    ///
    /// Rule 18.8.
    pub(super) fn close(&self) {
        let left = {
            let _hold = Hold::new();
            let mut state = self.state();
            state.occupant.take().map(|child| {
                let (messages, senders) = child.shut_user_lane();
                (child, messages, senders)
            })
        };
        let Some((child, mut messages, senders)) = left else { return };
        senders.wake();
        while let Some(entry) = messages.pop() {
            lose(&child, entry);
        }
    }

    fn state(&self) -> MutexGuard<'_, State<C>> {
        // No user code runs under this lock, so it cannot be poisoned half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Actor> State<C> {
    fn is_of(&self, occupant: Uid) -> bool {
        self.occupant.as_ref().is_some_and(|child| child.uid() == occupant)
    }
}

impl<K: ChildKey, C: Actor> AnySeat for Seat<K, C> {
    fn leaving(&self, occupant: Uid) {
        let mut state = self.state();
        state.leaving |= state.is_of(occupant);
    }

    fn passivating(&self, occupant: Uid) {
        let mut state = self.state();
        if state.is_of(occupant) {
            state.leaving = true;
            state.called = true;
        }
    }

    fn closes(&self, occupant: Uid, empty: &mut dyn FnMut()) -> AtClose {
        let state = self.state();
        if !state.is_of(occupant) {
            return AtClose::Close;
        }
        if state.called {
            return AtClose::Keep;
        }
        empty();
        AtClose::Emptied
    }

    fn ended(self: Arc<Self>, occupant: Uid) {
        let name = contained(|| self.name());
        let (child, successor, senders, others, lost) = {
            let _hold = Hold::new();
            let mut state = self.state();
            if !state.is_of(occupant) {
                return;
            }
            let Some(child) = state.occupant.take() else { return };
            if state.called {
                child.core().forward();
            }
            let (mut messages, senders) = child.shut_user_lane();
            let (mut waiting, mut others) = (Vec::with_capacity(messages.messages()), Vec::new());
            while let Some(entry) = messages.pop() {
                match entry {
                    Entry::Message(message) => waiting.push(message),
                    Entry::Control(control) => others.push(control),
                }
            }
            let successor = match &name {
                Ok(name) if state.called && !waiting.is_empty() => self.make(name, &mut waiting, &mut state).ok(),
                _ => None,
            };
            if successor.is_none() {
                self.map.remove(&self);
            }
            (child, successor, senders, others, waiting)
        };
        if let Some(successor) = successor.filter(|_| self.map.is_draining()) {
            successor.stop_when_drained();
        }
        senders.wake();
        // Code that waited for an answer of this occupant now waits for its successor.
        child.core().wake_waiting();
        for control in others {
            lose(&child, Entry::Control(control));
        }
        for message in lost {
            lose(&child, Entry::Message(message));
        }
    }

    fn present(&self) -> Option<AnyActorRef> {
        let own = self.state().occupant.clone();
        // If this seat was vacated, the key may have got another one.
        let other = || contained(|| self.map.find(self.hash, &self.key)).ok()??.state().occupant.clone();
        own.or_else(other).map(|occupant| occupant.to_any())
    }

    fn occupant(self: Arc<Self>) -> Result<AnyActorRef, NoOccupant> {
        let occupant = match self.call() {
            Some(child) => child,
            None => match contained(|| self.occupy()) {
                Ok(Ok(child)) => child,
                Ok(Err(SpawnError::TooManyChildren { .. })) => return Err(NoOccupant::Full),
                // This holds even if a key panics while it is compared or shown.
                Ok(Err(_)) | Err(_) => return Err(NoOccupant::Gone),
            },
        };
        Ok(occupant.to_any())
    }
}

fn dismiss<C: Actor>(occupant: Option<ActorRef<C>>) {
    if let Some(occupant) = occupant {
        occupant.passivate();
    }
}

/// Drops a message that waited for a child that will not come.
fn lose<C: Actor>(child: &ActorRef<C>, entry: Entry<C::Message, Control>) {
    match entry {
        Entry::Message(message) => {
            let name = C::message_name(&message);
            child.core().lose(name, DeadLetterReason::Stopped, AskError::Stopped, message);
        }
        Entry::Control(Control::Kill) => child.core().dead_letter("Kill", DeadLetterReason::Stopped),
        Entry::Control(_) => {}
    }
}

fn escaped(shown: &str) -> String {
    let mut name = String::with_capacity(shown.len());
    for (at, character) in shown.char_indices() {
        let fine = is_name_character(character) && !(at == 0 && character == '$') && shown != "..";
        if fine {
            name.push(character);
        } else {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                let _in_memory = write!(name, "%{byte:02X}");
            }
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::escaped;
    use crate::base::check_name;

    #[test]
    fn every_key_but_an_empty_one_is_a_valid_name_and_no_two_are_the_same() {
        let shown = ["a", "A/b", "$a", "a$", "..", ".", "%41", "ä", "a b", "*", "\n"];
        let names: Vec<_> = shown.into_iter().map(escaped).collect();
        for name in &names {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        assert_eq!(names.iter().collect::<std::collections::HashSet<_>>().len(), shown.len(), "{names:?}");
        assert_eq!(escaped("A/b $"), "A%2Fb%20$");
    }
}
