use super::*;

fn deferred(child: u32) -> Does {
    Note(News::ReportDeferred(id(child)))
}

#[test]
fn a_suspended_actor_decides_when_it_is_resumed() {
    let mut actor = running(2);
    drive(&mut actor, Suspend);
    assert_eq!(drive(&mut actor, failed(A, X)), [deferred(A)]);
    assert_eq!(drive(&mut actor, failed(B, Y)), [deferred(B)]);
    assert_eq!(drive(&mut actor, Resume(None)), [Send(A, Resume(None)), Send(B, Resume(None)), Decide(id(A), X)]);
    assert_eq!(
        decide(&mut actor, Directive::Resume, &ONE_FOR_ONE).last(),
        Some(&Decide(id(B), Y)),
        "in the order of arrival"
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
    assert_eq!(escalated[1..], [Send(B, Suspend), Report(X)]);
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
    drive(&mut actor, Recreate(X));
    // The new instance comes first: a decision to stop the child would not be waited for any more.
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance, rebuild(X)]);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Restarted(X)), Send(A, Recreate(X)), Decide(id(A), Y)]);
}

#[test]
fn a_waiting_actor_defers_all_but_the_stop_and_the_ends() {
    let mut actor = restarting(1);
    command(&mut actor, Protocol::stop_children);
    back(&mut actor, Returned::Ok);
    for message in [Suspend, Recreate(Y), Suspend, Resume(None)] {
        assert_eq!(drive(&mut actor, message), []);
    }
    assert_eq!(drive(&mut actor, Watch(3)), []);
    assert_eq!(actor.deferrals(), 4);
    assert_eq!(actor.suspensions(), 1);
    assert_eq!(drive(&mut actor, ended(A)), [rebuild(X)]);
    // The other restart waits for the new instance, and so does what came after it.
    assert_eq!((actor.suspensions(), actor.deferrals()), (1, 0));
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Restarted(X)), pre_restart(Y, false)]);
}

#[test]
fn a_second_restart_waits_for_the_first() {
    let mut actor = restarting(0);
    drive(&mut actor, Suspend);
    assert_eq!(drive(&mut actor, Recreate(Y)), [Effect::Arm(Timer::Abort, None)]);
    assert_eq!(back(&mut actor, Returned::Ok), [Effect::Disarm(Timer::Abort), DropInstance, rebuild(X)]);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Restarted(X)), pre_restart(Y, false)]);
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

#[test]
fn a_restart_that_has_to_queue_holds_up_no_suspension_behind_it() {
    let mut actor = restarting(1);
    command(&mut actor, super::super::Protocol::stop_children);
    back(&mut actor, Returned::Ok);
    for message in [Suspend, Recreate(Y), Suspend, Recreate(X), Suspend, Suspend] {
        drive(&mut actor, message);
    }
    drive(&mut actor, ended(A));
    // Else the answers to the last two come before them, and there is nothing left for a restart to answer.
    assert_eq!((actor.suspensions(), actor.deferrals()), (4, 1));
    drive(&mut actor, Resume(None));
    drive(&mut actor, Resume(None));
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Restarted(X)), pre_restart(Y, false)]);
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance, rebuild(Y)]);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Restarted(Y)), pre_restart(X, false)]);
    back(&mut actor, Returned::Ok);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Restarted(X))]);
    assert_eq!((actor.suspensions(), actor.deferrals()), (0, 0));
    assert!(actor.accepts_messages());
}
