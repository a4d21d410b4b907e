//! Which declared children come back.

use super::*;

#[test]
fn a_transient_child_that_ends_stays_away() {
    let mut actor = of(RestartType::Transient);
    assert_eq!(drive(&mut actor, ended(A)), []);
    assert_eq!(actors(&actor), []);
    assert_eq!(actor.child_of_field(0), None);
}

#[test]
fn a_permanent_child_that_ends_is_made_anew() {
    let mut actor = of(RestartType::Permanent);
    assert_eq!(drive(&mut actor, ended(A)), [RestartEnded(id(A), Why::Bare('e'))]);
    assert_eq!(decide(&mut actor, Directive::Restart, &ONE_FOR_ONE)[1..], [StartChild(0)]);
    assert_eq!(make(&mut actor, 0), B);
    assert_eq!(drive(&mut actor, up(B)), []);
    assert_eq!(actors(&actor), [B]);
    assert_eq!(drive(&mut actor, ended(B)), [RestartEnded(id(B), Why::Bare('e'))]);
}

#[test]
fn a_permanent_child_comes_back_alone_while_a_later_field_starts() {
    let mut actor = beginning(&[TRANSIENT.restart(RestartType::Permanent), TRANSIENT], AutoShutdown::Never);
    back(&mut actor, Returned::Ok);
    make(&mut actor, 0);
    drive(&mut actor, up(A));
    assert_eq!(back(&mut actor, Returned::Ok), [StartChild(1)]);
    make(&mut actor, 1);
    assert_eq!(drive(&mut actor, ended(A)), [RestartEnded(id(A), Why::Bare('e'))]);
    assert_eq!(decide(&mut actor, Directive::Restart, &ONE_FOR_ONE)[1..], [StartChild(0)]);
}

#[test]
fn a_permanent_childs_ends_count_against_the_limit() {
    let mut actor = of(RestartType::Permanent);
    let once = ONE_FOR_ONE.max_retries(1);
    drive(&mut actor, ended(A));
    decide(&mut actor, Directive::Restart, &once);
    make(&mut actor, 0);
    drive(&mut actor, up(B));
    drive(&mut actor, ended(B));
    let refused = decided(B, END, Outcome::LimitReached { children: 1 });
    assert_eq!(decide(&mut actor, Directive::Restart, &once), [refused]);
    assert_eq!(actors(&actor), []);
}

#[test]
fn a_permanent_child_that_was_asked_to_stop_stays_away() {
    let mut actor = of(RestartType::Permanent);
    command(&mut actor, |actor, effects| actor.stop_child(id(A), effects));
    assert_eq!(drive(&mut actor, ended(A)), []);
}

#[test]
fn a_permanent_child_that_ends_before_its_group_restarts_leaves_no_debt_to_the_next_incarnation() {
    let mut actor = with(&[TRANSIENT.restart(RestartType::Permanent), TRANSIENT], AutoShutdown::Never);
    restarts(&mut actor, B, &ALL_FOR_ONE);
    drive(&mut actor, ended(A));
    decide(&mut actor, Directive::Restart, &ALL_FOR_ONE.max_retries(0).on_limit(OnLimit::Escalate));
    drive(&mut actor, Resume(Some(END)));
    assert_eq!(drive(&mut actor, down(B)), [StartChild(0)]);
    assert_eq!(make(&mut actor, 0), C);
    drive(&mut actor, up(C));
    drive(&mut actor, up(B));
    assert_eq!(restarts(&mut actor, B, &ALL_FOR_ONE), [Send(C, Suspend), Send(B, PrepareRestart(X))]);
}

#[test]
fn a_permanent_child_whose_end_was_escalated_is_made_anew_by_a_resume() {
    let mut actor = with(&[TRANSIENT.restart(RestartType::Permanent), TRANSIENT], AutoShutdown::Never);
    drive(&mut actor, ended(A));
    let never = ONE_FOR_ONE.max_retries(0).on_limit(OnLimit::Escalate);
    assert_eq!(decide(&mut actor, Directive::Restart, &never)[1..], [Send(B, Suspend), reports(0, END)]);
    assert_eq!(
        drive(&mut actor, Resume(Some(END))),
        [Send(A, Resume(Some(END))), Send(B, Resume(None)), StartChild(0)]
    );
}

#[test]
fn a_permanent_child_takes_its_group_along() {
    let permanent = TRANSIENT.restart(RestartType::Permanent);
    let mut actor = with(&[permanent, TRANSIENT], AutoShutdown::Never);
    drive(&mut actor, ended(A));
    assert_eq!(
        decide(&mut actor, Directive::Restart, &ALL_FOR_ONE)[1..],
        [Send(B, Suspend), Send(B, PrepareRestart(END))]
    );
    assert_eq!(drive(&mut actor, down(B)), [StartChild(0)]);
    assert_eq!(make(&mut actor, 0), C);
    assert_eq!(drive(&mut actor, up(C)), [Send(B, Restart(END))]);
}

#[test]
fn a_permanent_child_that_ends_while_its_parent_stops_stays_away() {
    let mut actor = of(RestartType::Permanent);
    drive(&mut actor, Terminate);
    assert_eq!(drive(&mut actor, ended(A)), [post_stop()]);
}

#[test]
fn a_gone_child_does_not_keep_its_parent_from_stopping() {
    let mut actor = of(RestartType::Permanent);
    drive(&mut actor, Suspend);
    assert_eq!(drive(&mut actor, ended(A)), [Note(News::ReportDeferred(id(A)))]);
    assert_eq!(
        drive(&mut actor, Terminate),
        [Effect::AnnounceStop, Note(News::ReportDropped(id(A), END)), post_stop()]
    );
}

#[test]
fn a_temporary_child_that_fails_goes() {
    for directive in [Directive::Restart, Directive::Stop] {
        let mut actor = of(RestartType::Temporary);
        drive(&mut actor, failed(A, X));
        let stopped = decided(A, X, Outcome::Stopped { children: 1 });
        assert_eq!(decide(&mut actor, directive, &ONE_FOR_ONE), [stopped, Send(A, Terminate)]);
    }
}

#[test]
fn a_temporary_child_can_be_resumed_and_passed_on() {
    let mut actor = of(RestartType::Temporary);
    drive(&mut actor, failed(A, X));
    assert_eq!(decide(&mut actor, Directive::Resume, &ONE_FOR_ONE)[1..], [Send(A, Resume(Some(X)))]);
    drive(&mut actor, failed(A, X));
    assert_eq!(decide(&mut actor, Directive::Escalate, &ONE_FOR_ONE)[1..], [reports(0, X)]);
}

#[test]
fn a_temporary_child_that_cannot_start_is_not_resumed() {
    let mut actor = of(RestartType::Temporary);
    drive(&mut actor, failed(A, Why::Starting('x')));
    assert_eq!(decide(&mut actor, Directive::Resume, &ONE_FOR_ONE)[1..], [Send(A, Terminate)]);
}
