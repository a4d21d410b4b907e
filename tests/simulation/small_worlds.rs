//! The worlds that are explored exhaustively.

use std::rc::Rc;
use std::time::Duration;

use supervise_core::ActorName;
use supervise_core::supervision::{
    AutoShutdown, Backoff, ChildSpec, Count, OnLimit, RestartType, Strategy, Terms,
};

use crate::explore::{Injections, explore};
use crate::profile::{Budget, Conduct, Deed, Menu, Profile, Role, Verdict};
use crate::setting;
use crate::world::{Action, World};

fn any<T: Copy>(options: &[T]) -> Menu<T> {
    options.iter().map(|option| (*option, 1)).collect()
}

/// A cell with `children`, by role.
fn role(strategy: Strategy, children: &[usize], verdicts: &[Verdict]) -> Role {
    let children = children.iter().copied().enumerate().collect();
    Role { children, fields: Vec::new(), strategy, verdicts: any(verdicts), has_last_hook: true }
}

/// A cell with declared children, by role.
fn declaring(strategy: Strategy, fields: &[(ChildSpec, usize)], verdicts: &[Verdict]) -> Role {
    Role { fields: fields.to_vec(), ..role(strategy, &[], verdicts) }
}

fn leaf() -> Role {
    role(Strategy::one_for_one(), &[], &[Verdict::Stop])
}

fn bare_leaf() -> Role {
    Role { has_last_hook: false, ..leaf() }
}

fn profile(roles: Vec<Role>) -> Profile {
    Profile {
        roles,
        names: ["a", "b", "c", "d"].map(ActorName::from).to_vec(),
        conduct: any(&[Conduct::Succeed, Conduct::FailEarly]),
        handler_deeds: any(&[Deed::Nothing]),
        pre_restart_deeds: any(&[Deed::StopAllChildren]),
        death_pacts: false,
        backoff: Backoff::exponential(Duration::from_secs(1), Duration::from_secs(8)),
    }
}

fn run(name: &str, profile: Profile, stimuli: u32, messages: u32, injections: &[Action]) {
    let more = u32::try_from(setting("SIMULATION_DEPTH", 0)).expect("a depth is small");
    let budget = Budget { messages, stimuli: stimuli + more };
    let seen = explore(name, &World::new(Rc::new(profile), budget), &Injections(injections.to_vec()));
    assert!(seen.rests > 0, "{name} never comes to rest");
}

#[test]
fn three_generations_with_every_verdict() {
    use Verdict::{Escalate, Fail, Restart, RestartLater, Resume, Stop};
    let all = [Restart, Resume, RestartLater, Stop, Escalate, Fail];
    let profile = Profile {
        conduct: any(&[Conduct::Succeed, Conduct::FailEarly, Conduct::FailLate, Conduct::Park]),
        pre_restart_deeds: any(&[Deed::StopAllChildren, Deed::Nothing]),
        ..profile(vec![
            role(Strategy::one_for_one(), &[1], &[Restart, Resume]),
            role(Strategy::one_for_one(), &[2], &all),
            leaf(),
        ])
    };
    let injections =
        [Action::Tell(1), Action::Tell(2), Action::Stop(1), Action::Stop(2), Action::Kill(1), Action::Kill(2)];
    run("three generations", profile, 3, 2, &injections);
}

#[test]
fn siblings_that_restart_together() {
    use Verdict::{Restart, RestartLater, Resume};
    for strategy in [Strategy::all_for_one(), Strategy::rest_for_one()] {
        let profile = Profile {
            conduct: any(&[Conduct::Succeed, Conduct::FailEarly, Conduct::Park]),
            ..profile(vec![role(strategy, &[1, 2], &[Restart, RestartLater, Resume]), leaf(), bare_leaf()])
        };
        let injections = [Action::Tell(1), Action::Tell(2), Action::Stop(1)];
        run(&format!("siblings, {:?}", strategy.scope), profile, 3, 2, &injections);
    }
}

/// Rule 7.13.
#[test]
fn children_that_fail_for_too_long() {
    use Verdict::{RestartLater, Resume};
    let second = Duration::from_secs(1);
    for (strategy, on_limit) in
        [(Strategy::one_for_one(), OnLimit::Stop), (Strategy::all_for_one(), OnLimit::Escalate)]
    {
        let profile = Profile {
            conduct: any(&[Conduct::Succeed, Conduct::FailEarly]),
            backoff: Backoff::exponential(second, second).give_up_after(2 * second),
            ..profile(vec![
                role(Strategy::one_for_one(), &[1], &[RestartLater, Resume]),
                role(strategy.on_limit(on_limit), &[2, 2], &[RestartLater]),
                leaf(),
            ])
        };
        run(
            &format!("given up, {on_limit:?}"),
            profile,
            4,
            2,
            &[Action::Tell(2), Action::Kill(2), Action::Kill(3)],
        );
    }
}

