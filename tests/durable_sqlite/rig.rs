//! Actors whose process is killed while they accept and handle.
//!
//! There are ten actors: plain ones, some that fail, panic or are slow, one with a narrow window, two that handle
//! batches, of which one fails, and two that kill the process. The child process prints what its senders hand
//! over, what was accepted, and what handlers begin and finish. The parent kills it after a random number of
//! lines, lets a last child drain the store, and checks its ledger.
//! `SUPERVISE_RIG_KILLS=1000 cargo test -p supervise-tests-durable-sqlite rig -- --nocapture` kills it more often.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use supervise::Props;
use supervise::durable::SqliteStore;
use supervise::prelude::*;

use crate::child::{Child, say};
use crate::fixture::Folder;

const ACTORS: usize = 10;
/// The actor with a narrow window.
const NARROW: usize = 7;
/// The actor that handles batches.
const BULK: usize = 8;
/// The actor that handles batches and fails.
const FRAIL: usize = 9;
/// How often one store is opened and killed.
const STARTS: usize = 10;

/// What the parent knows of one actor.
#[derive(Default)]
struct Ledger {
    handed_over: u64,
    /// What was handed over in the present life, and not accepted yet.
    told: Vec<u64>,
    accepted: BTreeSet<u64>,
    /// In their order: the number, the attempt, whether a process died with it, and the life.
    begun: Vec<(u64, u32, bool, usize)>,
    handled: Vec<(u64, usize)>,
    ids: BTreeMap<String, u64>,
    quarantined: BTreeSet<u64>,
    /// The quarantined messages that had failed too often.
    failed: BTreeSet<u64>,
}

#[test]
fn the_rig_loses_nothing_when_actors_are_killed() {
    let kills: usize = std::env::var("SUPERVISE_RIG_KILLS").map_or(50, |kills| kills.parse().expect("a number"));
    let seed = std::env::var("SUPERVISE_RIG_SEED").map_or(17, |seed| seed.parse().expect("a number"));
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut killed, mut aborted) = (0, 0);
    let mut totals = [0; 4];
    while killed < kills {
        let (ledgers, aborts) = round(&mut random, STARTS.min(kills - killed));
        killed += STARTS.min(kills - killed);
        aborted += aborts;
        for (actor, ledger) in ledgers.iter().enumerate() {
            let repeated = check(actor, ledger);
            for (total, count) in totals.iter_mut().zip([
                ledger.accepted.len(),
                ledger.handled.len() - repeated,
                repeated,
                ledger.quarantined.len(),
            ]) {
                *total += count;
            }
        }
    }
    let [accepted, handled, repeated, quarantined] = totals;
    println!(
        "{killed} kills, {aborted} aborts: {accepted} accepted, {handled} handled, {repeated} handled twice, \
         {quarantined} quarantined, 0 lost"
    );
    assert!(quarantined > 0 && handled > 0, "the rig has failures");
}

/// One store whose process is killed this often, and which is then drained. Also returns how often a message
/// killed the process.
fn round(random: &mut fastrand::Rng, kills: usize) -> (Vec<Ledger>, usize) {
    let folder = Folder::new();
    let mut ledgers: Vec<Ledger> = (0..ACTORS).map(|_| Ledger::default()).collect();
    let mut aborts = 0;
    for life in 0.. {
        assert!(life < kills + 60, "the last children cannot drain the store");
        let drains = life >= kills;
        let next: Vec<_> = ledgers.iter().map(|ledger| (ledger.handed_over + 1).to_string()).collect();
        let mut command = Child::command("rig", &folder.store());
        command.env("SUPERVISE_NEXT", next.join(",")).env("SUPERVISE_SEED", random.u64(..).to_string());
        command.env("SUPERVISE_DRAIN", if drains { "1" } else { "" }).stderr(Stdio::null());
        let mut child = Child::spawn(&mut command);
        for ledger in &mut ledgers {
            ledger.told.clear();
        }
        let lines = if drains { usize::MAX } else { random.usize(1..3000) };
        let (mut read, mut is_killed, mut is_done) = (0, false, false);
        while let Some(line) = child.line() {
            is_done = line == "done";
            if !is_done {
                note(&mut ledgers, &line, life);
            }
            read += 1;
            if read >= lines && !is_killed {
                child.kill();
                is_killed = true;
            }
        }
        if is_done {
            assert!(child.ended_well(), "the last child drains the store");
            break;
        }
        aborts += usize::from(!is_killed);
    }
    (ledgers, aborts)
}

