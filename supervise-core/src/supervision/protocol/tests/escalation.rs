use super::*;

/// An actor that has just escalated the failure of its second child.
fn escalated() -> Actor {
    let mut actor = running(3);
    drive(&mut actor, failed(B, X));
    assert_eq!(
        decide(&mut actor, Directive::Escalate, &ONE_FOR_ONE),
        [decided(B, X, Outcome::Escalated), Send(A, Suspend), Send(C, Suspend), reports(0, X)]
    );
    actor
}

#[test]
fn escalation_reports_the_same_cause_and_spares_the_perpetrator() {
    assert_eq!(escalated().suspensions(), 1);
}

#[test]
fn resume_goes_down_to_the_perpetrator_with_its_cause() {
    assert_eq!(
        drive(&mut escalated(), Resume(Some(X))),
        [Send(B, Resume(Some(X))), Send(A, Resume(None)), Send(C, Resume(None))]
    );
}

#[test]
fn a_restart_after_an_escalation_is_not_for_an_own_message() {
    assert_eq!(drive(&mut escalated(), Restart(X)), [pre_restart(X, false)]);
}

#[test]
fn a_failing_decider_fails_its_actor_with_its_own_cause() {
    let mut actor = running(2);
    drive(&mut actor, failed(B, X));
    assert_eq!(
        decide_at(&mut actor, Err(Y), &ONE_FOR_ONE, Duration::ZERO),
        [Note(News::DeciderFailed { child: id(B), cause: Y, about: X }), Send(A, Suspend), reports(0, Y)]
    );
    assert_eq!(drive(&mut actor, Resume(Some(Y))), [Send(B, Resume(Some(Y))), Send(A, Resume(None))]);
}

#[test]
fn a_handler_that_fails_after_an_escalation_suspends_the_perpetrator_too() {
    let mut actor = running(1);
    step(&mut actor, Input::Parked);
    drive(&mut actor, failed(A, X));
    decide(&mut actor, Directive::Escalate, &ONE_FOR_ONE);
    assert_eq!(back(&mut actor, Returned::Err(Y)), [Send(A, Suspend), reports(0, Y)]);
    assert_eq!(drive(&mut actor, Resume(Some(X))), [Send(A, Resume(Some(X)))]);
    assert_eq!(drive(&mut actor, Resume(Some(Y))), [Send(A, Resume(None))]);
    assert!(actor.accepts_messages());
}

/// An actor whose children have all failed, and that has escalated the failure of the second one.
fn stormy() -> Actor {
    let mut actor = escalated();
    for child in [A, C] {
        assert_eq!(drive(&mut actor, failed(child, Y)), [Note(News::ReportDeferred(id(child)))]);
    }
    actor
}

#[test]
fn a_second_escalation_leaves_the_siblings_suspended() {
    let mut actor = stormy();
    assert_eq!(drive(&mut actor, Resume(Some(X))), [Send(B, Resume(Some(X))), Decide(id(A), Y)]);
    assert_eq!(
        decide(&mut actor, Directive::Escalate, &ONE_FOR_ONE)[1..],
        [Send(B, Suspend), Send(A, Resume(None)), reports(0, Y)],
        "C is not told"
    );
    assert_eq!(drive(&mut actor, Resume(Some(Y))), [Send(A, Resume(Some(Y))), Decide(id(C), Y)]);
    decide(&mut actor, Directive::Escalate, &ONE_FOR_ONE);
    assert_eq!(
        drive(&mut actor, Resume(Some(Y))),
        [Send(C, Resume(Some(Y))), Send(A, Resume(None)), Send(B, Resume(None))]
    );
    assert!(actor.accepts_messages());
}

#[test]
fn the_siblings_are_resumed_after_the_last_decision() {
    let mut actor = stormy();
    drive(&mut actor, Resume(Some(X)));
    assert_eq!(
        decide(&mut actor, Directive::Restart, &ONE_FOR_ONE)[1..],
        [Send(A, Restart(Y)), Decide(id(C), Y)],
        "another decision has to be made"
    );
    assert_eq!(
        decide(&mut actor, Directive::Restart, &ONE_FOR_ONE)[1..],
        [Send(C, Restart(Y)), Send(A, Resume(None)), Send(C, Resume(None))]
    );
    assert!(actor.accepts_messages());
}

#[test]
fn the_same_child_may_make_its_supervisor_fail_twice() {
    let mut actor = escalated();
    drive(&mut actor, failed(B, Y));
    drive(&mut actor, Resume(Some(X)));
    assert_eq!(decide(&mut actor, Directive::Escalate, &ONE_FOR_ONE)[1..], [reports(0, Y)]);
    assert_eq!(
        drive(&mut actor, Resume(Some(Y))),
        [Send(B, Resume(Some(Y))), Send(A, Resume(None)), Send(C, Resume(None))]
    );
}

#[test]
fn a_resume_does_not_reach_a_child_that_is_added_before_the_last_decision() {
    let mut actor = stormy();
    drive(&mut actor, Resume(Some(X)));
    let late = spawn(&mut actor);
    assert_eq!(
        decide(&mut actor, Directive::Escalate, &ONE_FOR_ONE)[1..],
        [Send(B, Suspend), Send(A, Resume(None)), Send(late, Suspend), reports(0, Y)]
    );
    drive(&mut actor, Resume(Some(Y)));
    let later = spawn(&mut actor);
    let resumed = decide(&mut actor, Directive::Resume, &ONE_FOR_ONE);
    assert!(resumed.contains(&Send(late, Resume(None))));
    assert!(!resumed.contains(&Send(later, Resume(None))), "it was never suspended");
}

#[test]
fn a_stop_in_the_midst_of_decisions_resumes_nobody() {
    let mut actor = stormy();
    drive(&mut actor, Resume(Some(X)));
    drive(&mut actor, Terminate);
    let stopped = decide(&mut actor, Directive::Resume, &ONE_FOR_ONE);
    assert_eq!(stopped, [Note(News::ReportDropped(id(A), Y))]);
}