/// Rule 23.5.
#[test]
fn delays_that_are_cut_short() {
    use Verdict::{RestartLater, Resume, Stop};
    for strategy in [Strategy::one_for_one(), Strategy::all_for_one()] {
        let profile = Profile {
            conduct: any(&[Conduct::Succeed, Conduct::FailEarly, Conduct::Park]),
            pre_restart_deeds: any(&[Deed::Nothing]),
            ..profile(vec![
                role(Strategy::one_for_one(), &[1], &[RestartLater, Resume]),
                role(strategy, &[2, 2], &[RestartLater, Stop]),
                leaf(),
            ])
        };
        let injections = [Action::Kill(1), Action::Kill(2), Action::Retry(1), Action::Retry(2), Action::Retry(3)];
        run(&format!("retried now, {:?}", strategy.scope), profile, 3, 0, &injections);
    }
}

/// Rule 7.8.
#[test]
fn delays_that_are_over_while_the_parent_restarts() {
    use Verdict::{Restart, RestartLater};
    let profile = Profile {
        conduct: any(&[Conduct::Succeed, Conduct::FailEarly, Conduct::Park]),
        pre_restart_deeds: any(&[Deed::Nothing]),
        ..profile(vec![
            role(Strategy::one_for_one(), &[1], &[Restart]),
            role(Strategy::all_for_one(), &[2, 2], &[RestartLater]),
            leaf(),
        ])
    };
    run("delays over in a restart", profile, 4, 0, &[Action::Kill(1), Action::Kill(2)]);
}

/// Rule 23.5.
#[test]
fn delays_of_declared_children_that_are_cut_short() {
    let child = |name| ChildSpec::new(name).restart(RestartType::Permanent);
    let profile = profile(vec![
        role(Strategy::one_for_one(), &[1], &[Verdict::RestartLater]),
        declaring(Strategy::rest_for_one(), &[(child("a"), 2), (child("b"), 2)], &[Verdict::RestartLater]),
        leaf(),
    ]);
    let injections =
        [Action::Kill(1), Action::Leave(2), Action::Kill(3), Action::Retry(1), Action::Retry(2), Action::Retry(3)];
    run("declared, retried now", profile, 4, 0, &injections);
}

/// Rule 23.8, CON-23.
#[test]
fn con_23_restarts_by_hand() {
    use Verdict::{Restart, RestartLater};
    for strategy in [Strategy::one_for_one(), Strategy::all_for_one()] {
        let profile = Profile {
            conduct: any(&[Conduct::Succeed, Conduct::FailEarly, Conduct::Park]),
            pre_restart_deeds: any(&[Deed::Nothing]),
            ..profile(vec![
                role(Strategy::one_for_one(), &[1], &[Restart]),
                role(strategy, &[2, 2], &[Restart, RestartLater]),
                leaf(),
            ])
        };
        let injections =
            [Action::Kill(1), Action::Kill(2), Action::Restart(1), Action::Restart(2), Action::Stop(2)];
        run(&format!("by hand, {:?}", strategy.scope), profile, 3, 0, &injections);
    }
}

/// Rule 23.8, CON-23.
#[test]
fn con_23_restarts_of_declared_children_by_hand() {
    let child = |name| ChildSpec::new(name).restart(RestartType::Permanent);
    let temporary = ChildSpec::new("c").restart(RestartType::Temporary);
    for strategy in [Strategy::one_for_one(), Strategy::rest_for_one()] {
        let profile = profile(vec![
            role(Strategy::one_for_one(), &[1], &[Verdict::Restart]),
            declaring(
                strategy,
                &[(child("a"), 2), (child("b"), 2), (temporary, 2)],
                &[Verdict::Restart, Verdict::RestartLater],
            ),
            leaf(),
        ]);
        let injections = [
            Action::Kill(1),
            Action::Leave(2),
            Action::Kill(3),
            Action::Restart(2),
            Action::Restart(3),
            Action::Restart(4),
        ];
        run(&format!("declared, by hand, {:?}", strategy.scope), profile, 3, 0, &injections);
    }
}

/// Rule 2.5.
#[test]
fn siblings_that_fail_at_once_and_are_escalated() {
    use Verdict::{Escalate, Restart, Resume};
    let profile = Profile {
        conduct: any(&[Conduct::Succeed]),
        pre_restart_deeds: any(&[Deed::Nothing]),
        ..profile(vec![
            role(Strategy::one_for_one(), &[1], &[Resume]),
            role(Strategy::rest_for_one(), &[2, 2, 2], &[Escalate, Restart]),
            leaf(),
        ])
    };
    let injections = [Action::Kill(2), Action::Kill(3), Action::Kill(4)];
    run("escalated at once", profile, 3, 0, &injections);
}

