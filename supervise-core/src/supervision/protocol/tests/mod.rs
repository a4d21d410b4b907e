//! Tests of the state machine by its effects. Actors are numbers, and causes are small. Each test shows only
//! what is special about it.
//!
//! | file | rows and invariants of the header of `protocol.rs` |
//! |---|---|
//! | `creation` | New, Creating; creation failures |
//! | `failure` | Failed, deciding; invariants 1, 3, 4 |
//! | `restart` | Restarting, Waiting, StartingNewInstance; invariant 5 |
//! | `last_hook` | actors whose hooks at the end of an instance are the default ones |
//! | `resume` | Resume, with and without a cause |
//! | `escalation` | failing for a child |
//! | `declared` | children that are fields |
//! | `storms` | failures that an earlier decision answers too |
//! | `rules` | limits of single rules |
//! | `strategies` | which children a directive reaches, limits |
//! | `backoff` | delayed restarts |
//! | `by_hand` | restarts that somebody asks for |
//! | `stop` | Terminating, Stopping, Ended; invariants 5, 6 |
//! | `watching` | both sides of death watch |
//! | `deferral` | which inputs wait, and in which order they are handled |
//! | `asking` | what the performer may ask |
//! | `parked` | what goes on while code waits; aborts; invariant 2 |

mod asking;
mod backoff;
mod by_hand;
mod creation;
mod declared;
mod deferral;
mod escalation;
mod failure;
mod last_hook;
mod parked;
mod restart;
mod resume;
mod rules;
mod stop;
mod storms;
mod strategies;
mod watching;

use std::cell::Cell;
use std::time::Duration;

use crate::base::ActorName;
use crate::supervision;
use crate::supervision::children::ChildRecord;
use crate::supervision::vocabulary::Effect::{Decide, DropInstance, Note, Send};
use crate::supervision::vocabulary::SystemMessage::{
    Ended, Failed, Replaced, Restart, RestartTogether, Resume, Suspend, Terminate, Unwatch, Watch,
};
use crate::supervision::vocabulary::{
    Call, Cause, ChildId, Effect, Hook, HowEnded, Input, Outcome, Returned, Ruling, SystemMessage, Timer,
};
use crate::supervision::{Directive, Protocol, SpawnRefusal, Strategy, WatchKind};

type News = supervision::Note<Why>;
type Does = Effect<u32, Why>;
type Message = SystemMessage<u32, Why>;
type Actor = Protocol<u32, Why>;

/// A cause: a letter, perhaps wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Why {
    Bare(char),
    Starting(char),
    Restarting(char),
}

const X: Why = Why::Bare('x');
const Y: Why = Why::Bare('y');

impl Why {
    fn letter(self) -> char {
        match self {
            Self::Bare(letter) | Self::Starting(letter) | Self::Restarting(letter) => letter,
        }
    }
}

impl Cause for Why {
    fn at_initialization(self) -> Self {
        Self::Starting(self.letter())
    }

    fn at_restart(self, _: Self) -> Self {
        Self::Restarting(self.letter())
    }

    fn is_initialization(&self) -> bool {
        !matches!(self, Self::Bare(_))
    }

    fn is_final(&self) -> bool {
        false
    }

    fn end_of_permanent() -> Self {
        Self::Bare('e')
    }
}

/// A child's id is its place, and its actor is that number plus ten.
const A: u32 = 10;
const B: u32 = 11;
const C: u32 = 12;

fn id(actor: u32) -> ChildId {
    ChildId(u64::from(actor - A))
}

/// How many restarts the newest instance of a child comes after; as many as its parent has sent.
const NEWEST: u32 = u32::MAX;

/// Most tests do not care how often an actor has run. The newest instance of a child fails, when all restarts that were sent have replaced an instance.
fn failed(child: u32, cause: Why) -> Message {
    Failed { child: id(child), cause, restarts: NEWEST, runs: 0 }
}

fn ended(child: u32) -> Message {
    Ended { subject: child, child: Some(id(child)), how: HowEnded::Graceful }
}

thread_local! {
    /// The cause that the last question was about.
    static ASKED: Cell<Option<Why>> = const { Cell::new(None) };
}

