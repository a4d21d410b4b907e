//! Failures decided in place of a parent that has nothing else to do.

use super::*;
use crate::supervision::{AutoShutdown, Backoff, ChildSpec};

fn in_place(actor: &mut Actor, cause: Why, directive: Directive) -> Option<(Message, Outcome)> {
    actor.decide_if_idle(id(A), &cause, &directive, &ONE_FOR_ONE, Duration::ZERO)
}

#[test]
fn what_an_idle_parent_would_do_is_done_in_its_place() {
    for (directive, outcome, answer) in [
        (Directive::Restart, Outcome::Restarting { children: 1, delay: None }, Recreate(X)),
        (Directive::Resume, Outcome::Resumed, Resume(Some(X))),
        (Directive::Stop, Outcome::Stopped { children: 1 }, Terminate),
    ] {
        let mut actor = running(1);
        assert_eq!(actor.restarts_if_idle(id(A)), Some(0));
        assert_eq!(in_place(&mut actor, X, directive), Some((answer, outcome)));
        assert!(actor.accepts_messages());
    }
}

#[test]
fn what_takes_more_than_a_message_is_left_to_the_parent() {
    let second = Duration::from_secs(1);
    let later = Directive::RestartAfter(Backoff::exponential(second, second));
    for (cause, directive) in [
        (X, Directive::Escalate),
        (X, later),
        (Why::Starting('x'), Directive::Restart),
        (Why::Starting('x'), Directive::Resume),
    ] {
        let mut actor = running(1);
        assert_eq!(in_place(&mut actor, cause, directive), None);
        assert_eq!(drive(&mut actor, failed(A, cause)), [Decide(id(A), cause)]);
    }
}

/// Nobody decides in place of this one.
fn assert_busy(what: &str, mut actor: Actor) {
    assert_eq!(actor.restarts_if_idle(id(A)), None, "{what}");
    assert_eq!(in_place(&mut actor, X, Directive::Restart), None, "{what}");
}

#[test]
fn nobody_decides_in_place_of_a_busy_parent() {
    let mut starting = creating();
    spawn(&mut starting);
    assert_busy("it starts", starting);
    assert_busy("it is suspended", failing(1));
    assert_busy("it restarts", restarting(1));
    assert_busy("it is rebuilt", rebuilding(1));
    let mut deciding = running(2);
    drive(&mut deciding, failed(B, X));
    assert_busy("it decides already", deciding);
    let mut stopping = running(1);
    step(&mut stopping, Input::Parked);
    drive(&mut stopping, Terminate);
    assert_busy("it stops", stopping);
    let mut restarting = running(1);
    step(&mut restarting, Input::Parked);
    drive(&mut restarting, Suspend);
    drive(&mut restarting, Recreate(X));
    drive(&mut restarting, Resume(None));
    assert_busy("a restart waits for its handler", restarting);
    let mut declaring = Protocol::new(0).with_fields(&[ChildSpec::new("a")], AutoShutdown::Never);
    step(&mut declaring, Input::Begin);
    for _ in 0..2 {
        back(&mut declaring, Returned::Ok);
    }
    declaring.spawn_field(0, |_, _, _| A);
    drive(&mut declaring, SystemMessage::Started(id(A)));
    back(&mut declaring, Returned::Ok);
    assert!(declaring.accepts_messages());
    assert_busy("it has declared children", declaring);
}

#[test]
fn nobody_decides_about_a_child_that_ends_waits_or_is_gone() {
    let mut stopped = running(1);
    command(&mut stopped, |actor, effects| actor.stop_child(id(A), effects));
    assert_busy("it ends", stopped);
    let mut waiting = running(1);
    let second = Duration::from_secs(1);
    drive(&mut waiting, failed(A, X));
    decide(&mut waiting, Directive::RestartAfter(Backoff::exponential(second, second)), &ONE_FOR_ONE);
    assert_busy("it waits for its restart", waiting);
    let mut gone = running(1);
    drive(&mut gone, ended(A));
    assert_busy("it is gone", gone);
}

#[test]
fn who_is_told_to_stop_in_place_of_the_parent_is_told_once() {
    for (directive, strategy) in [(Directive::Stop, ONE_FOR_ONE), (Directive::Restart, ONE_FOR_ONE.max_retries(0))]
    {
        let mut actor = running(1);
        let answer = actor.decide_if_idle(id(A), &X, &directive, &strategy, Duration::ZERO);
        assert_eq!(answer.map(|(message, _)| message), Some(Terminate), "{directive:?}");
        assert_eq!(command(&mut actor, |actor, effects| actor.stop_child(id(A), effects)), []);
    }
}
