//! Processes that are killed while they accept and handle.
//!
//! The child appends to four queues, and handles what waits in them, in groups of random size. It says what it hands over, what
//! was accepted and what it has handled. The parent kills it after a random number of lines, and checks its ledger at the end.
//! `SUPERVISE_KILLS=1000 cargo test -p supervise-tests-durable-sqlite killed -- --nocapture` kills it more often.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use supervise::durable::{Change, MessageStore, Room, Seq};

use crate::child::{Child, say};
use crate::fixture::{Desk, Folder, append, handled};

const QUEUES: usize = 4;

/// What the parent knows of one queue.
#[derive(Default)]
struct Ledger {
    handed_over: u64,
    accepted: BTreeSet<u64>,
    handled: Vec<u64>,
    /// How many were handled in each life.
    lives: Vec<usize>,
}

#[test]
fn dur_06_nothing_that_was_accepted_is_lost_when_processes_are_killed() {
    let kills: usize = std::env::var("SUPERVISE_KILLS").map_or(50, |kills| kills.parse().expect("a number"));
    let mut random = fastrand::Rng::with_seed(6);
    let (mut left, mut rounds, mut accepted, mut repeated) = (kills, 0, 0, 0);
    while left > 0 {
        let starts = left.min(20);
        let (round_accepted, round_repeated) = round(&mut random, starts);
        (left, rounds) = (left - starts, rounds + 1);
        (accepted, repeated) = (accepted + round_accepted, repeated + round_repeated);
    }
    println!("{kills} kills in {rounds} rounds: {accepted} accepted, {repeated} handled twice, 0 lost");
}

/// One store whose process is killed this often, and which is then drained.
fn round(random: &mut fastrand::Rng, kills: usize) -> (usize, usize) {
    let folder = Folder::new();
    let mut ledgers: Vec<Ledger> = (0..QUEUES).map(|_| Ledger::default()).collect();
    for life in 0..=kills {
        let is_last = life == kills;
        let next: Vec<_> = ledgers.iter().map(|ledger| (ledger.handed_over + 1).to_string()).collect();
        let mut command = Child::command("work", &folder.store());
        command.env("SUPERVISE_NEXT", next.join(",")).env("SUPERVISE_SEED", random.u64(..).to_string());
        command.env("SUPERVISE_DRAIN", if is_last { "1" } else { "" });
        let mut child = Child::spawn(&mut command);
        for ledger in &mut ledgers {
            ledger.lives.push(ledger.handled.len());
        }
        // The first line may be early or late in the life of a group.
        let lines = if is_last { usize::MAX } else { random.usize(1..2000) };
        let mut killed = false;
        let mut read = 0;
        while let Some(line) = child.line() {
            let words: Vec<&str> = line.split(' ').collect();
            let [what, queue, number] = words[..] else { panic!("the child says {line}") };
            let ledger = &mut ledgers[queue.parse::<usize>().expect("a queue")];
            let number: u64 = number.parse().expect("a number");
            match what {
                "over" => ledger.handed_over = number,
                "accepted" => assert!(ledger.accepted.insert(number), "accepted once: {line}"),
                "handled" => ledger.handled.push(number),
                _ => panic!("the child says {line}"),
            }
            read += 1;
            // Lines that the child wrote before it died count, so the rest is read too.
            if read >= lines && !killed {
                child.kill();
                killed = true;
            }
        }
        if is_last {
            assert!(child.ended_well(), "the last child drains the store");
        }
    }
    let mut repeats = 0;
    for (queue, ledger) in ledgers.iter().enumerate() {
        repeats += check(queue, ledger);
    }
    (ledgers.iter().map(|ledger| ledger.accepted.len()).sum(), repeats)
}

/// Returns how many messages were handled twice.
fn check(queue: usize, ledger: &Ledger) -> usize {
    let handled: BTreeSet<u64> = ledger.handled.iter().copied().collect();
    let lost: Vec<_> = ledger.accepted.difference(&handled).collect();
    assert!(lost.is_empty(), "queue {queue}: accepted and lost: {lost:?}");
    let unknown: Vec<_> = handled.iter().filter(|&&number| number > ledger.handed_over).collect();
    assert!(unknown.is_empty(), "queue {queue}: handled and never handed over: {unknown:?}");
    let mut times = BTreeMap::<u64, usize>::new();
    let mut highest = 0;
    for (at, &number) in ledger.handled.iter().enumerate() {
        *times.entry(number).or_default() += 1;
        if number <= highest {
            // The first message of a life may be the last one of the life before.
            assert_eq!(number, highest, "queue {queue}: out of order");
            assert!(ledger.lives.contains(&at), "queue {queue}: {number} is handled twice in one life");
        }
        highest = number;
    }
    times.values().filter(|&&times| times > 1).count()
}

/// The child.
pub(crate) async fn work(path: &Path) {
    let variable = |name| std::env::var(name).expect("the parent says so");
    let mut next: Vec<u64> =
        variable("SUPERVISE_NEXT").split(',').map(|number| number.parse().expect("a number")).collect();
    let drains = !variable("SUPERVISE_DRAIN").is_empty();
    let mut random = fastrand::Rng::with_seed(variable("SUPERVISE_SEED").parse().expect("a number"));
    let mut desk = Desk::open(path).await;
    let mut claims = Vec::new();
    for queue in 0..QUEUES {
        claims.push(desk.claim(&format!("queue-{queue}")).await);
    }
    let mut after: Vec<Seq> = claims.iter().map(|claim| claim.handled).collect();
    let mut acknowledged: Vec<Change> = Vec::new();
    loop {
        let mut changes = std::mem::take(&mut acknowledged);
        let mut handed_over = Vec::new();
        for _ in 0..if drains { 0 } else { random.usize(1..12) } {
            let queue = random.usize(..QUEUES);
            let number = next[queue];
            next[queue] += 1;
            say(format_args!("over {queue} {number}"));
            let mut body = number.to_le_bytes().to_vec();
            body.resize(random.usize(8..600), 1);
            changes.push(append(claims[queue].queue, &body));
            handed_over.push((queue, number));
        }
        desk.commit(changes).await;
        for (queue, number) in handed_over {
            say(format_args!("accepted {queue} {number}"));
        }
        let mut was_idle = true;
        for (queue, claim) in claims.iter().enumerate() {
            let messages = if drains { 100 } else { random.usize(1..4) };
            let page = desk.store.page(claim.queue, after[queue], Room { messages, bytes: 1 << 20 }).await;
            for message in page.expect("the queue can be read") {
                desk.opened.marks.begun(claim.queue, message.seq, after[queue]);
                let number =
                    message.body.first_chunk().map(|bytes| u64::from_le_bytes(*bytes)).expect("it has a number");
                say(format_args!("handled {queue} {number}"));
                acknowledged.push(handled(claim.queue, message.seq.0));
                after[queue] = message.seq;
                was_idle = false;
            }
            desk.opened.marks.idle(claim.queue, after[queue]);
        }
        if drains && was_idle {
            desk.commit(acknowledged).await;
            break;
        }
    }
    desk.close().await;
}
