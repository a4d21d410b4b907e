//! Many failures at once: how many turns all cells take together until everybody is well again.

use std::rc::Rc;
use std::time::Duration;

use supervise_core::ActorName;
use supervise_core::supervision::{Backoff, OnLimit, Strategy};

use crate::profile::{Budget, Choices, Conduct, Deed, Profile, Role, Verdict};
use crate::trace::{self, Ending};
use crate::world::{Action, Id, ROOT, World};

/// Picks by turns among the options.
struct ByTurns(usize);

impl Choices for ByTurns {
    fn pick(&mut self, weights: &mut dyn Iterator<Item = u32>) -> usize {
        self.0 += 1;
        self.0 % weights.count()
    }
}

/// The supervisor below the root whose children fail.
const SUPERVISOR: Id = 1;

/// How many turns it takes until all are well, after `children` of a supervisor that decides by `verdicts` have failed at once. Its parent
/// resumes it.
fn turns(children: usize, strategy: Strategy, verdicts: &[Verdict]) -> u64 {
    let role = |children: Vec<(usize, usize)>, strategy, verdicts: &[Verdict]| Role {
        children,
        fields: Vec::new(),
        strategy,
        verdicts: verdicts.iter().map(|verdict| (*verdict, 1)).collect(),
        has_last_hook: true,
    };
    let profile = Profile {
        roles: vec![
            role(vec![(0, 1)], Strategy::one_for_one(), &[Verdict::Resume]),
            role((0..children).map(|name| (name, 2)).collect(), strategy, verdicts),
            role(Vec::new(), Strategy::one_for_one(), &[Verdict::Stop]),
        ],
        names: (0..=children).map(|name| ActorName::from(&*format!("n{name}"))).collect(),
        conduct: vec![(Conduct::Succeed, 1)],
        handler_deeds: vec![(Deed::Nothing, 1)],
        pre_restart_deeds: vec![(Deed::Nothing, 1)],
        death_pacts: false,
        backoff: Backoff::exponential(Duration::from_secs(1), Duration::from_secs(8)),
    };
    let mut world = World::new(Rc::new(profile), Budget { messages: 0, stimuli: u32::MAX });
    let mut by_turns = ByTurns(0);
    let mut taken = 0;
    let mut all_turns = |world: &mut World, of: &dyn Fn(Id) -> bool| {
        while let Some(next) = world.ready.members.iter().copied().find(|id| of(*id)) {
            world.act(Action::Turn(next), &mut by_turns).unwrap_or_else(|violation| panic!("{violation}"));
            taken += 1;
        }
    };
    all_turns(&mut world, &|_| true);
    let failing = SUPERVISOR + 1..Id::try_from(world.cells.len()).expect("worlds are small");
    assert_eq!(failing.len(), children);
    for child in failing.clone() {
        world.act(Action::Kill(child), &mut ByTurns(0)).unwrap_or_else(|violation| panic!("{violation}"));
    }
    all_turns(&mut world, &|id| id > SUPERVISOR);
    assert!(failing.into_iter().all(|child| world.cell(child).protocol.has_failed()));
    all_turns(&mut world, &|_| true);
    assert!(world.cell(ROOT).protocol.accepts_messages() && world.timers.is_empty());
    trace::finish(&mut world, Ending::Rest).unwrap_or_else(|violation| panic!("{violation}"));
    taken
}

/// Rule 2.5.
#[test]
fn escalations_of_many_failures_take_turns_in_proportion() {
    let limited = Strategy::one_for_one().max_retries(0).on_limit(OnLimit::Escalate);
    for (strategy, verdicts) in [
        (Strategy::one_for_one(), &[Verdict::Escalate][..]),
        (Strategy::rest_for_one(), &[Verdict::Escalate]),
        (Strategy::one_for_one(), &[Verdict::Escalate, Verdict::Resume]),
        (Strategy::one_for_one(), &[Verdict::Escalate, Verdict::Restart]),
        (Strategy::one_for_one(), &[Verdict::Fail]),
        (limited, &[Verdict::Restart]),
    ] {
        let (few, many) = (turns(50, strategy, verdicts), turns(100, strategy, verdicts));
        assert!(10 * many <= 22 * few, "{verdicts:?}: {few} turns for 50 failures, {many} for 100");
    }
}
