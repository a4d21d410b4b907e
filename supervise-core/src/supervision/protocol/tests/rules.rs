//! Rules with a limit of their own. Rule 7.11.

use super::*;
use crate::supervision::{Backoff, Count, OnLimit, Terms};

const TWICE: Directive = Directive::RestartOn(Terms::of_rule(0).max_retries(2));
const ONCE: Directive = Directive::RestartOn(Terms::of_rule(1).max_retries(1));

/// Each failure and its answer. Returns the outcomes.
fn outcomes(actor: &mut Actor, strategy: &Strategy, failures: &[(u32, Directive)]) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for (culprit, directive) in failures {
        drive(actor, failed(*culprit, X));
        let does = decide(actor, *directive, strategy);
        outcomes.extend(does.iter().find_map(|effect| match effect {
            Note(News::Decided { outcome, .. }) => Some(*outcome),
            _ => None,
        }));
    }
    outcomes
}

const GRANTED: Outcome = Outcome::Restarting { children: 1, delay: None };
const REFUSED: Outcome = Outcome::LimitReached { children: 1 };

#[test]
fn each_rule_has_a_count_of_its_own() {
    let failures = [(A, TWICE), (A, ONCE), (A, TWICE), (B, ONCE), (A, TWICE)];
    assert_eq!(outcomes(&mut running(2), &ONE_FOR_ONE, &failures), [GRANTED, GRANTED, GRANTED, GRANTED, REFUSED]);
}

#[test]
fn the_tighter_of_the_two_limits_decides() {
    let strategy = ONE_FOR_ONE.max_retries(1);
    assert_eq!(outcomes(&mut running(1), &strategy, &[(A, TWICE), (A, TWICE)]), [GRANTED, REFUSED]);
    let strategy = ONE_FOR_ONE.max_retries(9);
    assert_eq!(outcomes(&mut running(1), &strategy, &[(A, ONCE), (A, ONCE)]), [GRANTED, REFUSED]);
}

#[test]
fn a_restart_by_a_rule_is_charged_to_the_strategy_too() {
    let strategy = ONE_FOR_ONE.max_retries(2);
    let failures = [(A, TWICE), (A, Directive::Restart), (A, Directive::Restart)];
    assert_eq!(outcomes(&mut running(1), &strategy, &failures), [GRANTED, GRANTED, REFUSED]);
}

#[test]
fn a_refusal_by_the_rule_is_not_charged_to_the_strategy() {
    let strategy = ONE_FOR_ONE.max_retries(2).count(Count::Supervisor);
    let failures = [(A, ONCE), (B, ONCE), (C, Directive::Restart)];
    assert_eq!(outcomes(&mut running(3), &strategy, &failures), [GRANTED, REFUSED, GRANTED]);
}

#[test]
fn the_count_of_a_rule_is_the_childs_or_the_supervisors_as_the_strategys_is() {
    let failures = [(A, ONCE), (B, ONCE)];
    assert_eq!(outcomes(&mut running(2), &ONE_FOR_ONE, &failures), [GRANTED, GRANTED]);
    let together = ONE_FOR_ONE.count(Count::Supervisor);
    assert_eq!(outcomes(&mut running(2), &together, &failures), [GRANTED, REFUSED]);
}

/// The rule is about the failure, and only one child failed.
#[test]
fn under_a_group_strategy_the_rule_charges_the_failed_child_alone() {
    let mut actor = running(2);
    let all = Strategy::all_for_one();
    let both = |delay| Outcome::Restarting { children: 2, delay };
    assert_eq!(outcomes(&mut actor, &all, &[(A, ONCE), (B, ONCE)]), [both(None), both(None)]);
    assert_eq!(outcomes(&mut actor, &all, &[(A, ONCE)]), [Outcome::LimitReached { children: 2 }]);
}

#[test]
fn a_refusal_by_the_rule_escalates_as_one_by_the_strategy_does() {
    let strategy = ONE_FOR_ONE.on_limit(OnLimit::Escalate);
    let never = Directive::RestartOn(Terms::of_rule(0).max_retries(0));
    assert_eq!(outcomes(&mut running(1), &strategy, &[(A, never)]), [Outcome::LimitEscalated]);
}

#[test]
fn the_backoff_of_the_terms_comes_before_the_strategys() {
    let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
    let strategy = ONE_FOR_ONE.backoff(Backoff::exponential(minute, minute));
    let terms = Terms::of_rule(0).max_retries(5);
    let own = Directive::RestartOn(terms.backoff(Backoff::exponential(second, minute)));
    let delayed = |delay| Outcome::Restarting { children: 1, delay: Some(delay) };
    assert_eq!(outcomes(&mut running(1), &strategy, &[(A, own)]), [delayed(second)]);
    assert_eq!(outcomes(&mut running(1), &strategy, &[(A, Directive::RestartOn(terms))]), [delayed(minute)]);
}

/// A limit ends a streak of failed starts, so it needs no delay.
#[test]
fn a_creation_under_a_rule_with_a_limit_is_not_delayed() {
    let mut actor = running(1);
    drive(&mut actor, failed(A, Why::Starting('x')));
    let does = decide(&mut actor, TWICE, &ONE_FOR_ONE);
    assert_eq!(does, [decided(A, Why::Starting('x'), GRANTED), Send(A, Restart(Why::Starting('x')))]);
}

/// What the log shows: the limit that refused.
#[test]
fn the_limit_that_refused_is_known() {
    let of_strategy = ONE_FOR_ONE.max_retries(1);
    let standing = |actor: &Actor, directive, refused| {
        let standing = actor.standing_of_rule(id(A), &of_strategy, &directive, refused, Duration::ZERO);
        standing.map(|standing| (standing.used, standing.of))
    };
    let mut actor = running(1);
    outcomes(&mut actor, &of_strategy, &[(A, TWICE)]);
    assert_eq!(standing(&actor, TWICE, false), Some((1, 2)));
    outcomes(&mut actor, &of_strategy, &[(A, TWICE)]);
    assert_eq!(standing(&actor, TWICE, true), None, "the rule granted it");
    assert_eq!(standing(&actor, Directive::Restart, true), None);
    let mut actor = running(1);
    outcomes(&mut actor, &ONE_FOR_ONE, &[(A, ONCE), (A, ONCE)]);
    assert_eq!(standing(&actor, ONCE, true), Some((1, 1)));
}
