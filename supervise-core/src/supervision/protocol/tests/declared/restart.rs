//! Declared children that restart, alone and together.

use super::*;

#[test]
fn one_for_one_restarts_a_field_at_once() {
    let mut actor = fields(2);
    assert_eq!(restarts(&mut actor, A, &ONE_FOR_ONE), [Send(A, Restart(X))]);
}

#[test]
fn rest_for_one_prepares_in_reverse_and_starts_in_order() {
    let mut actor = fields(3);
    assert_eq!(restarts(&mut actor, B, &REST_FOR_ONE), [Send(C, Suspend), Send(C, PrepareRestart(X))]);
    assert_eq!(drive(&mut actor, down(C)), [Send(B, PrepareRestart(X))]);
    assert_eq!(drive(&mut actor, down(B)), [Send(B, Restart(X))]);
    assert_eq!(drive(&mut actor, up(B)), [Send(C, Restart(X))]);
    assert_eq!(drive(&mut actor, up(C)), []);
    assert_eq!(restarts(&mut actor, C, &REST_FOR_ONE), [Send(C, PrepareRestart(X))]);
}

#[test]
fn all_for_one_takes_the_dynamic_children_along() {
    let mut actor = fields(2);
    assert_eq!(spawn(&mut actor), C);
    assert_eq!(
        restarts(&mut actor, A, &ALL_FOR_ONE),
        [Send(B, Suspend), Send(C, Suspend), Send(C, RestartTogether(X)), Send(B, PrepareRestart(X))]
    );
    assert_eq!(drive(&mut actor, down(B)), [Send(A, PrepareRestart(X))]);
    assert_eq!(drive(&mut actor, down(A)), [Send(A, Restart(X))]);
    assert_eq!(drive(&mut actor, up(A)), [Send(B, Restart(X))]);
}

#[test]
fn a_dynamic_child_takes_no_field_along_under_rest_for_one() {
    let mut actor = fields(1);
    spawn(&mut actor);
    spawn(&mut actor);
    assert_eq!(
        restarts(&mut actor, B, &REST_FOR_ONE),
        [Send(B, RestartTogether(X)), Send(C, Suspend), Send(C, RestartTogether(X))]
    );
}

#[test]
fn a_condemned_field_that_fails_restarts_once_and_is_undone_twice() {
    let mut actor = fields(2);
    restarts(&mut actor, A, &ALL_FOR_ONE);
    drive(&mut actor, failed(B, Y));
    let answered = decided(B, Y, Outcome::AlreadyAnswered);
    assert_eq!(decide(&mut actor, Directive::Restart, &ALL_FOR_ONE), [answered]);
    drive(&mut actor, down(B));
    drive(&mut actor, down(A));
    assert_eq!(drive(&mut actor, up(A)), [Send(B, Restart(X)), Send(B, Resume(None))]);
}

#[test]
fn a_field_that_fails_to_come_back_is_decided_about_while_those_after_it_wait() {
    let mut actor = fields(2);
    restarts(&mut actor, A, &ALL_FOR_ONE);
    drive(&mut actor, down(B));
    assert_eq!(drive(&mut actor, down(A)), [Send(A, Restart(X))]);
    assert_eq!(drive(&mut actor, failed(A, Y)), [Decide(id(A), Y)]);
    assert_eq!(decide(&mut actor, Directive::Restart, &ALL_FOR_ONE)[1..], [Send(A, Restart(Y))]);
    assert_eq!(drive(&mut actor, up(A)), [Send(B, Restart(Y))]);
    assert_eq!(drive(&mut actor, up(B)), []);
}

#[test]
fn a_field_whose_restart_is_over_lets_the_group_go_on_when_it_is_stopped() {
    let mut actor = fields(2);
    restarts(&mut actor, A, &ALL_FOR_ONE);
    drive(&mut actor, down(B));
    drive(&mut actor, down(A));
    drive(&mut actor, failed(A, Y));
    assert_eq!(decide(&mut actor, Directive::Stop, &ONE_FOR_ONE)[1..], [Send(A, Terminate), Send(B, Restart(X))]);
}

