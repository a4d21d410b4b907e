//! Everything fails at once, for a bounded number of operations. Nothing is lost, nothing leaks, and nothing
//! hangs.
//!
//! Eight threads tell, ask, stop, kill, poison and spawn. Handlers fail, panic, hang and spawn; so do factories and hooks;
//! instances and messages panic when they are dropped; deciders panic. In the end:
//!
//! 1. The system terminates, and does so in time.
//! 2. Every message was handled, failed or aborted with its handler, became a dead letter, or was
//!    refused by a full mailbox: each exactly once.
//! 3. No instance, no task and no memory is left.
//!
//! `README.md` beside this directory says how to run it longer, and again with the same seed.

mod parcel;
mod victim;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cap::Cap;
use supervise::prelude::*;
use supervise::{Envelope, Event, SendError, SendErrorReason};
use tokio::runtime::Handle;
use tokio::time::timeout;

use parcel::Parcel;
use victim::{CHAOS, TOPS, VictimMessage, VictimRef, World, props};

#[global_allocator]
static ALLOCATOR: Cap<std::alloc::System> = Cap::new(std::alloc::System, usize::MAX);

const THREADS: u64 = 8;

/// How many bytes the test harness may allocate between two runs.
const SLACK: usize = 1024;

/// How many runs may leave memory before that counts as a leak.
const RUNS: usize = 3;

fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.replace('_', "").parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

#[test]
fn nothing_hangs_leaks_or_gets_lost_in_chaos() {
    silence_chaos();
    let seed = setting("SOAK_SEED").unwrap_or_else(|| fastrand::u64(..));
    let operations = setting("SOAK_OPERATIONS").unwrap_or(20_000);
    println!("SOAK_SEED={seed} SOAK_OPERATIONS={operations}");
    // The first run makes the allocations that happen once for each thread or type.
    in_time(seed, (operations / 10).max(2_000));
    // Not all of them: tokio's locks keep a table of the threads that ever waited, and it grows when many wait at once.
    // That shows in a single run; a leak shows in every run.
    let mut left = Vec::new();
    while left.last().is_none_or(|bytes| *bytes > SLACK) {
        assert!(left.len() < RUNS, "{left:?} bytes are left by {RUNS} runs, seed {seed}");
        let before = ALLOCATOR.allocated();
        in_time(seed.wrapping_add(1 + left.len() as u64), operations);
        left.push(ALLOCATOR.allocated().saturating_sub(before));
    }
}

/// Panics that are part of the plan are not printed.
fn silence_chaos() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panic.payload().downcast_ref::<&str>() != Some(&CHAOS) {
            tell(panic);
        }
    }));
}

/// Runs once, watched from another thread, because a thread that hangs cannot say so.
fn in_time(seed: u64, operations: u64) {
    let patience = Duration::from_secs(60) + Duration::from_millis(operations);
    let (done, finished) = mpsc::channel();
    let run = std::thread::spawn(move || {
        run(seed, operations);
        let _nobody_waits_any_more = done.send(());
    });
    let in_time = finished.recv_timeout(patience);
    assert!(in_time != Err(mpsc::RecvTimeoutError::Timeout), "it hangs, seed {seed}");
    run.join().unwrap_or_else(|_| panic!("seed {seed}"));
}

