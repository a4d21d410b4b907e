use super::*;
use crate::supervision::OnLimit;

const ALL: Strategy = Strategy::all_for_one();
const REST: Strategy = Strategy::rest_for_one();

/// The report of an instance that came after this many restarts.
fn failed_after(restarts: u32, child: u32) -> Message {
    Failed { child: id(child), cause: X, restarts, runs: 0 }
}

/// Decides about a child's first instance.
fn first_fails(actor: &mut Actor, child: u32, directive: Directive, strategy: &Strategy) -> Vec<Does> {
    assert_eq!(drive(actor, failed_after(0, child)), [Decide(id(child), X)], "each failure is decided");
    decide(actor, directive, strategy)
}

fn joined(child: u32) -> [Does; 2] {
    [decided(child, X, Outcome::AlreadyAnswered), Send(child, Resume(None))]
}

fn at_once(children: usize) -> Outcome {
    Outcome::Restarting { children, delay: None }
}

fn restarts(does: &[Does]) -> usize {
    does.iter().filter(|does| matches!(does, Send(_, Restart(_) | RestartTogether(_)))).count()
}

fn sent(does: &[Does]) -> usize {
    does.iter().filter(|does| matches!(does, Send(..))).count()
}

/// Lets a child report that its next instance is about to be made.
fn replaced(actor: &mut Actor, child: u32) {
    assert_eq!(drive(actor, Replaced(id(child))), []);
}

#[test]
fn children_that_fail_at_once_restart_together_once() {
    const CHILDREN: u32 = 50;
    for strategy in [ALL, REST] {
        let mut actor = running(CHILDREN);
        assert_eq!(restarts(&first_fails(&mut actor, A, Directive::Restart, &strategy)), CHILDREN as usize);
        for child in B..A + CHILDREN {
            assert_eq!(first_fails(&mut actor, child, Directive::Restart, &strategy), joined(child));
        }
        assert!(actor.accepts_messages());
    }
}

#[test]
fn children_that_fail_at_once_the_last_one_first_restart_once_and_are_told_once() {
    const CHILDREN: u32 = 50;
    let mut actor = running(CHILDREN);
    for child in (A..A + CHILDREN).rev() {
        let does = first_fails(&mut actor, child, Directive::Restart, &REST);
        assert_eq!(
            does,
            [decided(child, X, at_once(1)), Send(child, RestartTogether(X))],
            "those after it are to be replaced already"
        );
    }
}

/// The last one fails first, so each failure reaches all children that failed before.
#[test]
fn a_decision_that_reaches_many_children_and_tells_few_of_them_says_how_many_it_has_looked_at() {
    const CHILDREN: u32 = 200;
    let second = Duration::from_secs(1);
    let later = REST.backoff(crate::supervision::Backoff::exponential(second, second));
    for (directive, strategy) in
        [(Directive::Restart, later), (Directive::Stop, REST), (Directive::Restart, REST.max_retries(0))]
    {
        let mut actor = running(CHILDREN);
        for (earlier, child) in (A..A + CHILDREN).rev().enumerate() {
            let does = first_fails(&mut actor, child, directive, &strategy);
            let charged: usize =
                does.iter().map(|does| if let Effect::Charge(seen) = does { *seen } else { 0 }).sum();
            assert!(charged + does.len() + 32 >= earlier, "{charged} and {} effects", does.len());
            assert!(charged <= earlier + 1, "{charged} of {earlier}");
        }
    }
    let mut actor = running(CHILDREN);
    let does = first_fails(&mut actor, A, Directive::Restart, &ALL);
    assert!(!does.iter().any(|does| matches!(does, Effect::Charge(_))), "each child is told");
}

#[test]
fn a_sibling_restarts_again_once_its_instance_has_been_replaced() {
    let mut actor = running(3);
    first_fails(&mut actor, A, Directive::Restart, &ALL);
    replaced(&mut actor, A);
    assert_eq!(drive(&mut actor, failed_after(1, A)), [Decide(id(A), X)]);
    let alone = decide(&mut actor, Directive::Restart, &ALL);
    assert_eq!(alone, [decided(A, X, at_once(1)), Send(A, RestartTogether(X))]);
    for child in [A, B] {
        replaced(&mut actor, child);
    }
    drive(&mut actor, failed_after(2, A));
    assert_eq!(
        decide(&mut actor, Directive::Restart, &ALL),
        [decided(A, X, at_once(2)), Send(A, RestartTogether(X)), Send(B, Suspend), Send(B, RestartTogether(X)),]
    );
}

