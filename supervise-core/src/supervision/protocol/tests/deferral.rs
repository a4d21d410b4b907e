use super::*;

const ABORT: Does = Effect::Arm(Timer::Abort, None);

fn deferred(child: u32) -> Does {
    Note(News::ReportDeferred(id(child)))
}

#[test]
fn a_suspended_actor_decides_when_it_is_resumed() {
    let mut actor = running(2);
    drive(&mut actor, Suspend);
    assert_eq!(drive(&mut actor, failed(A, X)), [deferred(A)]);
    assert_eq!(drive(&mut actor, failed(B, Y)), [deferred(B)]);
    assert_eq!(drive(&mut actor, Resume(None)), [Decide(id(A), X)]);
    assert_eq!(
        decide(&mut actor, Directive::Resume, &ONE_FOR_ONE)[1..],
        [Send(A, Resume(Some(X))), Decide(id(B), Y)],
        "in the order of arrival"
    );
    assert_eq!(
        decide(&mut actor, Directive::Resume, &ONE_FOR_ONE)[1..],
        [Send(B, Resume(Some(Y))), Send(A, Resume(None)), Send(B, Resume(None))],
        "the children are resumed when all is decided"
    );
}

#[test]
fn an_escalation_keeps_the_other_reports_waiting() {
    let mut actor = running(2);
    drive(&mut actor, Suspend);
    drive(&mut actor, failed(A, X));
    drive(&mut actor, failed(B, Y));
    drive(&mut actor, Resume(None));
    let escalated = decide(&mut actor, Directive::Escalate, &ONE_FOR_ONE);
    assert_eq!(escalated[1..], [Send(A, Resume(None)), reports(0, X)], "the other one stays suspended");
    assert_eq!(actor.deferrals(), 1);
}

#[test]
fn the_deferred_report_of_a_child_that_ended_is_dropped() {
    let mut actor = failing(1);
    drive(&mut actor, failed(A, X));
    drive(&mut actor, ended(A));
    assert_eq!(drive(&mut actor, Resume(Some(X))), [Note(News::Resumed), Note(News::ReportDropped(id(A), X))]);
}

#[test]
fn a_survivors_deferred_report_is_decided_after_the_factory_was_called() {
    let mut actor = failing(1);
    drive(&mut actor, failed(A, Y));
    drive(&mut actor, Restart(X));
    // The new instance comes first: a decision to stop the child would not be waited for any more.
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance, rebuild(X)]);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Restarted(X)), Send(A, Restart(X)), Decide(id(A), Y)]);
}

/// Has stopped its child and waits for its end.
fn waiting() -> Actor {
    let mut actor = restarting(1);
    command(&mut actor, Protocol::stop_children);
    back(&mut actor, Returned::Ok);
    actor
}

#[test]
fn a_waiting_actor_counts_suspensions_at_once() {
    let mut actor = waiting();
    assert_eq!(drive(&mut actor, Suspend), [Send(A, Suspend)]);
    assert_eq!(actor.suspensions(), 2);
    assert_eq!(drive(&mut actor, ended(A)), [rebuild(X)]);
    assert_eq!(actor.suspensions(), 1, "the restart answers one of them");
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Restarted(X))]);
    assert!(!actor.accepts_messages());
    drive(&mut actor, Resume(None));
    assert!(actor.accepts_messages());
}

#[test]
fn a_second_restart_is_answered_by_the_first_until_the_instance_is_replaced() {
    for mut actor in [restarting(1), waiting()] {
        drive(&mut actor, Suspend);
        assert_eq!(drive(&mut actor, Restart(Y)), [Send(A, Resume(None))]);
        assert_eq!((actor.suspensions(), actor.restarts()), (1, 2));
    }
    let mut actor = waiting();
    drive(&mut actor, Suspend);
    drive(&mut actor, Restart(Y));
    assert_eq!(drive(&mut actor, ended(A)), [rebuild(X)], "for the first of the causes");
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Restarted(X))]);
    assert!(actor.accepts_messages());
}

#[test]
fn a_restart_that_comes_when_the_new_instance_is_being_made_replaces_that_one() {
    let mut actor = rebuilding(0);
    for cause in [Y, X] {
        drive(&mut actor, Suspend);
        assert_eq!(drive(&mut actor, Restart(cause)), if cause == Y { vec![ABORT] } else { vec![] });
    }
    assert_eq!((actor.suspensions(), actor.restarts()), (1, 2));
    back(&mut actor, Returned::Ok);
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance, rebuild(Y)]);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Restarted(Y))]);
    assert_eq!((actor.suspensions(), actor.restarts()), (0, 3));
}

#[test]
fn ten_thousand_cycles_of_the_parent_leave_nothing_to_remember() {
    for mut actor in [restarting(1), waiting(), rebuilding(1)] {
        step(&mut actor, Input::Parked);
        for answer in [Resume(None), Restart(Y)] {
            for _ in 0..10_000 {
                drive(&mut actor, Suspend);
                drive(&mut actor, answer.clone());
                assert_eq!(actor.deferrals(), 0);
                assert!(actor.suspensions() <= 2, "of the failure, and of a restart that waits");
            }
        }
    }
}

#[test]
fn a_suspension_during_pre_restart_is_counted_at_once() {
    let mut actor = restarting(1);
    assert_eq!(drive(&mut actor, Suspend), [Send(A, Suspend)]);
    assert_eq!(drive(&mut actor, Resume(None)), [Send(A, Resume(None))]);
    assert_eq!(actor.suspensions(), 1);
}

#[test]
fn failures_during_a_restart_are_decided_by_the_new_instances_time() {
    let mut actor = restarting(1);
    assert_eq!(drive(&mut actor, failed(A, Y)), [deferred(A)]);
}
