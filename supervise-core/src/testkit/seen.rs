//! The messages of expectations that fail.

use std::collections::HashSet;
use std::fmt::{self, Display, Formatter};
use std::panic::Location;

use crate::actor::{ActorSystem, AnyActorRef};
use crate::base::Uid;
use crate::inspect::{Glimpse, Tree, short};
use crate::observe::Event;

/// How many events or actors the message of a failed test lists.
const LISTED: usize = 30;

/// Fails the test. `place` is the place of the expectation, because a panic in a future has the place of the future's
/// own code.
pub(super) fn complain(place: &Location<'_>, what: &dyn Display) -> ! {
    panic!("{place}: {what}")
}

/// How many busy actors the message of a failed test lists.
const BUSY: usize = 10;

/// The actors that have something to do, a line each: those that are in a handler, that an actor waits for, or for which messages wait.
pub(super) struct Busy {
    actors: Vec<Glimpse>,
    awaited: HashSet<Uid>,
}

impl Busy {
    pub(super) fn of(system: &ActorSystem) -> Self {
        let (mut actors, mut awaited) = (Vec::new(), HashSet::new());
        system.look(|actor| {
            awaited.extend(actor.waits_for().iter().map(AnyActorRef::uid));
            actors.push(actor.clone());
        });
        actors.retain(|actor| actor.is_handling() || actor.waiting() > 0 || awaited.contains(&actor.uid()));
        Self { actors, awaited }
    }
}

impl Display for Busy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { actors, awaited } = self;
        if actors.is_empty() {
            return f.write_str("; no actor is in a handler, and no message waits for one");
        }
        f.write_str("; these actors are not done:")?;
        for actor in actors.iter().take(BUSY) {
            write!(f, "\n  {} ", actor.actor().path())?;
            match actor.handler() {
                Some(handler) if actor.is_handling() => write!(f, "is in `{handler}`")?,
                _ if actor.is_handling() => f.write_str("is in a handler")?,
                _ => write!(f, "is {:?}", actor.state())?,
            }
            let waits_for: Vec<_> = actor.waits_for().iter().map(|other| other.path().to_string()).collect();
            if !waits_for.is_empty() {
                write!(f, ", waits for {}", waits_for.join(" and "))?;
            }
            if awaited.contains(&actor.uid()) {
                f.write_str(", is waited for")?;
            }
            match actor.waiting() {
                0 => {}
                1 => f.write_str(", 1 message waits")?,
                more => write!(f, ", {more} messages wait")?,
            }
        }
        match actors.len().saturating_sub(BUSY) {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}

/// The events that no expectation has taken, a line each. Earlier ones are left out if there are many.
pub(super) struct Happened<'a>(pub(super) &'a [Event]);

impl Display for Happened<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(events) = self;
        let left_out = events.len().saturating_sub(LISTED);
        match (events, left_out) {
            ([], _) => return f.write_str("nothing happened that another expectation has not taken"),
            (_, 0) => f.write_str("what happened:")?,
            _ => write!(f, "what happened, without the first {left_out} events:")?,
        }
        events[left_out..].iter().try_for_each(|event| write!(f, "\n  {}", InBrief(event)))
    }
}

/// One event on one line.
struct InBrief<'a>(&'a Event);

impl Display for InBrief<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Event::Started { actor } => write!(f, "{actor} started"),
            Event::Restarted { actor, .. } => write!(f, "{actor} restarted"),
            Event::Resumed { actor } => write!(f, "{actor} resumed"),
            Event::Stopped { actor, how } => write!(f, "{actor} ended: {how:?}"),
            Event::Aborted { actor } => {
                write!(f, "{actor} was aborted: a handler or hook outlived the stop timeout")
            }
            Event::HookFailed { actor, hook, failure } => {
                write!(f, "{actor} failed in {hook:?}, which was ignored: {failure}")
            }
            Event::Decided { child, failure, text, outcome, .. } => {
                write!(f, "{child} failed")?;
                if let Some(during) = failure.during() {
                    write!(f, " in {during}")?;
                }
                write!(f, ": {text}; outcome: {}", outcome.in_a_word())
            }
            Event::DeadLetter(letter) => {
                write!(f, "`{}` to {} became a dead letter: {:?}", letter.message, letter.recipient, letter.reason)
            }
            other => write!(f, "{other:?}"),
        }
    }
}

/// What there is instead of an actor that a test expects at a path.
pub(super) struct NotFound<'a> {
    pub(super) tree: &'a Tree,
    pub(super) path: &'a str,
    /// The name of its type.
    pub(super) meant: &'static str,
}

impl Display for NotFound<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { tree, path, meant } = *self;
        if let Some(there) = tree.find(path) {
            let (meant, is) = (short(meant), short(there.actor_type()));
            return write!(f, "expected a `{meant}` at {path}, but the actor there is a `{is}`");
        }
        write!(f, "expected an actor at {path}, but ")?;
        let above = path.rmatch_indices('/').find_map(|(at, _)| tree.find(&path[..at]));
        let Some(above) = above else { return f.write_str("the system has ended") };
        let mut children =
            above.children().map(|child| format!("`{}` (`{}`)", child.name(), short(child.actor_type())));
        match children.next() {
            None => write!(f, "{} has no children", above.path()),
            Some(first) => {
                write!(f, "{} has {first}", above.path())?;
                children.by_ref().take(LISTED).try_for_each(|child| write!(f, ", {child}"))?;
                match children.count() {
                    0 => Ok(()),
                    others => write!(f, " and {others} more"),
                }
            }
        }
    }
}