#[test]
fn a_sibling_that_is_to_be_replaced_is_charged_to_no_limit() {
    let strategy = REST.max_retries(1);
    let mut actor = running(3);
    for child in [C, B, A] {
        assert_eq!(restarts(&first_fails(&mut actor, child, Directive::Restart, &strategy)), 1);
    }
}

#[test]
fn a_sibling_that_is_to_be_replaced_is_stopped_with_the_others() {
    let mut actor = running(2);
    first_fails(&mut actor, A, Directive::Restart, &ALL);
    replaced(&mut actor, A);
    drive(&mut actor, failed_after(1, A));
    assert_eq!(decide(&mut actor, Directive::Stop, &ALL)[1..], [Send(B, Terminate), Send(A, Terminate)]);
}

#[test]
fn a_sibling_that_is_to_be_replaced_waits_for_a_delayed_restart_and_is_told_once() {
    let second = Duration::from_secs(1);
    let later = ALL.backoff(crate::supervision::Backoff::exponential(second, second));
    let mut actor = running(2);
    first_fails(&mut actor, A, Directive::Restart, &ALL);
    replaced(&mut actor, A);
    drive(&mut actor, failed_after(1, A));
    assert_eq!(sent(&decide(&mut actor, Directive::Restart, &later)), 1, "a Suspend");
    assert_eq!(
        step(&mut actor, Input::Due(Timer::Restart(1))),
        [Send(A, RestartTogether(X)), Send(B, Resume(None))],
        "the restart that was sent begins after the delay"
    );
}

#[test]
fn a_restart_of_the_parent_restarts_those_that_are_to_be_replaced_too() {
    let mut actor = running(1);
    first_fails(&mut actor, A, Directive::Restart, &ALL);
    back(&mut actor, Returned::Err(Y));
    drive(&mut actor, Restart(Y));
    back(&mut actor, Returned::Ok);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Restarted(Y)), Send(A, Restart(Y))]);
}

#[test]
fn a_child_that_restarts_together_says_so_before_its_next_instance_is_made() {
    let mut actor = failing(0);
    assert_eq!(drive(&mut actor, RestartTogether(X)), [pre_restart(X, true)]);
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance, Effect::TellReplaced, rebuild(X)]);
    assert_eq!(back(&mut actor, Returned::Ok), [Note(News::Restarted(X))]);
    back(&mut actor, Returned::Err(Y));
    drive(&mut actor, Restart(Y));
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance, rebuild(Y)], "nobody waits for it");
}

#[test]
fn a_restart_with_siblings_that_joins_another_is_told_of_too() {
    let mut actor = restarting(0);
    drive(&mut actor, Suspend);
    assert_eq!(drive(&mut actor, RestartTogether(Y)), []);
    assert_eq!(back(&mut actor, Returned::Ok), [DropInstance, Effect::TellReplaced, rebuild(X)]);
}

#[test]
fn a_first_start_that_is_tried_again_with_siblings_is_told_of_too() {
    let mut actor = creating();
    back(&mut actor, Returned::Err(X));
    assert_eq!(
        drive(&mut actor, RestartTogether(X)),
        [Note(News::TurnedIntoCreate), Effect::TellReplaced, Effect::Call(Call::Create)]
    );
}

#[test]
fn a_failure_of_a_new_instance_is_a_new_failure() {
    let mut actor = running(2);
    first_fails(&mut actor, A, Directive::Restart, &ALL);
    for child in [A, B] {
        replaced(&mut actor, child);
    }
    drive(&mut actor, failed_after(1, B));
    assert_eq!(restarts(&decide(&mut actor, Directive::Restart, &ALL)), 2);
}

