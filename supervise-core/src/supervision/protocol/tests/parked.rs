use super::*;

const ABORT: Does = Effect::Arm(Timer::Abort, None);

fn parked(children: u32) -> Actor {
    let mut actor = running(children);
    assert_eq!(step(&mut actor, Input::Parked), []);
    actor
}

/// The stop timeout is over, and the code is dropped.
fn aborted(actor: &mut Actor) -> Vec<Does> {
    assert_eq!(step(actor, Input::Due(Timer::Abort)), [Note(News::Aborted), Effect::Abort]);
    back(actor, Returned::Aborted)
}

#[test]
fn a_parked_handler_holds_up_the_next_message_but_no_decision() {
    let mut actor = parked(1);
    assert!(!actor.accepts_messages());
    assert_eq!(drive(&mut actor, failed(A, X)), [Decide(id(A), X)]);
    assert_eq!(decide(&mut actor, Directive::Resume, &ONE_FOR_ONE)[1..], [Send(A, Resume(Some(X)))]);
    assert_eq!(back(&mut actor, Returned::Ok), []);
    assert!(actor.accepts_messages());
}

#[test]
fn a_restart_waits_for_the_parked_handler_so_long() {
    let mut actor = parked(0);
    drive(&mut actor, Suspend);
    assert_eq!(drive(&mut actor, Restart(X)), [ABORT]);
    assert_eq!(back(&mut actor, Returned::Ok), [Effect::Disarm(Timer::Abort), pre_restart(X, false)]);
}

#[test]
fn a_restart_aborts_a_handler_that_takes_too_long() {
    let mut actor = parked(0);
    drive(&mut actor, Suspend);
    drive(&mut actor, Restart(X));
    let hook = Effect::Call(Call::PreRestart { cause: X, own: false, aborted: true });
    assert_eq!(aborted(&mut actor), [hook]);
}

#[test]
fn a_handler_that_fails_although_a_restart_waits_is_reported_too() {
    let mut actor = parked(0);
    drive(&mut actor, Suspend);
    drive(&mut actor, Restart(X));
    assert_eq!(
        back(&mut actor, Returned::Err(Y)),
        [Effect::Disarm(Timer::Abort), reports(0, Y), pre_restart(X, true)]
    );
}

#[test]
fn a_stop_takes_the_place_of_a_restart_that_waits() {
    let mut actor = parked(0);
    drive(&mut actor, Suspend);
    drive(&mut actor, Restart(X));
    assert_eq!(drive(&mut actor, Terminate), [Effect::AnnounceStop]);
    assert_eq!(back(&mut actor, Returned::Ok), [Effect::Disarm(Timer::Abort), post_stop()]);
}

#[test]
fn a_stop_aborts_a_handler_and_post_stop_is_told() {
    let mut actor = parked(0);
    assert_eq!(drive(&mut actor, Terminate), [Effect::AnnounceStop, ABORT]);
    assert_eq!(aborted(&mut actor), [Effect::Call(Call::PostStop { aborted: true })]);
    assert_eq!(back(&mut actor, Returned::Ok), the_end(HowEnded::Aborted));
}

#[test]
fn children_of_an_actor_that_is_to_stop_are_not_decided() {
    let mut actor = parked(1);
    drive(&mut actor, Terminate);
    assert_eq!(drive(&mut actor, failed(A, X)), [Note(News::ReportDropped(id(A), X))]);
}

#[test]
fn an_aborted_pre_start_leaves_no_instance_to_stop() {
    let mut actor = creating();
    step(&mut actor, Input::Parked);
    drive(&mut actor, Terminate);
    let end = aborted(&mut actor);
    assert_eq!(end[0], DropInstance);
    assert_eq!(end[1..], the_end(HowEnded::Aborted));
}

#[test]
fn an_aborted_pre_start_is_tried_again_by_a_restart() {
    let mut actor = creating();
    step(&mut actor, Input::Parked);
    drive(&mut actor, Suspend);
    assert_eq!(drive(&mut actor, Restart(X)), [ABORT]);
    assert_eq!(aborted(&mut actor), [DropInstance, Note(News::TurnedIntoCreate), Effect::Call(Call::Create)]);
}

#[test]
fn a_stop_during_pre_restart_makes_no_new_instance() {
    let mut actor = restarting(0);
    assert_eq!(step(&mut actor, Input::Parked), [ABORT]);
    assert_eq!(drive(&mut actor, Terminate), [Effect::AnnounceStop]);
    let end = back(&mut actor, Returned::Ok);
    assert_eq!(end[..2], [Effect::Disarm(Timer::Abort), DropInstance]);
    assert_eq!(end[2..], the_end(HowEnded::Graceful));
}

#[test]
fn a_pre_restart_that_never_returns_holds_its_restart_up_for_the_stop_timeout() {
    let mut actor = restarting(0);
    assert_eq!(step(&mut actor, Input::Parked), [ABORT]);
    assert_eq!(aborted(&mut actor), [DropInstance, rebuild(X)]);
}

#[test]
fn a_restart_that_aborts_another_releases_the_survivors_from_the_first() {
    let mut actor = rebuilding(1);
    step(&mut actor, Input::Parked);
    // The survivor is suspended twice now.
    assert_eq!(drive(&mut actor, Suspend), [Send(A, Suspend)]);
    assert_eq!(drive(&mut actor, Restart(Y)), [ABORT]);
    assert_eq!(aborted(&mut actor), [DropInstance, Send(A, Resume(None)), rebuild(Y)]);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Restarted(Y)), Send(A, Restart(Y))]);
}

#[test]
fn a_restart_that_aborts_another_stops_the_children_of_the_other() {
    let mut actor = rebuilding(1);
    step(&mut actor, Input::Parked);
    assert_eq!(spawn(&mut actor), B);
    drive(&mut actor, Suspend);
    drive(&mut actor, Restart(Y));
    assert_eq!(aborted(&mut actor), [DropInstance, Send(A, Resume(None)), Send(B, Terminate)]);
}

#[test]
fn post_stop_has_a_stop_timeout_of_its_own() {
    let mut actor = running(0);
    drive(&mut actor, Terminate);
    assert_eq!(step(&mut actor, Input::Parked), [ABORT]);
    assert_eq!(aborted(&mut actor), the_end(HowEnded::Aborted));
}

#[test]
fn code_that_nobody_waits_for_is_not_aborted() {
    let mut actor = parked(0);
    assert_eq!(step(&mut actor, Input::Due(Timer::Abort)), []);
}

#[test]
fn a_timeout_that_comes_too_late_aborts_nothing() {
    let mut actor = parked(0);
    drive(&mut actor, Suspend);
    drive(&mut actor, Restart(X));
    back(&mut actor, Returned::Ok);
    assert_eq!(step(&mut actor, Input::Due(Timer::Abort)), []);
}

#[test]
fn a_parked_pre_start_decides_about_its_children() {
    let mut actor = creating();
    spawn(&mut actor);
    step(&mut actor, Input::Parked);
    assert_eq!(drive(&mut actor, failed(A, X)), [Decide(id(A), X)]);
}
