use super::*;

#[test]
fn a_restart_goes_from_pre_restart_to_a_new_instance() {
    let mut actor = restarting(0);
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance, rebuild(X)]);
    assert_eq!(actor.suspensions(), 0);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Restarted(X))]);
    assert!(actor.accepts_messages());
}

#[test]
fn a_restart_for_a_siblings_sake_is_not_for_an_own_message() {
    let mut actor = running(0);
    drive(&mut actor, Suspend);
    assert_eq!(drive(&mut actor, Restart(X)), [pre_restart(X, false)]);
}

#[test]
fn the_old_instance_goes_before_its_children_are_awaited() {
    let mut actor = restarting(2);
    assert_eq!(command(&mut actor, Protocol::stop_children), [Send(B, Terminate), Send(A, Terminate)]);
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance]);
    assert_eq!(drive(&mut actor, ended(A)), []);
    assert_eq!(drive(&mut actor, ended(B)), [rebuild(X)]);
}

#[test]
fn a_restart_waits_for_a_child_that_was_stopped_before() {
    let mut actor = running(1);
    command(&mut actor, |actor, effects| actor.stop_child(id(A), effects));
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, Restart(X));
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance]);
    assert_eq!(drive(&mut actor, ended(A)), [rebuild(X)]);
}

#[test]
fn a_failing_pre_restart_changes_nothing() {
    let mut actor = restarting(0);
    let failure = Note(News::HookFailed(Hook::PreRestart, Y));
    assert_eq!(back(&mut actor, Returned::Err(Y)), [failure, DropInstance, rebuild(X)]);
}

#[test]
fn survivors_restart_in_start_order_and_new_children_do_not() {
    let mut actor = rebuilding(2);
    spawn(&mut actor);
    assert_eq!(
        back(&mut actor, Returned::Ok),
        [Note(News::Restarted(X)), Send(A, Restart(X)), Send(B, Restart(X))]
    );
}

#[test]
fn a_failed_restart_suspends_the_new_children_only() {
    let mut actor = rebuilding(1);
    spawn(&mut actor);
    assert_eq!(
        back(&mut actor, Returned::Err(Y)),
        [DropInstance, Send(B, Suspend), reports(1, Why::Restarting('y'))]
    );
    assert_eq!(actor.suspensions(), 1);
}

#[test]
fn after_a_failed_restart_the_half_built_children_end_before_the_next_factory() {
    let mut actor = rebuilding(1);
    spawn(&mut actor);
    back(&mut actor, Returned::Err(Y));
    // No instance, so no `pre_restart`; the survivor survives again.
    assert_eq!(drive(&mut actor, Restart(Y)), [Send(B, Terminate)]);
    assert_eq!(drive(&mut actor, ended(B)), [rebuild(Y)]);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Restarted(Y)), Send(A, Restart(Y))]);
    assert!(actor.accepts_messages());
}

#[test]
fn after_a_failed_restart_and_a_good_one_pre_restart_runs_again() {
    let mut actor = half_built(0);
    assert_eq!(drive(&mut actor, Restart(Y)), [rebuild(Y)]);
    back(&mut actor, Returned::Ok);
    back(&mut actor, Returned::Err(X));
    assert_eq!(drive(&mut actor, Restart(X)), [pre_restart(X, true)]);
}

#[test]
fn two_failures_are_two_restarts() {
    let mut actor = running(0);
    back(&mut actor, Returned::Err(X));
    back(&mut actor, Returned::Err(Y));
    drive(&mut actor, Restart(X));
    back(&mut actor, Returned::Ok);
    back(&mut actor, Returned::Ok);
    assert!(!actor.accepts_messages());
    assert_eq!(drive(&mut actor, Restart(Y)), [pre_restart(Y, false)]);
    back(&mut actor, Returned::Ok);
    back(&mut actor, Returned::Ok);
    assert!(actor.accepts_messages());
}
