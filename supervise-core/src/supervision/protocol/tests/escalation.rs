use super::*;

/// One that has just escalated the failure of its second child.
fn escalated() -> Actor {
    let mut actor = running(3);
    drive(&mut actor, failed(B, X));
    assert_eq!(
        decide(&mut actor, Directive::Escalate, &ONE_FOR_ONE),
        [
            decided(B, X, Directive::Escalate, Outcome::Escalated),
            Send(A, Suspend),
            Send(C, Suspend),
            reports(0, X)
        ]
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
        [Send(A, Resume(None)), Send(B, Resume(Some(X))), Send(C, Resume(None))]
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
    assert_eq!(drive(&mut actor, Resume(Some(Y))), [Send(A, Resume(None)), Send(B, Resume(Some(Y)))]);
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
