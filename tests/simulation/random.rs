//! Random large worlds. A run is a function of its seed. A run that breaks an invariant is shortened and
//! printed.

use std::rc::Rc;
use std::time::{Duration, Instant};

use supervise_core::ActorName;
use supervise_core::supervision::{
    AutoShutdown, Backoff, ChildSpec, Count, OnLimit, RestartType, Strategy, Terms,
};

use crate::profile::{Budget, Choices, Conduct, Deed, Profile, Role, Verdict};
use crate::trace::{self, Ending, Move};
use crate::world::{Action, Id, World};

/// How many cells the largest worlds begin with.
const LARGEST: u32 = 10_000;

/// The names of declared children.
const FIELDS: [&str; 4] = ["a", "b", "c", "d"];

/// `SplitMix64`.
#[derive(Debug, Clone)]
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u32) -> u32 {
        u32::try_from(((self.next() >> 32) * u64::from(bound)) >> 32).unwrap_or(0)
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }

    fn of<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.below(u32::try_from(options.len()).unwrap_or(1)) as usize]
    }
}

/// Picks by weight, and remembers what it picked.
struct Picking {
    chance: Chance,
    picked: Option<Vec<u8>>,
}

impl Choices for Picking {
    fn pick(&mut self, weights: &mut dyn Iterator<Item = u32>) -> usize {
        let mut total = 0;
        let mut picked = 0;
        // One pass: the n-th option displaces the former ones with its share of the weight so far.
        for (index, weight) in weights.enumerate() {
            total += weight;
            if weight > 0 && self.chance.below(total) < weight {
                picked = index;
            }
        }
        if let Some(all) = &mut self.picked {
            all.push(u8::try_from(picked).unwrap_or(0));
        }
        picked
    }
}

/// Runs worlds until they have taken `steps` steps in total. Returns how many they took.
pub(crate) fn run(seed: u64, steps: u64) -> u64 {
    let began = Instant::now();
    let mut taken = 0;
    let mut worlds = 0_u64;
    while taken < steps {
        taken += world(seed.wrapping_add(worlds.wrapping_mul(0x0123_4567_89ab_cdef)), steps - taken);
        worlds += 1;
    }
    let rate = u128::from(taken) * 1000 / began.elapsed().as_millis().max(1);
    println!("seed {seed}: {worlds} worlds, {taken} steps, {:.1?}, {rate} steps/s", began.elapsed());
    taken
}

fn world(seed: u64, most: u64) -> u64 {
    let mut chance = Chance(seed);
    let size = match chance.below(100) {
        0..50 => 2 + chance.below(6),
        50..90 => 8 + chance.below(60),
        90..99 => 100 + chance.below(400),
        _ => LARGEST,
    };
    let profile = Rc::new(profile(&mut chance, size));
    let start = World::new(profile, Budget { messages: u32::MAX, stimuli: u32::MAX });
    // In the largest worlds a single failure may affect all cells, so they take fewer steps in relation to
    // their size.
    let shorter = if size == LARGEST { 10 } else { 1 };
    let steps = (u64::from(size) * (50 + u64::from(chance.below(150))) / shorter).min(most.max(1000));
    let ending = if chance.one_in(2) { Ending::Rest } else { Ending::Stop };
    let busy = chance.of(&[2, 8, 30]);
    let mut world = start.clone();
    let mut moves: Vec<(Action, u64)> = Vec::new();
    let mut taken = 0;
    while taken < steps && !world.living.members.is_empty() {
        let action = next_action(&world, &mut chance, busy);
        if !world.can(action) {
            continue;
        }
        let draws = chance.next();
        moves.push((action, draws));
        taken += 1;
        if let Err(violation) = world.act(action, &mut Picking { chance: Chance(draws), picked: None }) {
            trace::fail(&format!("seed {seed}"), &start, recorded(&start, &moves), ending, &violation);
        }
    }
    match trace::finish(&mut world, ending) {
        Ok(more) => taken + more,
        Err(violation) => {
            trace::fail(&format!("seed {seed}"), &start, recorded(&start, &moves), ending, &violation)
        }
    }
}

fn next_action(world: &World, chance: &mut Chance, busy: u32) -> Action {
    let ready = &world.ready.members;
    if chance.one_in(busy) || (ready.is_empty() && chance.one_in(2)) {
        let target = chance.of(&world.living.members);
        return match chance.below(100) {
            0..80 => Action::Tell(target),
            80..84 => Action::Tell(chance.below(Id::try_from(world.cells.len()).unwrap_or(Id::MAX))),
            84..90 if target != 0 => Action::Stop(target),
            90..94 if target != 0 => Action::Kill(target),
            94 if target != 0 => Action::Poison(target),
            95 if target != 0 => Action::Leave(target),
            96 => Action::Wait,
            97 if target != 0 => Action::Retry(target),
            98 if target != 0 => Action::Restart(target),
            _ => Action::Fire,
        };
    }
    if !world.waiting.members.is_empty() && (ready.is_empty() || chance.one_in(8)) {
        Action::Return(chance.of(&world.waiting.members))
    } else if ready.is_empty() {
        Action::Fire
    } else {
        Action::Turn(chance.of(ready))
    }
}

/// The moves with their picks.
fn recorded(start: &World, moves: &[(Action, u64)]) -> Vec<Move> {
    let mut world = start.clone();
    let again = moves.iter().map(|(action, draws)| {
        let mut picking = Picking { chance: Chance(*draws), picked: Some(Vec::new()) };
        let _as_before = world.act(*action, &mut picking);
        Move { action: *action, picks: picking.picked.unwrap_or_default() }
    });
    again.collect()
}