#[test]
fn siblings_whose_parent_restarts() {
    use Verdict::{Escalate, Restart};
    for strategy in [Strategy::all_for_one(), Strategy::rest_for_one()] {
        let profile = Profile {
            conduct: any(&[Conduct::Succeed, Conduct::FailLate, Conduct::Park]),
            pre_restart_deeds: any(&[Deed::Nothing, Deed::StopOneChild]),
            ..profile(vec![
                role(Strategy::one_for_one(), &[1], &[Restart]),
                role(strategy, &[2, 3], &[Restart, Escalate]),
                leaf(),
                leaf(),
            ])
        };
        let injections = [Action::Kill(1), Action::Kill(2), Action::Tell(3)];
        run(&format!("a family, {:?}", strategy.scope), profile, 3, 1, &injections);
    }
}

#[test]
fn five_cells_and_a_limit_that_escalates() {
    use Verdict::Restart;
    let strategy = Strategy::all_for_one().max_retries(1).on_limit(OnLimit::Escalate);
    let profile = Profile {
        pre_restart_deeds: any(&[Deed::StopAllChildren, Deed::StopOneChild]),
        ..profile(vec![
            role(Strategy::one_for_one(), &[1], &[Restart, Verdict::Resume]),
            role(strategy, &[2, 3, 4], &[Restart]),
            leaf(),
            leaf(),
            leaf(),
        ])
    };
    run("five cells, a limit", profile, 2, 2, &[Action::Tell(2), Action::Kill(3), Action::Stop(1)]);
}

#[test]
fn rules_with_limits_of_their_own() {
    use Verdict::{Restart, RestartOn};
    let (first, second) = (Terms::of_rule(0).max_retries(1), Terms::of_rule(1).max_retries(2));
    for strategy in [
        Strategy::one_for_one().max_retries(2),
        Strategy::rest_for_one().on_limit(OnLimit::Escalate).count(Count::Supervisor),
    ] {
        let profile = profile(vec![
            role(Strategy::one_for_one(), &[1], &[Restart, Verdict::Resume]),
            role(strategy, &[2, 2], &[Restart, RestartOn(first), RestartOn(second)]),
            leaf(),
        ]);
        let injections = [Action::Tell(2), Action::Kill(3), Action::Stop(1)];
        run(&format!("limits of rules, {:?}", strategy.scope), profile, 3, 2, &injections);
    }
}

#[test]
fn code_that_hangs_and_is_aborted() {
    use Verdict::{Restart, Stop};
    let profile = Profile {
        conduct: any(&[Conduct::Succeed, Conduct::FailLate, Conduct::Hang]),
        pre_restart_deeds: any(&[Deed::StopAllChildren, Deed::Nothing]),
        ..profile(vec![role(Strategy::all_for_one(), &[1, 2], &[Restart, Stop]), leaf(), leaf()])
    };
    let injections = [Action::Tell(1), Action::Tell(2), Action::Stop(1), Action::Stop(0)];
    run("hanging", profile, 3, 2, &injections);
}

#[test]
fn delayed_rounds_against_everything() {
    use Verdict::{Restart, RestartLater, Resume, Stop};
    let profile = Profile {
        conduct: any(&[Conduct::Succeed, Conduct::FailLate, Conduct::Park]),
        pre_restart_deeds: any(&[Deed::Nothing, Deed::StopOneChild]),
        ..profile(vec![
            role(Strategy::one_for_one(), &[1], &[Restart, Resume]),
            role(Strategy::all_for_one(), &[2, 3], &[RestartLater, Stop]),
            leaf(),
            leaf(),
        ])
    };
    let injections = [Action::Tell(2), Action::Kill(1), Action::Kill(3), Action::Stop(2)];
    run("delayed restarts", profile, 3, 1, &injections);
}

#[test]
fn watching_each_other() {
    use Verdict::{Restart, Stop};
    let profile = Profile {
        handler_deeds: any(&[Deed::Nothing, Deed::WatchAnother, Deed::UnwatchAnother, Deed::StopItself]),
        ..profile(vec![role(Strategy::one_for_one(), &[1, 2], &[Restart, Stop]), leaf(), leaf()])
    };
    run("watching", profile, 1, 2, &[Action::Tell(0), Action::Tell(1), Action::Stop(1), Action::Stop(2)]);
}