/// One step: its effects.
fn step(actor: &mut Actor, mut input: Input<'_, u32, Why>) -> Vec<Does> {
    if let Input::Message(Failed { child, restarts: restarts @ NEWEST, .. }) = &mut input {
        let sent = actor.children.as_ref().and_then(|children| children.find(*child));
        *restarts = sent.map_or(0, ChildRecord::restarts_sent);
        let children: Vec<ChildId> = actor.children().map(|(id, _)| id).collect();
        for child in children {
            assert_eq!(drive(actor, Replaced(child)), []);
        }
    }
    let mut effects = Vec::new();
    actor.step(input, &mut effects);
    for effect in &mut effects {
        match effect {
            Effect::Report { runs, .. } => *runs = 0,
            Decide(_, cause) | Effect::RestartEnded(_, cause) => ASKED.set(Some(*cause)),
            _ => {}
        }
    }
    effects
}

/// A message: its effects.
fn drive(actor: &mut Actor, message: Message) -> Vec<Does> {
    step(actor, Input::Message(message))
}

fn back(actor: &mut Actor, returned: Returned<Why>) -> Vec<Does> {
    step(actor, Input::Returned(returned))
}

/// Answers the decider's question.
fn decide(actor: &mut Actor, directive: Directive, strategy: &Strategy) -> Vec<Does> {
    decide_at(actor, Ok(directive), strategy, Duration::ZERO)
}

fn decide_at(actor: &mut Actor, verdict: Result<Directive, Why>, strategy: &Strategy, now: Duration) -> Vec<Does> {
    let cause = ASKED.take().expect("an answer follows a question");
    step(actor, Input::Decided(cause, &Ruling { verdict, strategy, now, draw: 0.0, heard: true }))
}

/// A command: its effects.
fn command<T>(actor: &mut Actor, command: impl FnOnce(&mut Actor, &mut Vec<Does>) -> T) -> Vec<Does> {
    let mut effects = Vec::new();
    command(actor, &mut effects);
    effects
}

fn spawn(actor: &mut Actor) -> u32 {
    let name = format!("child-{}", actor.children().map(|(id, _)| id.0 + 1).max().unwrap_or(0));
    actor.spawn(&ActorName::from(&*name), |id, _| A + u32::try_from(id.0).unwrap()).unwrap()
}

fn creating() -> Actor {
    let mut actor = Protocol::new(0);
    assert_eq!(actor.begin(), Call::Create);
    actor
}

/// An actor that runs, with this many children.
fn running(children: u32) -> Actor {
    let mut actor = creating();
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Started { again: false })]);
    for _ in 0..children {
        spawn(&mut actor);
    }
    actor
}

/// An actor whose handler has just failed.
fn failing(children: u32) -> Actor {
    let mut actor = running(children);
    back(&mut actor, Returned::Err(X));
    actor
}

/// An actor whose `pre_restart` is out.
fn restarting(children: u32) -> Actor {
    let mut actor = failing(children);
    assert_eq!(drive(&mut actor, Restart(X)), [pre_restart(X, true)]);
    actor
}

/// An actor whose new instance is being made, while this many children survive.
fn rebuilding(children: u32) -> Actor {
    let mut actor = restarting(children);
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance, rebuild(X)]);
    actor
}

/// An actor whose last restart failed, while this many children survive.
fn half_built(children: u32) -> Actor {
    let mut actor = rebuilding(children);
    assert_eq!(back(&mut actor, Returned::Err(Y)), [DropInstance, reports(1, Why::Restarting('y'))]);
    actor
}

/// An actor reports that it failed, after this many restarts.
fn reports(restarts: u32, cause: Why) -> Does {
    Effect::Report { cause, restarts, runs: 0 }
}

fn pre_restart(cause: Why, own: bool) -> Does {
    Effect::Call(Call::PreRestart { cause, own, aborted: false })
}

fn rebuild(cause: Why) -> Does {
    Effect::Call(Call::StartNewInstance(cause))
}

fn post_stop() -> Does {
    Effect::Call(Call::PostStop { aborted: false })
}

fn decided(child: u32, cause: Why, outcome: Outcome) -> Does {
    Note(News::Decided { child: id(child), cause, outcome })
}

/// The end, with nobody watching.
fn the_end(how: HowEnded) -> [Does; 5] {
    let stopped = Note(News::Stopped(how));
    [DropInstance, Effect::CloseUserLane, stopped, Effect::TellParent(how), Effect::CloseSystemLane]
}

const ONE_FOR_ONE: Strategy = Strategy::one_for_one();