fn note(ledgers: &mut [Ledger], said: &str, life: usize) {
    let words: Vec<&str> = said.split(' ').collect();
    let actor: usize = words[1].parse().expect("an actor");
    let ledger = &mut ledgers[actor];
    let number = || words[2].parse::<u64>().expect("a number");
    match words[0] {
        "over" => {
            ledger.handed_over = number();
            ledger.told.push(number());
        }
        // Messages that were handed over before it are stored too: rule 27.3.
        "accepted" => {
            let number = number();
            let (before, after) = ledger.told.iter().partition(|&&told| told <= number);
            ledger.told = after;
            let before: Vec<u64> = before;
            ledger.accepted.extend(before);
        }
        "begun" => {
            let attempt = words[4].parse().expect("an attempt");
            ledger.begun.push((number(), attempt, words[5] == "true", life));
            ledger.ids.insert(words[3].to_owned(), number());
        }
        "handled" => ledger.handled.push((number(), life)),
        "quarantined" => {
            let number = ledger.ids.get(words[2]).copied();
            let number = number.unwrap_or_else(|| panic!("quarantined, and never begun: {said}"));
            ledger.quarantined.insert(number);
            if words[3] == "Failed" {
                ledger.failed.insert(number);
            }
        }
        _ => panic!("the child says {said}"),
    }
}

