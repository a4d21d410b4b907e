//! Every interleaving of a small world, each state once.

use std::collections::HashSet;
use std::rc::Rc;
use std::time::Instant;

use super::history::Broken;
use super::world::{Action, World};

struct Trail {
    before: Option<Rc<Trail>>,
    action: Action,
}

/// Explores everything that can happen to `world`, or panics with the actions that break an invariant. Returns the number of states.
pub(super) fn explore(name: &str, start: World) -> usize {
    let began = Instant::now();
    let mut known = HashSet::from([start.fingerprint()]);
    let mut frontier: Vec<(World, Option<Rc<Trail>>)> = vec![(start, None)];
    let mut verdicts = 0;
    while let Some((world, trail)) = frontier.pop() {
        verdicts += usize::from(world.history.verdicts() > 0);
        // From every other state, what is under way leads to such a state.
        if world.is_quiet()
            && let Err(broken) = world.clone().finish()
        {
            give_up(name, trail.as_ref(), &broken);
        }
        for action in world.actions() {
            let mut next = world.clone();
            let result = next.act(action);
            if result.is_ok() && !known.insert(next.fingerprint()) {
                continue;
            }
            let trail = Some(Rc::new(Trail { before: trail.clone(), action }));
            if let Err(broken) = result {
                give_up(name, trail.as_ref(), &broken);
            }
            frontier.push((next, trail));
        }
    }
    println!("{name}: {} states, {verdicts} with a verdict, {:.1?}", known.len(), began.elapsed());
    known.len()
}

fn give_up(name: &str, trail: Option<&Rc<Trail>>, broken: &Broken) -> ! {
    let mut actions = Vec::new();
    let mut at = trail;
    while let Some(trail) = at {
        actions.push(trail.action);
        at = trail.before.as_ref();
    }
    actions.reverse();
    panic!("{name}: {broken}\nafter {actions:#?}");
}
