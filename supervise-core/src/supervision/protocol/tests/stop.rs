use super::*;

#[test]
fn a_childless_actor_announces_its_stop_and_runs_post_stop() {
    let mut actor = running(0);
    assert_eq!(drive(&mut actor, Terminate), [Effect::AnnounceStop, post_stop()]);
    assert_eq!(back(&mut actor, Returned::Ok), the_end(HowEnded::Graceful));
    assert!(actor.has_ended());
}

#[test]
fn children_stop_the_last_one_first_and_end_before_post_stop() {
    let mut actor = running(2);
    assert_eq!(drive(&mut actor, Terminate), [Effect::AnnounceStop, Send(B, Terminate), Send(A, Terminate)]);
    assert!(!actor.accepts_messages());
    assert_eq!(drive(&mut actor, ended(A)), []);
    assert_eq!(drive(&mut actor, ended(B)), [post_stop()]);
}

#[test]
fn a_child_that_is_dying_is_awaited_but_not_stopped_again() {
    let mut actor = running(1);
    command(&mut actor, |actor, effects| actor.stop_child(id(A), effects));
    assert_eq!(drive(&mut actor, Terminate), [Effect::AnnounceStop]);
    assert_eq!(drive(&mut actor, ended(A)), [post_stop()]);
}

#[test]
fn a_second_stop_is_none() {
    let mut actor = running(1);
    drive(&mut actor, Terminate);
    assert_eq!(drive(&mut actor, Terminate), []);
    drive(&mut actor, ended(A));
    assert_eq!(drive(&mut actor, Terminate), []);
}

#[test]
fn a_failing_post_stop_ends_all_the_same() {
    let mut actor = running(0);
    drive(&mut actor, Terminate);
    let end = back(&mut actor, Returned::Err(X));
    assert_eq!(end[0], Note(News::HookFailed(Hook::PostStop, X)));
    assert_eq!(end[1..], the_end(HowEnded::Graceful));
}

#[test]
fn an_ending_actor_decides_nothing_and_counts_on() {
    let mut actor = running(1);
    drive(&mut actor, Terminate);
    assert_eq!(drive(&mut actor, failed(A, X)), [Note(News::ReportDropped(id(A), X))]);
    assert_eq!(drive(&mut actor, Suspend), [Send(A, Suspend)]);
    assert_eq!(drive(&mut actor, Restart(Y)), [Send(A, Resume(None))]);
    assert_eq!(actor.suspensions(), 0);
}

#[test]
fn a_stop_while_a_restart_waits_for_children_makes_no_new_instance() {
    let mut actor = restarting(1);
    command(&mut actor, Protocol::stop_children);
    back(&mut actor, Returned::Ok);
    assert_eq!(drive(&mut actor, Terminate), [Effect::AnnounceStop]);
    // The old instance had its `pre_restart`, so it gets no `post_stop`.
    assert_eq!(drive(&mut actor, ended(A)), the_end(HowEnded::Graceful));
}

#[test]
fn a_stop_after_a_failed_restart_runs_no_hook() {
    assert_eq!(drive(&mut half_built(0), Terminate)[1..], the_end(HowEnded::Graceful));
}

#[test]
fn a_suspended_actor_stops_at_once() {
    assert_eq!(drive(&mut failing(0), Terminate), [Effect::AnnounceStop, post_stop()]);
}

#[test]
fn deferred_reports_are_dropped_by_a_stop() {
    let mut actor = failing(1);
    drive(&mut actor, failed(A, Y));
    assert_eq!(
        drive(&mut actor, Terminate),
        [Effect::AnnounceStop, Note(News::ReportDropped(id(A), Y)), Send(A, Terminate)]
    );
    assert_eq!(actor.deferrals(), 0);
}

#[test]
fn nothing_happens_after_the_end() {
    let mut actor = running(0);
    drive(&mut actor, Terminate);
    back(&mut actor, Returned::Ok);
    for message in [Terminate, Suspend, Resume(None), Restart(X), Watch(9), failed(A, X), ended(A)] {
        assert_eq!(drive(&mut actor, message), []);
    }
    assert_eq!(step(&mut actor, Input::Due(Timer::Abort)), []);
}