fn profile(chance: &mut Chance, size: u32) -> Profile {
    let breadth = 1 + chance.below(8) as usize;
    let mut roles: Vec<Role> = Vec::new();
    let gentle = chance.one_in(2);
    let declares = chance.one_in(2);
    for role in 0..size as usize {
        roles.push(Role {
            children: Vec::new(),
            fields: Vec::new(),
            strategy: strategy(chance),
            verdicts: verdicts(chance, role == 0),
            has_last_hook: chance.one_in(2),
        });
        if role > 0 {
            let last = if gentle { role } else { role.min(breadth) };
            let mut parent = (role - 1) / breadth;
            if !gentle {
                parent = chance.below(u32::try_from(last).unwrap_or(1)) as usize;
            }
            let Role { children, fields, .. } = &mut roles[parent];
            if declares && fields.len() < FIELDS.len() && chance.one_in(2) {
                fields.push((spec(chance, FIELDS[fields.len()]), role));
            } else {
                children.push((children.len(), role));
            }
        }
    }
    // The role of children that handlers spawn.
    let (children, fields) = (Vec::new(), Vec::new());
    roles.push(Role {
        children,
        fields,
        strategy: strategy(chance),
        verdicts: verdicts(chance, false),
        has_last_hook: chance.one_in(2),
    });
    let most = roles.iter().map(|role| role.children.len()).max().unwrap_or(0);
    let failures = chance.of(&[1, 5, 30]);
    let parks = chance.of(&[0, 5, 30]);
    let hangs = chance.of(&[0, 1]);
    Profile {
        roles,
        names: (0..=most).map(|name| ActorName::from(&*format!("n{name}"))).collect(),
        conduct: vec![
            (Conduct::Succeed, 60),
            (Conduct::FailEarly, failures),
            (Conduct::FailLate, failures),
            (Conduct::Park, parks),
            (Conduct::Hang, hangs),
        ],
        handler_deeds: vec![
            (Deed::Nothing, 60),
            (Deed::SpawnAnother, 5),
            (Deed::StopOneChild, 3),
            (Deed::StopAllChildren, 1),
            (Deed::StopItself, chance.below(2)),
            (Deed::WatchAnother, 10),
            (Deed::UnwatchAnother, 3),
        ],
        pre_restart_deeds: vec![
            (Deed::StopAllChildren, chance.of(&[0, 10, 10])),
            (Deed::Nothing, 10),
            (Deed::StopOneChild, 10),
            (Deed::SpawnAnother, 5),
        ],
        death_pacts: chance.one_in(3),
        backoff: Backoff::exponential(Duration::from_millis(500), Duration::from_secs(60)),
    }
}

fn spec(chance: &mut Chance, name: &'static str) -> ChildSpec {
    use RestartType::{Permanent, Temporary, Transient};
    let spec = ChildSpec::new(name).restart(chance.of(&[Transient, Permanent, Temporary]));
    if chance.one_in(3) { spec.significant() } else { spec }
}

fn strategy(chance: &mut Chance) -> Strategy {
    use AutoShutdown::{AllSignificant, AnySignificant, Never};
    let scope = chance.of(&[Strategy::one_for_one(), Strategy::all_for_one(), Strategy::rest_for_one()]);
    let counted = match chance.below(4) {
        0 => scope.max_retries(chance.below(4)),
        1 => scope.max_retries(1 + chance.below(4)).within(Duration::from_secs(10)),
        _ => scope,
    };
    let delayed = if chance.one_in(4) {
        let backoff = Backoff::exponential(Duration::from_secs(1), Duration::from_secs(8));
        counted.backoff(if chance.one_in(2) { backoff.give_up_after(Duration::from_secs(20)) } else { backoff })
    } else {
        counted
    };
    delayed
        .on_limit(chance.of(&[OnLimit::Stop, OnLimit::Escalate]))
        .count(chance.of(&[Count::Child, Count::Supervisor]))
        .auto_shutdown(chance.of(&[Never, Never, AnySignificant, AllSignificant]))
}

fn terms(chance: &mut Chance, rule: u16) -> Terms {
    let terms = Terms::of_rule(rule);
    let terms = match chance.below(4) {
        0 => terms.max_retries(chance.below(4)),
        1 => terms.max_retries(1 + chance.below(3)).within(Duration::from_secs(10)),
        2 => terms.within(Duration::from_secs(5)),
        _ => terms,
    };
    let delayed = Backoff::exponential(Duration::from_millis(300), Duration::from_secs(20));
    if chance.one_in(4) { terms.backoff(delayed) } else { terms }
}

fn verdicts(chance: &mut Chance, of_root: bool) -> Vec<(Verdict, u32)> {
    // If the root itself fails, its world ends.
    let upward = u32::from(!of_root);
    vec![
        (Verdict::Restart, 30),
        (Verdict::Resume, chance.of(&[0, 10, 30])),
        (Verdict::RestartLater, chance.of(&[0, 10])),
        (Verdict::RestartOn(terms(chance, 0)), chance.of(&[0, 15])),
        (Verdict::RestartOn(terms(chance, 1)), chance.of(&[0, 15])),
        (Verdict::Stop, 2),
        (Verdict::Escalate, upward * chance.of(&[0, 10])),
        (Verdict::Fail, upward * chance.of(&[0, 2])),
    ]
}
