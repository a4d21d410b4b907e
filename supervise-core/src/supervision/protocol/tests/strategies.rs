use super::*;
use crate::supervision::{Count, OnLimit};

/// Lets each culprit fail, and decides to restart it. Returns the effects of the last decision.
fn restarts(actor: &mut Actor, strategy: &Strategy, culprits: &[u32]) -> Vec<Does> {
    let mut last = Vec::new();
    for culprit in culprits {
        drive(actor, failed(*culprit, X));
        last = decide(actor, Directive::Restart, strategy);
    }
    last
}

fn at_once(children: usize) -> Outcome {
    Outcome::Restarting { children, delay: None }
}

#[test]
fn one_for_one_reaches_the_culprit() {
    assert_eq!(restarts(&mut running(3), &ONE_FOR_ONE, &[B]), [decided(B, X, at_once(1)), Send(B, Restart(X))]);
}

#[test]
fn all_for_one_suspends_the_others_first() {
    assert_eq!(
        restarts(&mut running(3), &Strategy::all_for_one(), &[B]),
        [
            decided(B, X, at_once(3)),
            Send(A, Suspend),
            Send(A, RestartTogether(X)),
            Send(B, RestartTogether(X)),
            Send(C, Suspend),
            Send(C, RestartTogether(X)),
        ]
    );
}

#[test]
fn rest_for_one_reaches_those_started_later() {
    assert_eq!(
        restarts(&mut running(3), &Strategy::rest_for_one(), &[B]),
        [decided(B, X, at_once(2)), Send(B, RestartTogether(X)), Send(C, Suspend), Send(C, RestartTogether(X)),]
    );
}

#[test]
fn a_group_is_stopped_the_last_one_first() {
    let mut actor = running(3);
    drive(&mut actor, failed(B, X));
    assert_eq!(
        decide(&mut actor, Directive::Stop, &Strategy::rest_for_one()),
        [decided(B, X, Outcome::Stopped { children: 2 }), Send(C, Terminate), Send(B, Terminate)]
    );
}

#[test]
fn resume_reaches_the_culprit_alone_whatever_the_strategy() {
    let mut actor = running(3);
    drive(&mut actor, failed(B, X));
    assert_eq!(decide(&mut actor, Directive::Resume, &Strategy::all_for_one())[1..], [Send(B, Resume(Some(X)))]);
}

#[test]
fn past_the_limit_the_child_stops() {
    let limited = ONE_FOR_ONE.max_retries(1);
    let reached = decided(A, X, Outcome::LimitReached { children: 1 });
    assert_eq!(restarts(&mut running(2), &limited, &[A, B, A]), [reached, Send(A, Terminate)]);
}

#[test]
fn past_the_limit_the_actor_fails_if_it_is_to_escalate() {
    let limited = ONE_FOR_ONE.max_retries(0).on_limit(OnLimit::Escalate);
    let escalated = decided(A, X, Outcome::LimitEscalated);
    assert_eq!(restarts(&mut running(2), &limited, &[A]), [escalated, Send(B, Suspend), reports(0, X)]);
}

#[test]
fn a_count_for_the_supervisor_counts_every_childs_failure() {
    let limited = ONE_FOR_ONE.max_retries(1).count(Count::Supervisor);
    assert_eq!(restarts(&mut running(2), &limited, &[A, B])[1..], [Send(B, Terminate)]);
}

#[test]
fn all_for_one_asks_every_childs_count() {
    let limited = Strategy::all_for_one().max_retries(3);
    let last = restarts(&mut running(3), &limited, &[A, A, B, C]);
    assert_eq!(last[1..], [Send(C, Terminate), Send(B, Terminate), Send(A, Terminate)]);
}

#[test]
fn a_newcomer_shares_the_refusal_of_its_siblings() {
    let mut actor = running(2);
    let limited = Strategy::all_for_one().max_retries(1);
    restarts(&mut actor, &limited, &[A]);
    spawn(&mut actor);
    assert_eq!(
        restarts(&mut actor, &limited, &[B])[1..],
        [Send(C, Terminate), Send(B, Terminate), Send(A, Terminate)]
    );
}

#[test]
fn counts_outlive_the_restart_of_the_supervisor() {
    let mut actor = running(1);
    let limited = ONE_FOR_ONE.max_retries(1);
    restarts(&mut actor, &limited, &[A]);
    back(&mut actor, Returned::Err(Y));
    drive(&mut actor, Restart(Y));
    back(&mut actor, Returned::Ok);
    back(&mut actor, Returned::Ok);
    assert_eq!(restarts(&mut actor, &limited, &[A])[1..], [Send(A, Terminate)]);
}
