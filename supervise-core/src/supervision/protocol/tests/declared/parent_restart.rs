//! What a restart of their parent does to declared children.

use super::*;

#[test]
fn fields_that_survive_are_declared_again_and_restarted() {
    let mut actor = fields(2);
    back(&mut actor, Returned::Err(X));
    assert_eq!(drive(&mut actor, Restart(X)), [pre_restart(X, true)]);
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance, BUILD]);
    assert_eq!(back(&mut actor, Returned::Ok), [declare(0)]);
    assert_eq!(back(&mut actor, Returned::Ok), [declare(1)]);
    assert_eq!(back(&mut actor, Returned::Ok), [rebuild(X)]);
    assert_eq!(
        back(&mut actor, Returned::Ok),
        [Note(News::Restarted(X)), Send(A, Restart(X)), Send(B, Restart(X))]
    );
}

#[test]
fn fields_that_were_stopped_start_anew_before_post_restart() {
    let mut actor = fields(2);
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, Restart(X));
    assert_eq!(command(&mut actor, Actor::stop_children), [Send(B, Terminate)]);
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance]);
    assert_eq!(drive(&mut actor, ended(B)), [Send(A, Terminate)]);
    assert_eq!(drive(&mut actor, ended(A)), [BUILD]);
    back(&mut actor, Returned::Ok);
    assert_eq!(back(&mut actor, Returned::Ok), [StartChild(0)]);
    assert_eq!(make(&mut actor, 0), C);
    assert_eq!(drive(&mut actor, up(C)), [declare(1)]);
    assert_eq!(back(&mut actor, Returned::Ok), [StartChild(1)]);
    let d = make(&mut actor, 1);
    assert_eq!(drive(&mut actor, up(d)), [rebuild(X)]);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Restarted(X))]);
}

#[test]
fn a_temporary_survivor_is_stopped() {
    let mut actor = of(RestartType::Temporary);
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, Restart(X));
    back(&mut actor, Returned::Ok);
    back(&mut actor, Returned::Ok);
    assert_eq!(back(&mut actor, Returned::Ok), [rebuild(X)]);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Restarted(X)), Send(A, Terminate)]);
}

#[test]
fn a_group_that_was_restarting_restarts_with_its_parent() {
    let mut actor = fields(2);
    restarts(&mut actor, A, &ALL_FOR_ONE);
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, Restart(X));
    back(&mut actor, Returned::Ok);
    back(&mut actor, Returned::Ok);
    back(&mut actor, Returned::Ok);
    assert_eq!(back(&mut actor, Returned::Ok), [rebuild(X)]);
    assert_eq!(
        back(&mut actor, Returned::Ok),
        [
            Note(News::Restarted(X)),
            Send(A, Restart(X)),
            Send(A, Resume(None)),
            Send(B, Restart(X)),
            Send(B, Resume(None)),
        ]
    );
}

#[test]
fn a_prepared_restart_from_before_a_restart_of_the_parent_does_not_pass_for_the_next_one() {
    let mut actor = fields(2);
    restarts(&mut actor, A, &ALL_FOR_ONE);
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, Restart(X));
    for _ in 0..5 {
        back(&mut actor, Returned::Ok);
    }
    assert_eq!(restarts(&mut actor, A, &ALL_FOR_ONE), [Send(B, Suspend), Send(B, PrepareRestart(X))]);
    assert_eq!(drive(&mut actor, down(B)), []);
    assert_eq!(drive(&mut actor, down(B)), [Send(A, PrepareRestart(X))]);
}

#[test]
fn a_field_that_waits_for_a_delay_does_not_keep_its_parent_from_restarting() {
    let mut actor = fields(1);
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, Restart(X));
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance, BUILD]);
    restarts(&mut actor, A, &ALL_FOR_ONE);
    drive(&mut actor, down(A));
    drive(&mut actor, failed(A, Why::Restarting('y')));
    assert_eq!(decide(&mut actor, Directive::Restart, &ALL_FOR_ONE).len(), 2, "a note, and the delay");
    assert_eq!(back(&mut actor, Returned::Ok), []);
    assert_eq!(step(&mut actor, Input::Due(Timer::Restart(1))), [declare(0)]);
}

#[test]
fn a_field_that_is_up_when_its_delay_ends_waits_for_its_parent() {
    let mut actor = fields(1);
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, Restart(X));
    back(&mut actor, Returned::Ok);
    let second = Duration::from_secs(1);
    restarts(&mut actor, A, &ONE_FOR_ONE.backoff(Backoff::exponential(second, second)));
    assert_eq!(step(&mut actor, Input::Due(Timer::Restart(1))), []);
    assert_eq!(back(&mut actor, Returned::Ok), [declare(0)]);
}

#[test]
fn a_permanent_child_whose_delay_ends_while_its_parent_restarts_is_made_anew() {
    let mut actor = of(RestartType::Permanent);
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, Restart(X));
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance, BUILD]);
    assert_eq!(drive(&mut actor, ended(A)), [RestartEnded(id(A), Why::Bare('e'))]);
    let second = Duration::from_secs(1);
    decide(&mut actor, Directive::Restart, &ONE_FOR_ONE.backoff(Backoff::exponential(second, second)));
    assert_eq!(step(&mut actor, Input::Due(Timer::Restart(1))), [StartChild(0)]);
}

#[test]
fn a_group_that_begins_to_restart_while_its_parent_does_restarts_with_it() {
    let mut actor = with(&[TRANSIENT.restart(RestartType::Permanent), TRANSIENT], AutoShutdown::Never);
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, Restart(X));
    for _ in 0..3 {
        back(&mut actor, Returned::Ok);
    }
    assert_eq!(back(&mut actor, Returned::Ok), [rebuild(X)]);
    step(&mut actor, Input::Parked);
    assert_eq!(restarts(&mut actor, B, &ALL_FOR_ONE), [Send(A, Suspend), Send(B, PrepareRestart(X))]);
    assert_eq!(
        back(&mut actor, Returned::Ok),
        [
            Note(News::Restarted(X)),
            Send(A, Restart(X)),
            Send(A, Resume(None)),
            Send(B, Restart(X)),
            Send(B, Resume(None)),
        ]
    );
    assert_eq!(drive(&mut actor, down(B)), []);
}

#[test]
fn a_field_that_does_not_start_breaks_the_restart() {
    let mut actor = fields(1);
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, Restart(X));
    command(&mut actor, Actor::stop_children);
    back(&mut actor, Returned::Ok);
    drive(&mut actor, ended(A));
    back(&mut actor, Returned::Ok);
    back(&mut actor, Returned::Ok);
    make(&mut actor, 0);
    drive(&mut actor, failed(B, Y));
    assert_eq!(
        decide(&mut actor, Directive::Restart, &ONE_FOR_ONE),
        [
            decided(B, Y, Outcome::Escalated),
            DropInstance,
            Send(B, Suspend),
            reports(1, Why::Restarting('y')),
            Send(B, Terminate)
        ]
    );
}

#[test]
fn a_permanent_child_that_was_gone_is_down_for_the_new_instance() {
    let mut actor = of(RestartType::Permanent);
    back(&mut actor, Returned::Err(X));
    drive(&mut actor, ended(A));
    drive(&mut actor, Restart(X));
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance, BUILD]);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::ReportDropped(id(A), END)), declare(0)]);
    assert_eq!(back(&mut actor, Returned::Ok), [StartChild(0)]);
}
