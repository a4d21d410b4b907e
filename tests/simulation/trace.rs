//! The moves that led to a violation: they are recorded, replayed, reduced and printed.

use std::time::{Duration, Instant};

use crate::invariants::{Invariant, Violation};
use crate::profile::Choices;
use crate::world::{Action, ROOT, World};

/// One action with the picks made in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) action: Action,
    pub(crate) picks: Vec<u8>,
}

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The world comes to rest, then its root is stopped.
    Rest,
    /// The root is stopped in the middle of the run. Hanging code returns only if it is aborted.
    Stop,
}

/// Lets the world come to its end, and checks it there.
pub(crate) fn finish(world: &mut World, ending: Ending) -> Result<u64, Violation> {
    let mut steps = 0;
    if ending == Ending::Rest {
        world.calm_down();
        steps += run_dry(world)?;
        crate::invariants::Watchdog::at_rest(world)?;
    } else {
        world.budget.stimuli = 0;
        world.budget.messages = 0;
    }
    world.stop(ROOT);
    steps += run_dry(world)?;
    crate::invariants::Watchdog::at_the_end(world)?;
    Ok(steps)
}

/// Takes all possible turns, in an order that depends only on the world.
fn run_dry(world: &mut World) -> Result<u64, Violation> {
    let mut steps = 0;
    loop {
        let nth = |members: &[u32]| members[usize::try_from(steps * 7919).unwrap_or(0) % members.len()];
        let action = if !world.ready.members.is_empty() {
            Action::Turn(nth(&world.ready.members))
        } else if !world.waiting.members.is_empty() {
            Action::Return(nth(&world.waiting.members))
        } else if world.can(Action::Fire) {
            Action::Fire
        } else {
            return Ok(steps);
        };
        world.act(action, &mut Recorded { picks: &[], at: 0 })?;
        steps += 1;
        if steps > 10_000 * (10 + world.cells.len() as u64) {
            return Err(Violation { invariant: Invariant::AllWellAtRest, what: "there is no rest".to_owned() });
        }
    }
}

/// Picks as recorded, or the harmless option if nothing is recorded.
struct Recorded<'a> {
    picks: &'a [u8],
    at: usize,
}

impl Choices for Recorded<'_> {
    fn pick(&mut self, weights: &mut dyn Iterator<Item = u32>) -> usize {
        let wanted = self.picks.get(self.at).copied().map(usize::from);
        self.at += 1;
        let mut first = None;
        for (index, weight) in weights.enumerate().filter(|(_, weight)| *weight > 0) {
            if Some(index) == wanted {
                return index;
            }
            first.get_or_insert((index, weight));
        }
        first.map_or(0, |(index, _)| index)
    }
}

/// Makes the moves that can be made, then comes to the end.
fn replay(mut world: World, moves: &[Move], ending: Ending) -> Option<Violation> {
    for Move { action, picks } in moves {
        if world.can(*action)
            && let Err(violation) = world.act(*action, &mut Recorded { picks, at: 0 })
        {
            return Some(violation);
        }
    }
    finish(&mut world, ending).err()
}

/// Panics with the shortest trace that it can find in a bounded time.
pub(crate) fn fail(origin: &str, world: &World, moves: Vec<Move>, ending: Ending, violation: &Violation) -> ! {
    let broken = |moves: &[Move]| {
        replay(world.clone(), moves, ending).is_some_and(|found| found.invariant == violation.invariant)
    };
    let moves = if broken(&moves) { shrink(moves, broken) } else { moves };
    eprintln!("{origin}: {violation}\nshrunk to {} moves, then {ending:?}:", moves.len());
    let mut world = world.clone();
    world.loud = true;
    let found = replay(world, &moves, ending);
    panic!("{origin}: {}", found.as_ref().unwrap_or(violation));
}

/// Leaves out moves that are not needed, in smaller and smaller groups, and then picks.
fn shrink(mut moves: Vec<Move>, broken: impl Fn(&[Move]) -> bool) -> Vec<Move> {
    let began = Instant::now();
    let mut again = true;
    while again && began.elapsed() < Duration::from_secs(60) {
        again = false;
        let mut stretch = moves.len().div_ceil(2);
        while stretch > 0 {
            let mut at = 0;
            while at < moves.len() {
                let mut fewer = moves.clone();
                fewer.drain(at..(at + stretch).min(moves.len()));
                if broken(&fewer) {
                    moves = fewer;
                    again = true;
                } else {
                    at += stretch;
                }
            }
            stretch /= 2;
        }
        for at in 0..moves.len() {
            for pick in 0..moves[at].picks.len() {
                let mut simpler = moves.clone();
                simpler[at].picks[pick] = 0;
                if moves[at].picks[pick] != 0 && broken(&simpler) {
                    moves = simpler;
                    again = true;
                }
            }
        }
    }
    moves
}
