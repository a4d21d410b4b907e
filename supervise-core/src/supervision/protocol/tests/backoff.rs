use super::*;
use crate::supervision::Backoff;

const SECOND: Duration = Duration::from_secs(1);
const DELAYED: Strategy = ONE_FOR_ONE.backoff(Backoff::exponential(SECOND, Duration::from_secs(8)));
const GROUP: Strategy = Strategy::all_for_one().backoff(Backoff::exponential(SECOND, Duration::from_secs(8)));
const REST: Strategy = Strategy::rest_for_one().backoff(Backoff::exponential(SECOND, Duration::from_secs(8)));

fn after(delay: Duration, children: usize) -> Outcome {
    Outcome::Restarting { children, delay: Some(delay) }
}

fn arm(number: u64, delay: Duration) -> Does {
    Effect::Arm(Timer::Restart(number), Some(delay))
}

fn due(actor: &mut Actor, number: u64) -> Vec<Does> {
    step(actor, Input::Due(Timer::Restart(number)))
}

fn fails(actor: &mut Actor, culprit: u32, strategy: &Strategy) -> Vec<Does> {
    drive(actor, failed(culprit, X));
    decide(actor, Directive::Restart, strategy)
}

#[test]
fn a_restart_waits_for_its_delay() {
    let mut actor = running(1);
    assert_eq!(fails(&mut actor, A, &DELAYED), [decided(A, X, after(SECOND, 1)), arm(1, SECOND)]);
    assert_eq!(due(&mut actor, 1), [Send(A, Restart(X))]);
    assert_eq!(due(&mut actor, 1), []);
}

#[test]
fn a_delay_may_be_cut_short_once() {
    let mut actor = running(2);
    let retry = |actor: &mut Actor, child| drive(actor, SystemMessage::RetryNow(id(child)));
    assert_eq!(retry(&mut actor, A), []);
    fails(&mut actor, A, &DELAYED);
    assert_eq!(retry(&mut actor, B), []);
    assert_eq!(retry(&mut actor, A), [Effect::Disarm(Timer::Restart(1)), Send(A, Restart(X))]);
    assert_eq!(retry(&mut actor, A), []);
    // A timer that was on its way.
    assert_eq!(due(&mut actor, 1), []);
    // The delay grows as if the child had waited.
    assert_eq!(fails(&mut actor, A, &DELAYED)[1..], [arm(2, 2 * SECOND)]);
    due(&mut actor, 2);
    fails(&mut actor, A, &GROUP);
    assert_eq!(
        retry(&mut actor, B),
        [Effect::Disarm(Timer::Restart(3)), Send(A, RestartTogether(X)), Send(B, RestartTogether(X))]
    );
}

#[test]
fn a_table_may_delay_on_its_own() {
    let mut actor = running(1);
    drive(&mut actor, failed(A, X));
    let directive = Directive::RestartAfter(Backoff::exponential(SECOND, SECOND));
    assert_eq!(decide(&mut actor, directive, &ONE_FOR_ONE)[1..], [arm(1, SECOND)]);
}

#[test]
fn the_delay_grows_until_it_is_reset() {
    let mut actor = running(1);
    fails(&mut actor, A, &DELAYED);
    due(&mut actor, 1);
    assert_eq!(fails(&mut actor, A, &DELAYED)[1..], [arm(2, 2 * SECOND)]);
    due(&mut actor, 2);
    drive(&mut actor, SystemMessage::ResetBackoff(id(A)));
    assert_eq!(fails(&mut actor, A, &DELAYED)[1..], [arm(3, SECOND)]);
}

#[test]
fn a_creation_without_limit_or_backoff_is_delayed_all_the_same() {
    let mut actor = running(1);
    drive(&mut actor, failed(A, Why::Starting('x')));
    let delay = Duration::from_millis(100);
    assert_eq!(decide(&mut actor, Directive::Restart, &ONE_FOR_ONE)[1..], [arm(1, delay)]);
}

#[test]
fn a_group_is_suspended_at_once_and_restarts_later() {
    let mut actor = running(2);
    assert_eq!(fails(&mut actor, A, &GROUP)[1..], [Send(B, Suspend), arm(1, SECOND)]);
    assert_eq!(due(&mut actor, 1), [Send(A, RestartTogether(X)), Send(B, RestartTogether(X))]);
}

#[test]
fn a_failure_before_a_wait_joins_it() {
    let mut actor = running(2);
    fails(&mut actor, A, &GROUP);
    // The second had failed too before it was suspended: two suspensions, its own and that of the delayed restart.
    assert_eq!(fails(&mut actor, B, &GROUP), [decided(B, X, Outcome::AlreadyAnswered)], "it is not delayed again");
    assert_eq!(
        due(&mut actor, 1),
        [Send(A, RestartTogether(X)), Send(B, RestartTogether(X)), Send(B, Resume(None))]
    );
}

#[test]
fn another_delayed_restart_takes_over_and_undoes_each_suspension_once() {
    let mut actor = running(3);
    fails(&mut actor, B, &REST);
    fails(&mut actor, C, &REST);
    assert_eq!(fails(&mut actor, A, &REST)[1..], [arm(2, SECOND)]);
    assert_eq!(due(&mut actor, 1), []);
    assert_eq!(
        due(&mut actor, 2),
        [
            Send(A, RestartTogether(X)),
            Send(B, RestartTogether(X)),
            Send(C, RestartTogether(X)),
            Send(C, Resume(None))
        ]
    );
}

