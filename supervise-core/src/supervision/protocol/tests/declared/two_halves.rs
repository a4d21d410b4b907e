//! The child of a field, which restarts in two halves.

use super::*;

fn field() -> Actor {
    let mut actor = Protocol::new(0).as_field();
    actor.begin();
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Started { again: false }), TellStarted]);
    actor
}

#[test]
fn the_child_of_a_field_restarts_in_two_halves() {
    let mut actor = field();
    drive(&mut actor, Suspend);
    assert_eq!(drive(&mut actor, PrepareRestart(X)), [pre_restart(X, false)]);
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance, TellRestartPrepared]);
    assert_eq!(drive(&mut actor, Restart(X)), [rebuild(X)]);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Restarted(X)), TellStarted]);
    assert_eq!(actor.suspensions(), 0);
}

#[test]
fn the_first_half_waits_for_children_that_are_to_end() {
    let mut actor = field();
    spawn(&mut actor);
    spawn(&mut actor);
    drive(&mut actor, Suspend);
    assert_eq!(drive(&mut actor, PrepareRestart(X)), [pre_restart(X, false)]);
    command(&mut actor, |actor, effects| actor.stop_child(id(A), effects));
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance]);
    assert_eq!(drive(&mut actor, ended(A)), [TellRestartPrepared]);
    assert_eq!(drive(&mut actor, Restart(X)), [rebuild(X)]);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Restarted(X)), TellStarted, Send(B, Restart(X))]);
}

#[test]
fn the_first_half_of_an_actor_that_never_started_is_done_without_a_hook() {
    let mut actor = Protocol::new(0).as_field();
    actor.begin();
    spawn(&mut actor);
    back(&mut actor, Returned::Err(X));
    assert_eq!(drive(&mut actor, PrepareRestart(X)), [Send(A, Terminate)]);
    assert_eq!(drive(&mut actor, ended(A)), [TellRestartPrepared]);
    assert_eq!(drive(&mut actor, Restart(X))[1..], [CREATE]);
}

#[test]
fn the_first_half_after_a_failed_restart_keeps_the_survivors() {
    let mut actor = field();
    spawn(&mut actor);
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, Restart(X));
    back(&mut actor, Returned::Ok);
    spawn(&mut actor);
    back(&mut actor, Returned::Err(Y));
    assert_eq!(drive(&mut actor, PrepareRestart(Y)), [Send(B, Terminate)]);
    assert_eq!(drive(&mut actor, ended(B)), [TellRestartPrepared]);
    assert_eq!(actors(&actor), [A]);
}

#[test]
fn the_first_half_waits_for_parked_code_at_most_the_stop_timeout() {
    let mut actor = field();
    step(&mut actor, Input::Parked);
    drive(&mut actor, Suspend);
    assert_eq!(drive(&mut actor, PrepareRestart(X)), [Effect::Arm(Timer::Abort, None)]);
    assert_eq!(back(&mut actor, Returned::Ok), [Effect::Disarm(Timer::Abort), pre_restart(X, false)]);
}

#[test]
fn the_first_half_that_reaches_an_ending_actor_is_nothing() {
    let mut actor = field();
    spawn(&mut actor);
    drive(&mut actor, Terminate);
    assert_eq!(drive(&mut actor, PrepareRestart(X)), []);
    assert_eq!(drive(&mut actor, ended(A)), [post_stop()]);
}