fn run(seed: u64, operations: u64) {
    let began = Instant::now();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let world = Arc::new(World::new(seed));
    runtime.block_on(async {
        let system = ActorSystem::builder("soak").event_capacity(1 << 16).start().unwrap();
        let mut events = system.events().subscribe();
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (world, system) = (Arc::clone(&world), system.clone());
                let runtime = Handle::current();
                std::thread::spawn(move || {
                    let _in_runtime = runtime.enter();
                    let mut rng = fastrand::Rng::with_seed(seed ^ thread);
                    for _ in 0..operations / THREADS {
                        operate(&system, &runtime, &world, &mut rng);
                    }
                })
            })
            .collect();
        let mut end = std::pin::pin!(async {
            let joined = tokio::task::spawn_blocking(|| threads.into_iter().try_for_each(JoinHandle::join));
            assert!(joined.await.unwrap().is_ok(), "a thread of the test failed");
            system.terminate().await;
        });
        let mut letters = 0;
        let mut count = |event| match event {
            Event::DeadLetter(letter) if letter.message.contains("Work") => letters += 1,
            Event::Missed(events) => panic!("{events} events were missed"),
            _ => {}
        };
        loop {
            tokio::select! {
                biased;
                Some(event) = events.recv() => count(event),
                () = &mut end => break,
            }
        }
        while let Some(event) = events.try_recv() {
            count(event);
        }
        assert!(system.has_terminated());
        world.forget_refs();
        let told = &world.told;
        let [sent, handled, broken, unopened, refused] =
            [&told.sent, &told.handled, &told.broken, &told.unopened, &told.refused]
                .map(|count| count.load(SeqCst));
        println!(
            "seed {seed}: {sent} messages, {handled} handled, {broken} failed or aborted, {unopened} unopened, \
             {letters} dead letters, {refused} refused, {} instances, {:.1?}",
            world.made.load(SeqCst),
            began.elapsed()
        );
        assert_eq!(sent, handled + broken + unopened, "messages got lost");
        assert_eq!(
            unopened,
            letters + refused,
            "each message that nobody handled is one dead letter, or was refused"
        );
        assert_eq!(world.alive.load(SeqCst), 0, "instances are left");
        let tasks = Handle::current().metrics();
        while tasks.num_alive_tasks() > 0 {
            tokio::task::yield_now().await;
        }
    });
}

/// One thing that happens from outside.
fn operate(system: &ActorSystem, runtime: &Handle, world: &Arc<World>, rng: &mut fastrand::Rng) {
    let Some(victim) = world.any(rng) else {
        // Threads that are on their way must be able to continue, even if none arrives.
        let arrival = world.arrival.notified();
        spawn(system, world, rng);
        let _whatever = runtime.block_on(async { timeout(Duration::from_millis(1), arrival).await });
        return;
    };
    match rng.u32(..100) {
        0..60 => drop(note(world, || victim.work(Parcel::new(&world.told, rng)).tell())),
        // The asker goes away at once.
        60..75 => drop(note(world, || victim.work(Parcel::new(&world.told, rng)).ask())),
        // The asker waits for a while, and so lets the actors get on.
        75..90 => wait(runtime, world, &victim, rng),
        90..92 => victim.actor_ref().stop(),
        92..94 => victim.actor_ref().kill(),
        94 => victim.actor_ref().poison(),
        95 if rng.u32(..4) == 0 => storm(world, rng),
        _ => spawn(system, world, rng),
    }
}

fn spawn(system: &ActorSystem, world: &Arc<World>, rng: &mut fastrand::Rng) {
    let seat = rng.usize(..TOPS);
    // Most names are taken.
    let _ = system.spawn_with(format!("top-{seat}"), props(world, seat, 0));
}

/// Sends a message. A message that a full mailbox refuses is not a dead letter. Dropping it here may panic,
/// because it is the user's value.
fn note<T>(world: &World, send: impl FnOnce() -> Result<T, SendError<Envelope<VictimMessage>>>) -> Option<T> {
    let attempt = catch_unwind(AssertUnwindSafe(|| {
        let result = send();
        if result.as_ref().is_err_and(|error| error.reason() == SendErrorReason::MailboxFull) {
            world.told.refused.fetch_add(1, SeqCst);
        }
        result.ok()
    }));
    attempt.ok().flatten()
}

/// Asks, and waits for a bounded time. `MailboxFull` does not prove a refusal: a message that was accepted and later
/// displaced is a dead letter, and its asker gets the same error.
fn wait(runtime: &Handle, world: &World, victim: &VictimRef, rng: &mut fastrand::Rng) {
    if let Some(answer) = note(world, || victim.work(Parcel::new(&world.told, rng)).ask()) {
        let _whatever = runtime.block_on(async { timeout(Duration::from_millis(2), answer).await });
    }
}

/// Stops the same actor many times, while others do the same.
fn storm(world: &World, rng: &mut fastrand::Rng) {
    let Some(victim) = world.any(rng) else { return };
    for _ in 0..8 {
        victim.actor_ref().stop();
        victim.actor_ref().kill();
    }
}