#[test]
fn a_restart_without_delay_takes_over_a_delayed_one() {
    let mut actor = running(2);
    fails(&mut actor, B, &REST);
    let at_once = Strategy::rest_for_one();
    assert_eq!(fails(&mut actor, A, &at_once)[1..], [Send(A, RestartTogether(X)), Send(B, RestartTogether(X))]);
    assert_eq!(due(&mut actor, 1), []);
}

#[test]
fn a_child_that_is_stopped_meanwhile_is_not_restarted() {
    let mut actor = running(1);
    fails(&mut actor, A, &DELAYED);
    assert_eq!(command(&mut actor, |actor, effects| actor.stop_child(id(A), effects)), [Send(A, Terminate)]);
    assert_eq!(due(&mut actor, 1), []);
}

#[test]
fn a_restart_of_the_parent_restarts_a_waiting_survivor_once() {
    let mut actor = running(1);
    fails(&mut actor, A, &DELAYED);
    back(&mut actor, Returned::Err(Y));
    drive(&mut actor, Restart(Y));
    back(&mut actor, Returned::Ok);
    assert_eq!(
        back(&mut actor, Returned::Ok),
        [Note(News::Restarted(Y)), Send(A, Restart(Y)), Send(A, Resume(None))]
    );
    assert_eq!(due(&mut actor, 1), []);
}

#[test]
fn a_delayed_restart_that_is_due_while_the_parent_restarts_leaves_the_survivor_to_that_restart() {
    let mut actor = running(1);
    fails(&mut actor, A, &DELAYED);
    back(&mut actor, Returned::Err(Y));
    drive(&mut actor, Restart(Y));
    assert_eq!(due(&mut actor, 1), []);
    back(&mut actor, Returned::Ok);
    assert_eq!(
        back(&mut actor, Returned::Ok),
        [Note(News::Restarted(Y)), Send(A, Restart(Y)), Send(A, Resume(None))]
    );
}

#[test]
fn a_delayed_restart_that_is_due_while_the_last_restart_of_the_parent_has_failed_leaves_the_survivor_to_the_next()
{
    let mut actor = restarting(1);
    back(&mut actor, Returned::Ok);
    fails(&mut actor, A, &DELAYED);
    back(&mut actor, Returned::Err(Y));
    assert_eq!(due(&mut actor, 1), []);
    assert_eq!(drive(&mut actor, Restart(X)), [rebuild(X)]);
    assert_eq!(
        back(&mut actor, Returned::Ok),
        [Note(News::Restarted(X)), Send(A, Restart(X)), Send(A, Resume(None))]
    );
}

#[test]
fn the_restart_of_the_parent_also_answers_a_survivor_that_failed_before_its_delay_was_over() {
    let mut actor = running(2);
    fails(&mut actor, A, &GROUP);
    back(&mut actor, Returned::Err(Y));
    drive(&mut actor, Restart(Y));
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance, rebuild(Y)]);
    step(&mut actor, Input::Parked);
    assert_eq!(due(&mut actor, 1), []);
    assert_eq!(
        fails(&mut actor, B, &GROUP),
        [decided(B, X, Outcome::AlreadyAnswered)],
        "there is no second delayed restart"
    );
    assert_eq!(
        back(&mut actor, Returned::Ok),
        [
            Note(News::Restarted(Y)),
            Send(A, Restart(Y)),
            Send(A, Resume(None)),
            Send(B, Restart(Y)),
            Send(B, Resume(None)),
            Send(B, Resume(None)),
        ]
    );
}

#[test]
fn a_survivor_of_a_restart_that_is_over_is_restarted_when_its_delay_is() {
    let mut actor = rebuilding(1);
    back(&mut actor, Returned::Ok);
    fails(&mut actor, A, &DELAYED);
    assert_eq!(due(&mut actor, 1), [Send(A, Restart(X))]);
}

/// A parent that restarts again and again takes its child out of a delayed restart each time.
#[test]
fn delayed_restarts_that_nobody_waits_for_are_forgotten() {
    let mut actor = running(2);
    let (mut open, mut most) = (0_usize, 0);
    let mut count = |effects: &[Does]| {
        for effect in effects {
            match effect {
                Effect::Arm(Timer::Restart(_), _) => open += 1,
                Effect::Disarm(Timer::Restart(_)) => open -= 1,
                _ => {}
            }
            most = most.max(open);
        }
    };
    for _ in 0..10_000 {
        count(&fails(&mut actor, A, &GROUP));
        back(&mut actor, Returned::Err(Y));
        drive(&mut actor, Restart(Y));
        back(&mut actor, Returned::Ok);
        back(&mut actor, Returned::Ok);
    }
    assert!(most < 20, "{most} delayed restarts at a time, and two children");
    // The last one is as good as the first.
    let last = fails(&mut actor, B, &GROUP);
    let Some(Effect::Arm(Timer::Restart(number), _)) = last.last() else { panic!("{last:?}") };
    assert_eq!(due(&mut actor, *number), [Send(A, RestartTogether(X)), Send(B, RestartTogether(X))]);
}

#[test]
fn a_delayed_resume_does_not_answer_another_failure() {
    let mut actor = running(1);
    drive(&mut actor, failed(A, Why::Starting('x')));
    assert_eq!(decide(&mut actor, Directive::Resume, &ONE_FOR_ONE)[1..], [arm(1, Duration::from_millis(100))]);
    drive(&mut actor, failed(A, Y));
    assert_eq!(
        decide(&mut actor, Directive::Restart, &ONE_FOR_ONE)[1..],
        [Send(A, Restart(Y)), Send(A, Resume(None))]
    );
}
