//! Every interleaving of small worlds, each state once.

use std::collections::HashSet;
use std::rc::Rc;
use std::time::Instant;

use crate::invariants::Violation;
use crate::profile::Choices;
use crate::trace::{self, Ending, Move};
use crate::world::{Action, Id, World};

/// The states that were visited.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) states: usize,
    pub(crate) moves: u64,
    pub(crate) rests: u64,
}

/// How the explorer reached a state.
struct Trail {
    before: Option<Rc<Trail>>,
    step: Move,
}

/// The cells that may be told, stopped and killed from outside.
#[derive(Debug, Clone)]
pub(crate) struct Injections(pub(crate) Vec<Action>);

/// Explores everything that can happen to `world`. Panics with a short trace if an invariant breaks.
pub(crate) fn explore(name: &str, start: &World, injections: &Injections) -> Seen {
    let began = Instant::now();
    let mut seen = Seen::default();
    let mut known = HashSet::new();
    known.insert(start.fingerprint());
    let mut frontier: Vec<(World, Option<Rc<Trail>>)> = vec![(start.clone(), None)];
    while let Some((world, trail)) = frontier.pop() {
        seen.states += 1;
        let mut at_rest = true;
        let cells = Id::try_from(world.cells.len()).unwrap_or(Id::MAX);
        let own = (0..cells).flat_map(|id| [Action::Turn(id), Action::Return(id)]).chain([Action::Fire]);
        for (action, by_itself) in own.map(|a| (a, true)).chain(injections.0.iter().map(|a| (*a, false))) {
            if !world.can(action) {
                continue;
            }
            at_rest &= !by_itself;
            let mut picks = Odometer::default();
            loop {
                let mut next = world.clone();
                let result = next.act(action, &mut picks);
                seen.moves += 1;
                if result.is_err() || known.insert(next.fingerprint()) {
                    let step = Move { action, picks: picks.picked() };
                    let trail = Some(Rc::new(Trail { before: trail.clone(), step }));
                    if let Err(violation) = result {
                        give_up(name, start, trail.as_ref(), Ending::Rest, &violation);
                    }
                    frontier.push((next, trail));
                }
                if !picks.turn() {
                    break;
                }
            }
        }
        if at_rest {
            seen.rests += 1;
            for ending in [Ending::Rest, Ending::Stop] {
                if let Err(violation) = trace::finish(&mut world.clone(), ending) {
                    give_up(name, start, trail.as_ref(), ending, &violation);
                }
            }
        }
    }
    println!(
        "{name}: {} states, {} moves, {} rests, {:.1?}",
        seen.states,
        seen.moves,
        seen.rests,
        began.elapsed()
    );
    seen
}

fn give_up(name: &str, start: &World, trail: Option<&Rc<Trail>>, ending: Ending, violation: &Violation) -> ! {
    let mut moves = Vec::new();
    let mut at = trail;
    while let Some(trail) = at {
        moves.push(trail.step.clone());
        at = trail.before.as_ref();
    }
    moves.reverse();
    trace::fail(name, start, moves, ending, violation)
}

/// Enumerates all picks of a move. Each wheel stands for one pick, and the last wheel turns fastest.
#[derive(Debug, Default)]
struct Odometer {
    wheels: Vec<Wheel>,
    at: usize,
}

#[derive(Debug)]
struct Wheel {
    options: Vec<u8>,
    chosen: usize,
}

impl Odometer {
    fn picked(&self) -> Vec<u8> {
        self.wheels.iter().map(|wheel| wheel.options[wheel.chosen]).collect()
    }

    /// Goes on to the next combination, if there is one.
    fn turn(&mut self) -> bool {
        self.at = 0;
        while let Some(wheel) = self.wheels.last_mut() {
            wheel.chosen += 1;
            if wheel.chosen < wheel.options.len() {
                return true;
            }
            self.wheels.pop();
        }
        false
    }
}

impl Choices for Odometer {
    fn pick(&mut self, weights: &mut dyn Iterator<Item = u32>) -> usize {
        if self.at == self.wheels.len() {
            let options = (0_u8..).zip(weights).filter(|(_, weight)| *weight > 0).map(|(index, _)| index);
            self.wheels.push(Wheel { options: options.collect(), chosen: 0 });
        }
        let wheel = &self.wheels[self.at];
        self.at += 1;
        usize::from(wheel.options[wheel.chosen])
    }
}
