//! Many children fail at once, while another task wants to run every millisecond.
//!
//! Rule 7.10: children that failed before a restart of their group reached them restart once. A mailbox survives a restart, so
//! a child that had not handled its message yet fails after the restart, which is another failure. Meanwhile the runtime
//! continues to run other tasks.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

use supervise::prelude::*;
use supervise::{Backoff, Count, Directive, Props, Scope, Strategy};

#[derive(Debug, thiserror::Error)]
#[error("as told")]
struct AsTold;

#[actor]
struct Child {
    starts: Arc<AtomicU64>,
}

#[actor]
impl Child {
    #[pre_start]
    fn started(&mut self) {
        self.starts.fetch_add(1, Relaxed);
    }

    #[handler]
    fn fail(&mut self) -> Result<(), AsTold> {
        Err(AsTold)
    }

    /// Answered by a child that is well.
    #[handler]
    fn ping(&mut self) {}
}

#[actor]
#[supervise(on(AsTold) = Restart)]
struct Parent;

#[actor]
impl Parent {
    #[handler]
    fn children(&mut self, number: usize, starts: Arc<AtomicU64>, ctx: &mut Context<Self>) -> Vec<ChildRef> {
        let child = || {
            let starts = Arc::clone(&starts);
            ctx.spawn_anonymous(move || Child { starts: Arc::clone(&starts) }).expect("a running parent")
        };
        std::iter::repeat_with(child).take(number).collect()
    }
}

/// The observations of one storm.
#[derive(Debug)]
struct Seen {
    restarts: u64,
    /// The longest time between two turns of the task that wants a turn every millisecond.
    gap: Duration,
    took: Duration,
}

/// Wants a turn every millisecond until the storm is over, and one more. Returns the longest time that it waited.
async fn tick(done: Arc<AtomicBool>) -> Duration {
    let (mut gap, mut last) = (Duration::ZERO, Instant::now());
    loop {
        let was_done = done.load(Relaxed);
        tokio::time::sleep(Duration::from_millis(1)).await;
        gap = gap.max(last.elapsed());
        last = Instant::now();
        if was_done {
            return gap;
        }
    }
}

/// Which child fails first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    FirstFirst,
    LastFirst,
}

/// Lets all children fail at once, and waits until each has recovered or ended.
async fn storm(children: usize, order: Order, strategy: Strategy, directive: Directive) -> Seen {
    let system = ActorSystem::new("storm");
    let props = Props::new(|| Parent).supervision_unchecked(strategy, move |_, _| Ok(directive));
    let parent = system.spawn_with("parent", props).expect("a free name");
    let starts = Arc::new(AtomicU64::new(0));
    let refs = parent.children(children, Arc::clone(&starts)).await.expect("an answer");
    for child in &refs {
        child.ping().await.expect("a child that is well");
    }
    let before = starts.load(Relaxed);
    let done = Arc::new(AtomicBool::new(false));
    let ticker = tokio::spawn(tick(Arc::clone(&done)));
    tokio::task::yield_now().await;
    let begun = Instant::now();
    let fail = |child: &ChildRef| {
        // With several workers, other children already run, and a limit may have stopped this one.
        let _stopped = child.fail().tell();
    };
    match order {
        Order::FirstFirst => refs.iter().for_each(fail),
        Order::LastFirst => refs.iter().rev().for_each(fail),
    }
    let mut well = 0;
    for child in &refs {
        match child.ping().await {
            Ok(()) => well += 1,
            Err(error) if error.has_stopped() => {}
            Err(other) => panic!("{other}"),
        }
    }
    let took = begun.elapsed();
    done.store(true, Relaxed);
    let gap = ticker.await.expect("no panic");
    if strategy.limit.is_unlimited() && directive == Directive::Restart {
        assert_eq!(well, children, "under {strategy:?}");
    }
    system.terminate().await;
    Seen { restarts: starts.load(Relaxed) - before, gap, took }
}

/// How often a storm is repeated if the ticker waits too long.
const TRIES: usize = 5;

/// Compares storms of groups with one that takes each child alone.
fn run(workers: usize, children: usize, order: Order, most_restarts: u64) {
    let builder = &mut tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(workers).enable_all().build().expect("a runtime");
    let storm = |strategy, directive| {
        runtime.block_on(runtime.spawn(storm(children, order, strategy, directive))).expect("no panic")
    };
    let control = storm(Strategy::one_for_one(), Directive::Restart);
    assert_eq!(control.restarts, children as u64, "one restart for each failure");
    let bound = Duration::from_millis(50) + 3 * control.took;
    let backoff = Backoff::exponential(Duration::from_millis(20), Duration::from_millis(20));
    let (all, rest) = (Strategy::all_for_one(), Strategy::rest_for_one());
    for (strategy, directive) in [
        (all, Directive::Restart),
        (all.max_retries(3), Directive::Restart),
        (all.max_retries(3).count(Count::Supervisor), Directive::Restart),
        (all.backoff(backoff), Directive::Restart),
        (all, Directive::Stop),
        (rest, Directive::Restart),
        (rest.max_retries(3), Directive::Restart),
        (rest.backoff(backoff), Directive::Restart),
    ] {
        if (order, strategy.scope) == (Order::LastFirst, Scope::RestForOne) && strategy.backoff.is_some() {
            // Each failure takes over the delays of all earlier ones, which takes time.
            continue;
        }
        // Other processes may use the processor in the middle of a storm, so a long gap counts only if every try has one.
        let long_gaps: Vec<_> = (0..TRIES)
            .map_while(|_| {
                let seen = storm(strategy, directive);
                assert!(seen.restarts <= most_restarts * children as u64, "{seen:?} under {strategy:?}");
                (seen.gap > bound).then_some(seen.gap)
            })
            .collect();
        assert!(long_gaps.len() < TRIES, "{long_gaps:?} under {strategy:?}, alone {control:?}");
    }
}

/// One worker: all have failed before their parent has its turn.
#[test]
fn a_storm_on_one_worker_restarts_each_child_once() {
    for children in [1_000, 10_000] {
        for order in [Order::FirstFirst, Order::LastFirst] {
            run(1, children, order, 1);
        }
    }
}

/// The parent decides while some have not failed yet: they do so as new instances, which is a new failure.
#[test]
fn a_storm_on_two_workers_restarts_each_child_a_few_times() {
    for children in [1_000, 10_000] {
        for order in [Order::FirstFirst, Order::LastFirst] {
            run(2, children, order, 10);
        }
    }
}