#[test]
fn a_delayed_group_suspends_at_once_and_prepares_when_the_delay_is_over() {
    let mut actor = fields(2);
    let second = Duration::from_secs(1);
    let slow = ALL_FOR_ONE.backoff(Backoff::exponential(second, second));
    assert_eq!(restarts(&mut actor, A, &slow), [Send(B, Suspend), Effect::Arm(Timer::Restart(1), Some(second))]);
    assert_eq!(step(&mut actor, Input::Due(Timer::Restart(1))), [Send(B, PrepareRestart(X))]);
    assert_eq!(drive(&mut actor, down(B)), [Send(A, PrepareRestart(X))]);
}

#[test]
fn a_temporary_sibling_is_stopped_where_the_others_restart() {
    let mut actor = with(&[TRANSIENT, TRANSIENT.restart(RestartType::Temporary)], AutoShutdown::Never);
    assert_eq!(restarts(&mut actor, A, &ALL_FOR_ONE), [Send(B, Suspend), Send(B, Terminate)]);
    assert_eq!(drive(&mut actor, ended(B)), [Send(A, PrepareRestart(X))]);
    assert_eq!(drive(&mut actor, down(A)), [Send(A, Restart(X))]);
    assert_eq!(drive(&mut actor, up(A)), []);
    assert_eq!(actors(&actor), [A]);
}

#[test]
fn a_group_goes_no_further_while_a_restart_of_its_parent_waits() {
    let mut actor = fields(2);
    restarts(&mut actor, A, &ALL_FOR_ONE);
    step(&mut actor, Input::Parked);
    drive(&mut actor, Suspend);
    assert_eq!(drive(&mut actor, Restart(Y)), [Effect::Arm(Timer::Abort, None)]);
    assert_eq!(drive(&mut actor, down(B)), []);
}

#[test]
fn a_field_that_fails_again_before_it_is_up_is_decided_about_again() {
    let mut actor = fields(2);
    restarts(&mut actor, A, &ALL_FOR_ONE);
    drive(&mut actor, down(B));
    drive(&mut actor, down(A));
    for _ in 0..2 {
        assert_eq!(drive(&mut actor, failed(A, Y)), [Decide(id(A), Y)]);
        assert_eq!(decide(&mut actor, Directive::Resume, &ALL_FOR_ONE)[1..], [Send(A, Resume(Some(Y)))]);
    }
    assert_eq!(drive(&mut actor, up(A)), [Send(B, Restart(X))]);
}

#[test]
fn a_field_that_is_due_owes_a_second_restart_of_its_group_nothing() {
    let mut actor = with(&[TRANSIENT.restart(RestartType::Permanent), TRANSIENT], AutoShutdown::Never);
    assert_eq!(spawn(&mut actor), C);
    drive(&mut actor, ended(A));
    decide(&mut actor, Directive::Restart, &ALL_FOR_ONE);
    restarts(&mut actor, C, &ALL_FOR_ONE);
    assert_eq!(drive(&mut actor, down(B)), [StartChild(0)]);
    let anew = make(&mut actor, 0);
    drive(&mut actor, up(anew));
    drive(&mut actor, up(B));
    assert_eq!(restarts(&mut actor, B, &ALL_FOR_ONE)[0], Send(anew, Suspend));
}

#[test]
fn a_reset_of_the_backoff_reaches_a_field() {
    let mut actor = fields(1);
    let slow = ONE_FOR_ONE.backoff(Backoff::exponential(Duration::from_secs(1), Duration::from_secs(60)));
    let first = Effect::Arm(Timer::Restart(1), Some(Duration::from_secs(1)));
    assert_eq!(restarts(&mut actor, A, &slow), [first]);
    assert_eq!(step(&mut actor, Input::Due(Timer::Restart(1))), [Send(A, Restart(X))]);
    drive(&mut actor, ResetBackoff(id(A)));
    assert_eq!(restarts(&mut actor, A, &slow), [Effect::Arm(Timer::Restart(2), Some(Duration::from_secs(1)))]);
}

#[test]
fn a_field_resumed_from_above_before_its_turn_restarts_with_its_group_all_the_same() {
    let mut actor = fields(2);
    restarts(&mut actor, A, &ALL_FOR_ONE);
    assert_eq!(drive(&mut actor, down(B)), [Send(A, PrepareRestart(X))]);
    assert_eq!(drive(&mut actor, up(B)), []);
    assert_eq!(drive(&mut actor, down(A)), [Send(B, PrepareRestart(X))]);
    assert_eq!(drive(&mut actor, down(B)), [Send(A, Restart(X))]);
    assert_eq!(drive(&mut actor, up(A)), [Send(B, Restart(X))]);
}
