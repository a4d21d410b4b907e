//! Long random runs of three nodes.

use std::time::Instant;

use supervise_core::remote::association::{Frame, Id, Settings};

use super::world::{Action, Deed, Faults, World, idler, reader};
use crate::setting;

/// Random numbers that repeat for a seed (`xorshift64*`).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next()).unwrap_or(0) % limit
    }
}

const NODES: usize = 3;

/// A deed of a node. If windows are `closed` for good, it waits for no answer and no news.
fn deed(chance: &mut Chance, at: usize, closed: bool) -> Deed {
    let peer = (at + 1 + chance.below(NODES - 1)) % NODES;
    let actor = |chance: &mut Chance, at: usize| (at * 10 + chance.below(4)) as Id;
    match if closed { 11 + chance.below(3) } else { chance.below(15) } {
        0..5 => Deed::Tell(actor(chance, at), peer),
        5..7 => Deed::Ask(peer),
        7..9 => Deed::Watch(actor(chance, peer), actor(chance, at)),
        9..11 => Deed::Unwatch(actor(chance, peer), actor(chance, at)),
        11..13 => Deed::Put(actor(chance, at), reader(actor(chance, peer))),
        13 => Deed::Put(actor(chance, at), idler(actor(chance, peer))),
        _ => Deed::End(actor(chance, at)),
    }
}

/// Whether an action that was drawn is taken. Without this, most actions would be faults.
fn is_taken(chance: &mut Chance, action: Action) -> bool {
    match action {
        Action::Deliver(.., 0) | Action::Work(_) | Action::Act(_) => true,
        Action::Read(..) => chance.below(4) == 0,
        Action::Deliver(..) | Action::Drop(..) | Action::Repeat(..) => chance.below(60) == 0,
        Action::Tick(_) => chance.below(20) == 0,
        Action::Freeze(_) | Action::Restart(_) => chance.below(400) == 0,
        Action::Kill(_) => chance.below(2000) == 0,
    }
}

fn run(seed: u64, steps: usize) -> usize {
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let closed = chance.below(4) == 0;
    let scripts: Vec<Vec<Deed>> =
        (0..NODES).map(|at| (0..steps / 6).map(|_| deed(&mut chance, at, closed)).collect()).collect();
    let scripts: Vec<&[Deed]> = scripts.iter().map(Vec::as_slice).collect();
    let window = [2, 5, 1000][chance.below(3)] * (Frame::HEAD + 2);
    // For each of the 4 actors of a node that never read, a peer has less than two windows under way before it pauses.
    let held = if closed { 0 } else { 16 * window };
    let settings = Settings { window, packet: window / 2, held, ..Settings::DEFAULT };
    // Many watches are refused, or none.
    let limits = [(); NODES].map(|()| [2, 3, 1000][chance.below(3)]);
    let mut world = World::new(&scripts).with_settings(settings).with_watches(&limits);
    let often = 1_000_000;
    world.works_later = chance.below(2) == 0;
    // Some runs have faults of one kind only.
    let kind = chance.below(4);
    let if_any = |kinds: &[usize]| if kinds.contains(&kind) { often } else { 0 };
    world.faults = Faults {
        drops: if_any(&[0, 1]),
        repeats: if_any(&[0, 2, 3]),
        reorders: if_any(&[2]),
        ticks: often,
        freezes: if_any(&[3]),
        restarts: if_any(&[0, 1, 3]),
        kills: u32::from(chance.below(4) == 0),
    };
    let mut trail = Vec::new();
    for _ in 0..steps {
        let actions = world.actions();
        if actions.is_empty() {
            break;
        }
        let action = actions[chance.below(actions.len())];
        if is_taken(&mut chance, action) {
            trail.push(action);
            if let Err(broken) = world.act(action) {
                panic!("seed {seed}: {broken}\nafter {} actions, the last: {:?}", trail.len(), last(&trail));
            }
        }
    }
    let verdicts = world.history.verdicts();
    if let Err(broken) = world.finish() {
        panic!("seed {seed}: {broken}\nin the end, after {:?}", last(&trail));
    }
    verdicts
}

fn last(trail: &[Action]) -> &[Action] {
    &trail[trail.len().saturating_sub(40)..]
}

#[test]
fn network_random_worlds_keep_the_invariants() {
    let began = Instant::now();
    let (first, runs) = (setting("SIMULATION_SEED", 1), setting("NETWORK_RUNS", 1500));
    let verdicts: usize = (first..first + runs).map(|seed| run(seed, 1500)).sum();
    println!("{runs} random networks: {verdicts} verdicts, {:.1?}", began.elapsed());
    assert!(verdicts > 0, "no association has ended");
}
