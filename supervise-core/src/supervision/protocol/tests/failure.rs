use super::*;

#[test]
fn a_failed_handler_suspends_the_actor_with_its_children_and_is_reported_once() {
    let mut actor = running(2);
    assert_eq!(back(&mut actor, Returned::Err(X)), [Send(A, Suspend), Send(B, Suspend), reports(0, X)]);
    assert_eq!(actor.suspensions(), 1);
    assert!(!actor.accepts_messages());
}

#[test]
fn each_failure_is_one_suspension_and_one_report() {
    let mut actor = failing(0);
    assert_eq!(back(&mut actor, Returned::Err(Y)), [reports(0, Y)]);
    assert_eq!(actor.suspensions(), 2);
}

#[test]
fn a_childs_failure_is_put_to_the_decider() {
    let mut actor = running(1);
    assert_eq!(drive(&mut actor, failed(A, X)), [Decide(id(A), X)]);
    assert!(!actor.accepts_messages());
}

#[test]
fn the_report_of_a_stranger_is_dropped() {
    let mut actor = running(1);
    assert_eq!(drive(&mut actor, failed(C, X)), [Note(News::ReportDropped(id(C), X))]);
}

#[test]
fn the_report_of_an_earlier_holder_of_the_name_is_dropped() {
    let mut actor = running(1);
    drive(&mut actor, ended(A));
    let again = actor.spawn(&ActorName::from("child-0"), |_, _| B).unwrap();
    assert_eq!(drive(&mut actor, failed(A, X)), [Note(News::ReportDropped(id(A), X))]);
    assert_eq!(drive(&mut actor, failed(again, X)), [Decide(id(B), X)]);
}

#[test]
fn resume_reaches_the_child_with_the_cause() {
    let mut actor = running(1);
    drive(&mut actor, failed(A, X));
    assert_eq!(
        decide(&mut actor, Directive::Resume, &ONE_FOR_ONE),
        [decided(A, X, Outcome::Resumed), Send(A, Resume(Some(X)))]
    );
    assert!(actor.accepts_messages());
}

#[test]
fn a_restart_is_sent_to_the_failed_child() {
    let mut actor = running(1);
    drive(&mut actor, failed(A, X));
    let restarting = Outcome::Restarting { children: 1, delay: None };
    assert_eq!(
        decide(&mut actor, Directive::Restart, &ONE_FOR_ONE),
        [decided(A, X, restarting), Send(A, Restart(X))]
    );
}

#[test]
fn stop_terminates_the_child() {
    let mut actor = running(1);
    drive(&mut actor, failed(A, X));
    assert_eq!(
        decide(&mut actor, Directive::Stop, &ONE_FOR_ONE),
        [decided(A, X, Outcome::Stopped { children: 1 }), Send(A, Terminate)]
    );
}

#[test]
fn a_child_that_fails_while_dying_is_stopped_but_once() {
    let mut actor = running(1);
    command(&mut actor, |actor, effects| actor.stop_child(id(A), effects));
    drive(&mut actor, failed(A, X));
    assert_eq!(decide(&mut actor, Directive::Stop, &ONE_FOR_ONE), [decided(A, X, Outcome::AlreadyAnswered)]);
}

#[test]
fn a_suspended_actor_counts_and_passes_on() {
    let mut actor = running(1);
    assert_eq!(drive(&mut actor, Suspend), [Send(A, Suspend)]);
    assert_eq!(drive(&mut actor, Suspend), [Send(A, Suspend)]);
    assert_eq!(drive(&mut actor, Resume(None)), [Send(A, Resume(None))]);
    assert!(!actor.accepts_messages());
    drive(&mut actor, Resume(None));
    assert!(actor.accepts_messages());
}