#[test]
fn spawning_and_stopping_under_a_name() {
    use Verdict::{Restart, Stop};
    let profile = Profile {
        handler_deeds: any(&[Deed::Nothing, Deed::SpawnAnother, Deed::StopOneChild]),
        // No cell spawns here: its child would also restart and spawn a child, and so on for ever.
        pre_restart_deeds: any(&[Deed::StopAllChildren, Deed::Nothing]),
        ..profile(vec![
            role(Strategy::one_for_one(), &[1], &[Restart, Stop]),
            role(Strategy::one_for_one(), &[2], &[Restart]),
            leaf(),
        ])
    };
    run("spawning", profile, 2, 2, &[Action::Tell(0), Action::Tell(1), Action::Poison(1)]);
}

const A: ChildSpec = ChildSpec::new("a");
const B: ChildSpec = ChildSpec::new("b");
const C: ChildSpec = ChildSpec::new("c");

#[test]
fn fields_that_restart_together() {
    use Verdict::{Escalate, Restart, Stop};
    for strategy in [Strategy::all_for_one(), Strategy::rest_for_one()] {
        let profile = Profile {
            conduct: any(&[Conduct::Succeed, Conduct::FailEarly, Conduct::FailLate]),
            pre_restart_deeds: any(&[Deed::StopAllChildren, Deed::Nothing]),
            ..profile(vec![
                role(Strategy::one_for_one(), &[1], &[Restart, Verdict::Resume]),
                declaring(strategy, &[(A, 2), (B, 2)], &[Restart, Escalate, Stop]),
                leaf(),
            ])
        };
        let injections = [Action::Kill(1), Action::Kill(2), Action::Tell(3), Action::Stop(2)];
        run(&format!("fields, {:?}", strategy.scope), profile, 3, 1, &injections);
    }
}

#[test]
fn fields_of_every_restart_type() {
    use Verdict::{Restart, RestartLater, Resume};
    let permanent = A.restart(RestartType::Permanent);
    let temporary = C.restart(RestartType::Temporary).significant();
    for strategy in [Strategy::one_for_one(), Strategy::all_for_one(), Strategy::rest_for_one()] {
        let strategy = strategy.auto_shutdown(AutoShutdown::AnySignificant);
        let profile = Profile {
            conduct: any(&[Conduct::Succeed, Conduct::FailLate, Conduct::Park]),
            pre_restart_deeds: any(&[Deed::Nothing]),
            ..profile(vec![
                role(Strategy::one_for_one(), &[1], &[Restart]),
                declaring(strategy, &[(permanent, 2), (B, 2), (temporary, 2)], &[Restart, RestartLater, Resume]),
                leaf(),
            ])
        };
        let injections = [Action::Leave(2), Action::Kill(2), Action::Leave(4), Action::Kill(3), Action::Kill(1)];
        run(&format!("restart types, {:?}", strategy.scope), profile, 2, 0, &injections);
    }
}

#[test]
fn fields_that_all_have_to_end() {
    use Verdict::{Restart, Stop};
    let (a, b) = (A.significant(), B.restart(RestartType::Temporary).significant());
    for strategy in [Strategy::one_for_one(), Strategy::rest_for_one()] {
        let strategy = strategy.auto_shutdown(AutoShutdown::AllSignificant);
        let profile = Profile {
            pre_restart_deeds: any(&[Deed::Nothing, Deed::StopOneChild]),
            ..profile(vec![
                role(Strategy::one_for_one(), &[1], &[Restart]),
                declaring(strategy, &[(a, 2), (b, 2), (C, 2)], &[Restart, Stop]),
                leaf(),
            ])
        };
        let injections = [2, 3].map(|id| [Action::Leave(id), Action::Stop(id), Action::Kill(id)]).concat();
        let injections = [injections, vec![Action::Leave(4), Action::Kill(1)]].concat();
        run(&format!("all significant, {:?}", strategy.scope), profile, 3, 0, &injections);
    }
}

#[test]
fn permanent_fields_and_a_limit_that_escalates() {
    use Verdict::{Restart, Resume};
    let (a, b) = (A.restart(RestartType::Permanent), B.restart(RestartType::Permanent));
    for strategy in [Strategy::one_for_one(), Strategy::all_for_one()] {
        let profile = Profile {
            pre_restart_deeds: any(&[Deed::Nothing, Deed::StopOneChild]),
            ..profile(vec![
                role(Strategy::one_for_one(), &[1], &[Restart, Resume]),
                declaring(strategy.max_retries(1).on_limit(OnLimit::Escalate), &[(a, 2), (b, 2)], &[Restart]),
                leaf(),
            ])
        };
        let injections = [
            Action::Leave(2),
            Action::Leave(3),
            Action::Leave(4),
            Action::Poison(2),
            Action::Kill(2),
            Action::Kill(3),
        ];
        run(&format!("permanent fields, {:?}", strategy.scope), profile, 3, 0, &injections);
    }
}