#[test]
fn an_earlier_sibling_under_rest_for_one_fails_for_itself_and_those_after_it() {
    let mut actor = running(3);
    first_fails(&mut actor, B, Directive::Restart, &REST);
    replaced(&mut actor, B);
    assert_eq!(restarts(&first_fails(&mut actor, A, Directive::Restart, &REST)), 2, "C is to be replaced still");
    assert_eq!(first_fails(&mut actor, C, Directive::Restart, &REST), joined(C));
}

#[test]
fn what_is_answered_already_is_charged_to_no_limit() {
    let strategy = ALL.max_retries(1);
    let mut actor = running(3);
    first_fails(&mut actor, A, Directive::Restart, &strategy);
    for child in [B, C] {
        assert_eq!(first_fails(&mut actor, child, Directive::Restart, &strategy), joined(child));
    }
    assert_eq!(actor.child_info(id(B)).map(|(_, restarts)| restarts), Some(1));
    replaced(&mut actor, B);
    drive(&mut actor, failed_after(1, B));
    let stops = decide(&mut actor, Directive::Restart, &strategy);
    assert_eq!(stops[0], decided(B, X, Outcome::LimitReached { children: 3 }));
}

#[test]
fn a_resume_or_a_delayed_restart_has_nothing_more_to_do_either() {
    let second = Duration::from_secs(1);
    let later = Directive::RestartAfter(crate::supervision::Backoff::exponential(second, second));
    for directive in [Directive::Resume, later] {
        let mut actor = running(2);
        first_fails(&mut actor, A, Directive::Restart, &ALL);
        assert_eq!(
            first_fails(&mut actor, B, directive, &ALL),
            [decided(B, X, Outcome::AlreadyAnswered), Send(B, Resume(None))]
        );
    }
}

#[test]
fn a_stop_takes_effect_although_the_child_restarts() {
    let mut actor = running(2);
    first_fails(&mut actor, A, Directive::Restart, &ALL);
    assert_eq!(first_fails(&mut actor, B, Directive::Stop, &ALL)[1..], [Send(B, Terminate), Send(A, Terminate)]);
}

#[test]
fn an_escalation_takes_effect_although_the_child_restarts() {
    let mut actor = running(2);
    first_fails(&mut actor, A, Directive::Restart, &ALL);
    assert_eq!(first_fails(&mut actor, B, Directive::Escalate, &ALL)[1..], [Send(A, Suspend), reports(0, X)]);
}

#[test]
fn children_that_fail_at_once_are_stopped_once() {
    for (directive, strategy) in [
        (Directive::Stop, ALL),
        (Directive::Restart, ALL.max_retries(0)),
        (Directive::Stop, REST),
        (Directive::Restart, REST.max_retries(0)),
    ] {
        let mut actor = running(3);
        first_fails(&mut actor, A, directive, &strategy);
        for child in [B, C] {
            assert_eq!(
                first_fails(&mut actor, child, directive, &strategy),
                [decided(child, X, Outcome::AlreadyAnswered)]
            );
        }
    }
}

#[test]
fn a_limit_that_escalates_does_so_once() {
    let strategy = ALL.max_retries(0).on_limit(OnLimit::Escalate);
    let mut actor = running(3);
    assert_eq!(first_fails(&mut actor, A, Directive::Restart, &strategy).last(), Some(&reports(0, X)));
    for child in [B, C] {
        assert_eq!(drive(&mut actor, failed_after(0, child)), [Note(News::ReportDeferred(id(child)))]);
    }
}

#[test]
fn a_restart_has_begun_when_the_code_that_held_it_up_is_back() {
    let mut actor = running(0);
    assert_eq!(actor.restarts(), 0);
    step(&mut actor, Input::Parked);
    drive(&mut actor, Suspend);
    drive(&mut actor, Restart(X));
    assert_eq!(actor.restarts(), 0, "the old instance can still fail");
    back(&mut actor, Returned::Err(Y));
    assert_eq!(actor.restarts(), 1);
}

#[test]
fn a_resume_that_turns_into_a_restart_is_none_that_the_parent_sent() {
    let mut actor = rebuilding(0);
    let begun = actor.restarts();
    back(&mut actor, Returned::Err(Y));
    assert_eq!(drive(&mut actor, Resume(Some(Why::Restarting('y')))).len(), 2);
    assert_eq!(actor.restarts(), begun);
}
