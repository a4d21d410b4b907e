//! Children that are fields.

mod parent_restart;
mod restart;
mod restart_type;
mod significant;
mod start;
mod stop;
mod two_halves;

use super::*;
use crate::supervision::vocabulary::Effect::{RestartEnded, StartChild, TellRestartPrepared, TellStarted};
use crate::supervision::vocabulary::SystemMessage::{PrepareRestart, ResetBackoff, RestartPrepared, Started};
use crate::supervision::{AutoShutdown, Backoff, ChildSpec, OnLimit, RestartType};

const BUILD: Does = Effect::Call(Call::Build);
const CREATE: Does = Effect::Call(Call::Create);
const ALL_FOR_ONE: Strategy = Strategy::all_for_one();
const REST_FOR_ONE: Strategy = Strategy::rest_for_one();
const TRANSIENT: ChildSpec = ChildSpec::new("a");
/// Why a permanent child is created again.
const END: Why = Why::Bare('e');

fn declare(field: usize) -> Does {
    Effect::Call(Call::Declare(field))
}

/// Fields called a, b, c ...
fn named(specs: &[ChildSpec]) -> Vec<ChildSpec> {
    let names = ["a", "b", "c", "d"];
    specs.iter().zip(names).map(|(spec, name)| ChildSpec { name, ..*spec }).collect()
}

/// Makes the child of a field, as the performer does.
fn make(actor: &mut Actor, field: usize) -> u32 {
    actor.spawn_field(field, |_, id, _| A + u32::try_from(id.0).unwrap()).unwrap()
}

fn beginning(specs: &[ChildSpec], auto_shutdown: AutoShutdown) -> Actor {
    let mut actor = Protocol::new(0).with_fields(&named(specs), auto_shutdown);
    assert_eq!(Effect::Call(actor.begin()), BUILD);
    assert_eq!(back(&mut actor, Returned::Ok), [declare(0)]);
    actor
}

/// Starts the fields from the declaration of `first` on.
fn start_from(actor: &mut Actor, first: usize, fields: usize) {
    for field in first..fields {
        assert_eq!(back(actor, Returned::Ok), [StartChild(field)]);
        let child = make(actor, field);
        let next = if field + 1 < fields { declare(field + 1) } else { CREATE };
        assert_eq!(drive(actor, Started(id(child))), [next]);
    }
}

fn with(specs: &[ChildSpec], auto_shutdown: AutoShutdown) -> Actor {
    let mut actor = beginning(specs, auto_shutdown);
    start_from(&mut actor, 0, specs.len());
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Started { again: false })]);
    actor
}

/// An actor that runs, with this many transient fields.
fn fields(count: usize) -> Actor {
    with(&vec![TRANSIENT; count], AutoShutdown::Never)
}

fn of(restart: RestartType) -> Actor {
    with(&[TRANSIENT.restart(restart)], AutoShutdown::Never)
}

fn down(child: u32) -> Message {
    RestartPrepared(id(child))
}

fn up(child: u32) -> Message {
    Started(id(child))
}

fn restarts(actor: &mut Actor, culprit: u32, strategy: &Strategy) -> Vec<Does> {
    drive(actor, failed(culprit, X));
    decide(actor, Directive::Restart, strategy)[1..].to_vec()
}

fn actors(actor: &Actor) -> Vec<u32> {
    actor.children().map(|(_, target)| *target).collect()
}