/// Returns how many messages were handled twice.
fn check(actor: usize, ledger: &Ledger) -> usize {
    let handled: BTreeSet<u64> = ledger.handled.iter().map(|(number, _)| *number).collect();
    let ended: BTreeSet<u64> = handled.union(&ledger.quarantined).copied().collect();
    let lost: Vec<_> = ledger.accepted.difference(&ended).collect();
    assert!(lost.is_empty(), "actor {actor}: accepted and lost: {lost:?}");
    let innocent: Vec<_> = ledger.failed.iter().filter(|&&number| actor == FRAIL && !is_bad(number)).collect();
    assert!(innocent.is_empty(), "actor {actor}: quarantined for the failure of others: {innocent:?}");
    let unknown: Vec<_> = ended.iter().filter(|&&number| number > ledger.handed_over).collect();
    assert!(unknown.is_empty(), "actor {actor}: never handed over: {unknown:?}");
    for (at, pair) in ledger.begun.windows(2).enumerate() {
        let [(before, attempt_before, _, life_before), (number, attempt, after_crash, life)] = *pair else {
            unreachable!("pairs")
        };
        let around = || &ledger.begun[at.saturating_sub(6)..(at + 4).min(ledger.begun.len())];
        // The messages of a batch that failed, or with which the process died, come again, one by one.
        let is_of_batch = match actor {
            BULK => life_before < life && after_crash,
            FRAIL => life_before < life && after_crash || attempt > 1,
            _ => false,
        };
        assert!(before <= number || is_of_batch, "actor {actor}: {number} begun after {before}: {:?}", around());
        // If the process dies between the last failure and the quarantine, the store does not know whether a batch
        // failed.
        let most = if actor == FRAIL { 5 } else { 4 };
        assert!(attempt <= most, "actor {actor}: {number} is tried too often: {:?}", around());
        if before != number {
            continue;
        }
        assert!(attempt >= attempt_before, "actor {actor}: {number} has lost attempts: {:?}", around());
        if life_before < life {
            // A failure is stored as an attempt. An attempt without a failure means that the process died in it.
            let is_told = after_crash || attempt > attempt_before;
            assert!(is_told, "actor {actor}: {number} had been begun by the process that died: {:?}", around());
        } else {
            assert!(
                attempt > attempt_before,
                "actor {actor}: {number} begun twice without a failure: {:?}",
                around()
            );
        }
    }
    let mut lives = BTreeMap::new();
    for &(number, attempt, after_crash, life) in &ledger.begun {
        if let Some((attempt_before, life_before)) = lives.insert(number, (attempt, life)) {
            let is_told = life_before == life || after_crash || attempt > attempt_before;
            assert!(is_told, "actor {actor}: {number} was begun by the process that died in life {life_before}");
        }
    }
    let mut repeated = 0;
    for pair in ledger.handled.windows(2) {
        let [(before, life_before), (number, life)] = *pair else { unreachable!("pairs") };
        if before == number {
            assert!(life_before < life, "actor {actor}: {number} handled twice in one life");
            repeated += 1;
        }
    }
    repeated
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Order {
    number: u64,
}

#[derive(Debug, thiserror::Error)]
#[error("order {0} failed")]
struct Failed(u64);

/// Handles orders, each in its own way.
async fn handle(actor: usize, order: Order, delivery: &supervise::durable::Delivery) -> Result<(), Failed> {
    let number = order.number;
    begins(actor, number, &delivery.id().to_string(), delivery);
    let attempt = delivery.attempt();
    match actor {
        // This order kills the process, and goes into quarantine at the third time.
        3 if number % 500 == 400 => std::process::abort(),
        4 if number.is_multiple_of(50) => return Err(Failed(number)),
        4 if number.is_multiple_of(7) && attempt <= 2 => return Err(Failed(number)),
        5 if number.is_multiple_of(40) => panic!("order {number}"),
        6 => tokio::time::sleep(Duration::from_millis(2)).await,
        _ => {}
    }
    say(format_args!("handled {actor} {number}"));
    Ok(())
}

fn begins(actor: usize, number: u64, id: &str, delivery: &supervise::durable::Delivery) {
    say(format_args!("begun {actor} {number} {id} {} {}", delivery.attempt(), delivery.after_crash()));
}

#[actor(mailbox = durable)]
struct Worker {
    actor: usize,
}

#[actor]
impl Worker {
    #[handler]
    async fn work(&mut self, order: Order, ctx: &mut Context<Self>) -> Result<(), Failed> {
        let Some(delivery) = ctx.delivery() else { panic!("orders are stored") };
        handle(self.actor, order, &delivery).await
    }
}

/// A worker that has few messages in memory.
#[actor(mailbox = durable(window = 2))]
struct Narrow;

#[actor]
impl Narrow {
    #[handler]
    async fn work(&mut self, order: Order, ctx: &mut Context<Self>) -> Result<(), Failed> {
        let Some(delivery) = ctx.delivery() else { panic!("orders are stored") };
        handle(NARROW, order, &delivery).await
    }
}

/// A worker that handles what waits as a batch.
#[actor(mailbox = durable)]
struct Bulk;

#[actor]
impl Bulk {
    #[handler(batch = 16)]
    async fn work(&mut self, orders: Vec<Order>, ctx: &mut Context<Self>) {
        let Some(delivery) = ctx.delivery() else { panic!("orders are stored") };
        // The delivery is that of the last one.
        let id = if orders.len() == 1 { delivery.id().to_string() } else { "batch".to_owned() };
        for order in &orders {
            begins(BULK, order.number, &id, &delivery);
        }
        // So that others gather.
        tokio::time::sleep(Duration::from_millis(5)).await;
        if orders.iter().any(|order| order.number % 300 == 150) {
            std::process::abort();
        }
        for order in orders {
            say(format_args!("handled {BULK} {}", order.number));
        }
    }
}

/// Whether a batch with this order fails.
fn is_bad(number: u64) -> bool {
    number % 50 == 25
}

/// A worker that handles what waits as a batch, and fails if one of it is bad.
#[actor(mailbox = durable(crashes = 100))]
struct Frail;

#[actor]
impl Frail {
    #[handler(batch = 16)]
    async fn work(&mut self, orders: Vec<Order>, ctx: &mut Context<Self>) -> Result<(), Failed> {
        let Some(delivery) = ctx.delivery() else { panic!("orders are stored") };
        let id = if orders.len() == 1 { delivery.id().to_string() } else { "batch".to_owned() };
        for order in &orders {
            begins(FRAIL, order.number, &id, &delivery);
        }
        tokio::time::sleep(Duration::from_millis(3)).await;
        if let Some(bad) = orders.iter().find(|order| is_bad(order.number)) {
            return Err(Failed(bad.number));
        }
        for order in orders {
            say(format_args!("handled {FRAIL} {}", order.number));
        }
        Ok(())
    }
}

#[actor]
#[supervise(one_for_one, on(_) = Restart)]
struct Yard;

#[actor]
impl Yard {
    #[handler]
    fn worker(&mut self, actor: usize, ctx: &mut Context<Self>) -> Reply<WorkerRef> {
        let props = Props::new(move || Worker { actor }).queue(queue(actor));
        Reply(ctx.spawn_with(queue(actor), props).expect("the queue is free"))
    }

    #[handler]
    fn narrow(&mut self, ctx: &mut Context<Self>) -> Reply<NarrowRef> {
        let props = Props::new(|| Narrow).queue(queue(NARROW));
        Reply(ctx.spawn_with(queue(NARROW), props).expect("the queue is free"))
    }

    #[handler]
    fn bulk(&mut self, ctx: &mut Context<Self>) -> Reply<BulkRef> {
        let props = Props::new(|| Bulk).queue(queue(BULK));
        Reply(ctx.spawn_with(queue(BULK), props).expect("the queue is free"))
    }

    #[handler]
    fn frail(&mut self, ctx: &mut Context<Self>) -> Reply<FrailRef> {
        let props = Props::new(|| Frail).queue(queue(FRAIL));
        Reply(ctx.spawn_with(queue(FRAIL), props).expect("the queue is free"))
    }
}

fn queue(actor: usize) -> String {
    format!("actor-{actor}")
}

/// The child.
pub(crate) async fn work(path: &Path) {
    let variable = |name| std::env::var(name).expect("the parent says so");
    let next: Vec<u64> =
        variable("SUPERVISE_NEXT").split(',').map(|number| number.parse().expect("a number")).collect();
    let drains = !variable("SUPERVISE_DRAIN").is_empty();
    let seed: u64 = variable("SUPERVISE_SEED").parse().expect("a number");
    let store = SqliteStore::open(path).expect("it opens");
    let system = ActorSystem::builder("rig").store(store).start().expect("it starts");
    let yard = system.spawn("yard", || Yard).expect("the name is free");
    for (actor, next) in next.into_iter().enumerate() {
        let target = match actor {
            NARROW => Target::Narrow(yard.narrow().await.expect("the yard works")),
            BULK => Target::Bulk(yard.bulk().await.expect("the yard works")),
            FRAIL => Target::Frail(yard.frail().await.expect("the yard works")),
            _ => Target::Worker(yard.worker(actor).await.expect("the yard works")),
        };
        if !drains {
            tokio::spawn(send(actor, next, target, fastrand::Rng::with_seed(seed ^ actor as u64)));
        }
    }
    if !drains {
        std::future::pending::<()>().await;
    }
    loop {
        let queues = system.store().queues().await.expect("the store works");
        if queues.iter().all(|queue| queue.waiting == 0) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for actor in 0..ACTORS {
        for quarantined in system.store().quarantined(queue(actor)).await.expect("the store works") {
            say(format_args!("quarantined {actor} {} {:?}", quarantined.id, quarantined.fate));
        }
    }
    system.terminate().await;
    say("done");
}

enum Target {
    Worker(WorkerRef),
    Narrow(NarrowRef),
    Bulk(BulkRef),
    Frail(FrailRef),
}

/// Tells a few orders, waits until the next one is accepted, and so on.
async fn send(actor: usize, mut number: u64, target: Target, mut random: fastrand::Rng) {
    loop {
        for _ in 0..random.usize(..4) {
            say(format_args!("over {actor} {number}"));
            let order = Order { number };
            let told = match &target {
                Target::Worker(worker) => worker.work(order).tell().is_ok(),
                Target::Narrow(narrow) => narrow.work(order).tell().is_ok(),
                Target::Bulk(bulk) => bulk.work(order).tell().is_ok(),
                Target::Frail(frail) => frail.work(order).tell().is_ok(),
            };
            assert!(told, "there is room");
            number += 1;
        }
        say(format_args!("over {actor} {number}"));
        let order = Order { number };
        let accepted = match &target {
            Target::Worker(worker) => worker.work(order).accepted().await,
            Target::Narrow(narrow) => narrow.work(order).accepted().await,
            Target::Bulk(bulk) => bulk.work(order).accepted().await,
            Target::Frail(frail) => frail.work(order).accepted().await,
        };
        accepted.expect("the store works");
        say(format_args!("accepted {actor} {number}"));
        number += 1;
        // So that the slow one need not be drained for ever.
        tokio::time::sleep(Duration::from_millis(random.u64(1..6))).await;
    }
}
