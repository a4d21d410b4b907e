//! What a failure keeps is bounded, however many failures there were before.

use std::fmt;
use std::thread;

use allocation_counter::measure;

use super::*;
use crate::base::ActorName;
use crate::supervision::{
    Call, ChildId, Directive, Effect, Input, Protocol, Returned, Ruling, Strategy, SystemMessage, Time,
};

type Actor = Protocol<u32, Failure>;
type Does = Effect<u32, Failure>;

/// A stack that is too small for recursion over a history.
const SMALL_STACK: usize = 128 * 1024;

/// How many restarts fail in a row: a million, or what this variable says.
fn outage() -> u32 {
    let said = std::env::var("SUPERVISE_FAILED_RESTARTS");
    said.map_or(1_000_000, |count| count.replace('_', "").parse().unwrap())
}

fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    thread::Builder::new().stack_size(SMALL_STACK).spawn(test).unwrap().join().unwrap();
}

fn step(actor: &mut Actor, input: Input<'_, u32, Failure>) -> Vec<Does> {
    let mut effects = Vec::new();
    actor.step(input, &mut effects);
    effects
}

/// The user code that is out returns, and the parent reads the report.
fn fails(actor: &mut Actor, with: Failure) -> Failure {
    let reports = step(actor, Input::Returned(Returned::Err(with))).into_iter();
    reports
        .filter_map(|effect| if let Effect::Report { cause, .. } = effect { Some(cause) } else { None })
        .last()
        .unwrap()
}

fn restarts(actor: &mut Actor, cause: Failure) -> Vec<Does> {
    step(actor, Input::Message(SystemMessage::Restart(cause)))
}

/// An actor that has failed while it ran, and whose restart is under way.
fn restarting() -> Actor {
    let mut actor = Protocol::new(0);
    actor.begin();
    step(&mut actor, Input::Returned(Returned::Ok));
    let cause = fails(&mut actor, Failure::other("first"));
    restarts(&mut actor, cause);
    step(&mut actor, Input::Returned(Returned::Ok));
    actor
}

/// A long outage, and its end. A failed restart needs no more memory than the one before.
fn outage_then(end: impl FnOnce(&mut Actor, Failure) + Send + 'static) {
    on_a_small_stack(move || {
        let mut actor = restarting();
        let mut last = fails(&mut actor, Failure::other("again"));
        let grown = measure(|| {
            for _ in 1..outage() {
                restarts(&mut actor, last.clone());
                last = fails(&mut actor, Failure::other("again"));
            }
        });
        assert_eq!((grown.count_current, grown.bytes_current), (0, 0), "held after {} failed restarts", outage());
        assert!(grown.bytes_max < 4_096, "{} bytes at a time", grown.bytes_max);
        assert_eq!(last.failed_restarts(), outage());
        assert_eq!((last.to_string(), last.original().to_string()), ("again".into(), "first".into()));
        assert_eq!((last.stage(), last.original().stage()), (Stage::PostRestart, Stage::Running));
        end(&mut actor, last);
    });
}

/// Rule 4.6.
#[test]
fn an_outage_of_any_length_ends_with_a_restart() {
    outage_then(|actor, last| {
        let rebuild = restarts(actor, last);
        assert!(matches!(&rebuild[..], [Effect::Call(Call::StartNewInstance(_))]), "{rebuild:?}");
        let done = step(actor, Input::Returned(Returned::Ok));
        assert!(matches!(&done[..], [Effect::Note(_)]), "{done:?}");
    });
}

/// Rule 4.6.
#[test]
fn an_outage_of_any_length_ends_with_a_stop() {
    outage_then(|actor, last| {
        drop(last);
        let done = step(actor, Input::Message(SystemMessage::Terminate));
        assert!(actor.has_ended(), "{done:?}");
    });
}

/// A hook may fail with the failure that it was given, and this may be repeated.
#[test]
fn a_failure_that_is_passed_on_again_and_again_keeps_no_more_than_one_that_is_new() {
    on_a_small_stack(|| {
        let mut actor = restarting();
        let mut last = fails(&mut actor, Failure::other("again"));
        let grown = measure(|| {
            for _ in 0..100_000 {
                restarts(&mut actor, last.clone());
                last = fails(&mut actor, last.clone());
            }
        });
        assert_eq!((grown.count_current, grown.bytes_current), (0, 0));
        let mut last = last.at_initialization();
        let grown = measure(|| {
            for _ in 0..100_000 {
                last = last.clone().at_initialization();
            }
        });
        assert_eq!((grown.count_current, grown.bytes_current), (0, 0));
        assert_eq!((last.stage(), &*last.to_string()), (Stage::Initialization, "again"));
    });
}

#[test]
fn a_failure_of_no_restart_counts_none() {
    let failure = Failure::other("new");
    assert_eq!(failure.failed_restarts(), 0);
    let failure = failure.at_initialization();
    assert_eq!(failure.failed_restarts(), 0);
    assert!(failure.original().is_same(&failure));
}

/// If the user wraps the failure in each error, it grows because of the user's code.
#[derive(Debug)]
struct Wrapped(Failure);

impl fmt::Display for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("wrapped")
    }
}

impl Error for Wrapped {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

/// Rule 11.2.
#[test]
fn failures_within_failures_are_dropped_one_after_another() {
    on_a_small_stack(|| {
        let mut failure = Failure::other("innermost");
        for _ in 0..100_000 {
            failure = Failure::new(Wrapped(failure));
        }
        drop(failure);
    });
}

/// Rules 3.6 and 10.2.
#[test]
fn an_escalation_through_any_number_of_levels_adds_nothing() {
    on_a_small_stack(|| {
        let mut failure = Failure::other("deep").at_initialization();
        let grown = measure(|| {
            for level in 0..10_000_u64 {
                let mut above = Protocol::<u32, Failure>::new(0);
                above.begin();
                step(&mut above, Input::Returned(Returned::Ok));
                above.spawn(&ActorName::from("child"), |_, _| 1).unwrap();
                let report =
                    SystemMessage::Failed { child: ChildId(0), cause: failure.clone(), restarts: 0, runs: 1 };
                let asked = step(&mut above, Input::Message(report)).pop();
                let Some(Effect::Decide(_, cause)) = asked else { panic!("it is decided") };
                failure.escalated(|| ActorPath::from_elements("deep", [&*level.to_string()].into_iter()));
                let strategy = Strategy::one_for_one();
                let verdict = Ok(Directive::Escalate);
                let ruling = Ruling { verdict, strategy: &strategy, now: Time::ZERO, draw: 0.0, heard: true };
                let effects = step(&mut above, Input::Decided(cause, &ruling));
                let up = effects.into_iter().find_map(|effect| match effect {
                    Effect::Report { cause, .. } => Some(cause),
                    _ => None,
                });
                failure = up.unwrap();
            }
        });
        assert!(grown.bytes_current < 1_024, "{} bytes for the origin", grown.bytes_current);
        assert_eq!(failure.origin().map(ToString::to_string).as_deref(), Some("supervise://deep/0"));
        assert_eq!((failure.stage(), &*failure.to_string()), (Stage::Initialization, "deep"));
    });
}
