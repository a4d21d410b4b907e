use super::*;

#[test]
fn a_resumed_actor_goes_on_with_its_children() {
    let mut actor = failing(2);
    assert_eq!(
        drive(&mut actor, Resume(Some(X))),
        [Note(News::Resumed), Send(A, Resume(None)), Send(B, Resume(None))]
    );
    assert!(actor.accepts_messages());
    assert!(!actor.has_failed());
}

#[test]
fn a_resume_from_an_ancestor_leaves_the_failure_unanswered() {
    let mut actor = failing(0);
    drive(&mut actor, Suspend);
    assert_eq!(drive(&mut actor, Resume(None)), []);
    assert!(actor.has_failed());
    assert_eq!(actor.suspensions(), 1);
}

#[test]
fn a_resume_after_a_failed_restart_is_a_restart() {
    let mut actor = half_built(0);
    assert_eq!(drive(&mut actor, Resume(Some(Y))), [Note(News::TurnedIntoRestart), rebuild(Y)]);
}

#[test]
fn two_reports_take_two_answers() {
    let mut actor = failing(1);
    assert_eq!(back(&mut actor, Returned::Err(Y)), [Send(A, Suspend), reports(0, Y)]);
    assert_eq!(drive(&mut actor, Resume(Some(X))), [Note(News::Resumed), Send(A, Resume(None))]);
    assert!(!actor.accepts_messages());
    assert_eq!(drive(&mut actor, Resume(Some(Y))), [Send(A, Resume(None))]);
    assert!(actor.accepts_messages());
}

#[test]
fn a_child_that_could_not_start_is_resumed_after_a_while_so_that_it_cannot_spin() {
    let mut actor = running(1);
    drive(&mut actor, failed(A, Why::Starting('x')));
    let strategy = ONE_FOR_ONE.max_retries(1);
    let delay = Duration::from_millis(100);
    assert_eq!(
        decide(&mut actor, Directive::Resume, &strategy)[1..],
        [Effect::Arm(Timer::Restart(1), Some(delay))]
    );
    // Still a resume: a child that escalated the failure of its own child keeps its instance.
    assert_eq!(step(&mut actor, Input::Due(Timer::Restart(1))), [Send(A, Resume(Some(Why::Starting('x'))))]);
}
