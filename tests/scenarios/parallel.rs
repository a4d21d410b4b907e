//! A handler that blocks its thread holds up nobody who could run on another one. Rule 1.10.
//!
//! The tests wait for events, never for times: a handler blocks until something else has happened, which cannot happen if that
//! waits for the handler.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use supervise::AskError;
use supervise::prelude::*;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::block_in_place;

/// After so long a test has failed. It never takes this long when it passes.
const TOO_LONG: Duration = Duration::from_secs(20);

/// Something that several threads wait for.
#[derive(Clone)]
struct Gate(Arc<(Mutex<usize>, Condvar)>);

impl Gate {
    /// Opens when `parties` have come.
    fn new(parties: usize) -> Self {
        Self(Arc::new((Mutex::new(parties), Condvar::new())))
    }

    fn come(&self) {
        let mut missing = self.0.0.lock().unwrap();
        *missing = missing.saturating_sub(1);
        self.0.1.notify_all();
    }

    /// Blocks the thread until all have come.
    fn block(&self) {
        let missing = self.0.0.lock().unwrap();
        let (missing, _) = self.0.1.wait_timeout_while(missing, TOO_LONG, |missing| *missing > 0).unwrap();
        assert_eq!(*missing, 0, "so many are still missing");
    }
}

#[actor]
struct Worker;

#[actor]
impl Worker {
    #[handler]
    fn answer(&self) -> u32 {
        7
    }

    #[handler]
    fn come(&self, gate: Gate) {
        gate.come();
    }

    /// Blocks the thread.
    #[handler]
    fn block(&self, gate: Gate) {
        gate.block();
    }

    #[handler]
    fn come_and_block(&self, gate: Gate) {
        gate.come();
        gate.block();
    }

    #[handler]
    fn come_and_block_in_place(&self, gate: Gate) {
        block_in_place(|| {
            gate.come();
            gate.block();
        });
    }
}

/// Does several things within one turn.
#[actor]
struct Boss {
    workers: Vec<WorkerRef>,
}

#[actor]
impl Boss {
    #[handler]
    async fn tell_one_to_block_and_ask_another(&self) -> u32 {
        let gate = Gate::new(1);
        self.workers[0].block(gate.clone()).tell().unwrap();
        let answer = self.workers[1].answer().await.unwrap();
        gate.come();
        answer
    }

    #[handler]
    fn tell_all_to_meet(&self, gate: Gate) {
        for worker in &self.workers {
            worker.come_and_block(gate.clone()).tell().unwrap();
        }
    }

    /// The one that is told last may have to wait for this turn, as with a tokio task for each actor.
    #[handler]
    fn tell_all_and_block_until_all_but_one_are_done(&self) {
        let gate = Gate::new(self.workers.len() - 1);
        for worker in &self.workers {
            worker.come(gate.clone()).tell().unwrap();
        }
        gate.block();
    }

    #[handler]
    fn ask_in_place(&self) -> u32 {
        let answer = within(self.workers[0].answer().into_future());
        block_in_place(|| Handle::current().block_on(answer)).unwrap().unwrap()
    }

    #[handler]
    fn tell_and_wait_in_place(&self) {
        let gate = Gate::new(1);
        self.workers[0].come(gate.clone()).tell().unwrap();
        block_in_place(|| gate.block());
    }

    #[handler]
    fn let_a_thread_ask_and_wait_in_place(&self) -> u32 {
        let (worker, runtime) = (self.workers[0].clone(), Handle::current());
        let thread = std::thread::spawn(move || {
            runtime.block_on(async { within(worker.answer().into_future()).await }).unwrap().unwrap()
        });
        block_in_place(|| thread.join().unwrap())
    }
}

/// Asks the next one in place, and so on to the end of the line.
#[actor]
struct Link {
    next: Option<LinkRef>,
}

#[actor]
impl Link {
    #[handler]
    fn depth(&self) -> u32 {
        let Some(next) = &self.next else { return 1 };
        let depth = within(next.depth().into_future());
        1 + block_in_place(|| Handle::current().block_on(depth)).unwrap().unwrap()
    }
}

fn within<F: Future>(future: F) -> tokio::time::Timeout<F> {
    // A `Timeout` may only be made within a runtime.
    tokio::time::timeout(TOO_LONG, future)
}

fn runtime(threads: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(threads).enable_all().build().unwrap()
}

/// A boss of so many workers, which have all started.
async fn boss(system: &ActorSystem, workers: usize) -> BossRef {
    let workers: Vec<_> = (0..workers).map(|_| system.spawn_anonymous(|| Worker).unwrap()).collect();
    for worker in &workers {
        worker.answer().await.unwrap();
    }
    system.spawn_anonymous(move || Boss { workers: workers.clone() }).unwrap()
}

#[test]
fn an_ask_does_not_wait_for_a_neighbour_that_blocks() {
    for threads in [2, 4, 8] {
        runtime(threads).block_on(async {
            let system = ActorSystem::new("neighbours");
            for _ in 0..50 {
                let boss = boss(&system, 2).await;
                let asked = tokio::spawn(async move { boss.tell_one_to_block_and_ask_another().await });
                assert_eq!(within(asked).await.unwrap().unwrap().unwrap(), 7);
            }
            system.terminate().await;
        });
    }
}

/// As many actors as there are threads meet, which they can only if each has a thread.
#[test]
fn what_one_turn_tells_runs_on_all_threads() {
    for threads in [1, 2, 4, 8] {
        runtime(threads).block_on(async {
            let system = ActorSystem::new("meeting");
            for _ in 0..50 {
                let boss = boss(&system, threads).await;
                let gate = Gate::new(threads);
                boss.tell_all_to_meet(gate.clone()).await.unwrap();
                // This thread is not one of the runtime's.
                gate.block();
            }
            system.terminate().await;
        });
    }
}

#[test]
fn what_a_turn_has_told_does_not_wait_for_the_turn() {
    for threads in [2, 4, 8] {
        runtime(threads).block_on(async {
            let system = ActorSystem::new("computing");
            for _ in 0..20 {
                let boss = boss(&system, 100).await;
                boss.tell_all_and_block_until_all_but_one_are_done().await.unwrap();
            }
            system.terminate().await;
        });
    }
}

#[test]
fn an_ask_from_outside_does_not_wait_for_a_handler_that_blocks() {
    for threads in [2, 4, 8] {
        let runtime = runtime(threads);
        let system = runtime.block_on(async { ActorSystem::new("outside") });
        let (busy, idle) = (system.spawn("busy", || Worker).unwrap(), system.spawn("idle", || Worker).unwrap());
        for _ in 0..50 {
            let gates: Vec<_> = (1..threads).map(|_| Gate::new(1)).collect();
            for gate in &gates {
                busy.block(gate.clone()).tell().unwrap();
            }
            // Of this thread, which is none of the runtime's, and of a task.
            assert_eq!(runtime.block_on(async { within(idle.answer().into_future()).await }).unwrap().unwrap(), 7);
            let asking = runtime.spawn({
                let idle = idle.clone();
                async move { idle.answer().await }
            });
            assert_eq!(runtime.block_on(async { within(asking).await }).unwrap().unwrap().unwrap(), 7);
            gates.iter().for_each(Gate::come);
            // All gates but the last have been passed when the actor answers.
            assert_eq!(runtime.block_on(async { within(busy.answer().into_future()).await }).unwrap().unwrap(), 7);
        }
        runtime.block_on(system.terminate());
    }
}

#[test]
fn a_handler_may_wait_in_place_for_what_others_do() {
    for threads in [1, 2, 8] {
        runtime(threads).block_on(async {
            let system = ActorSystem::new("in-place");
            for _ in 0..20 {
                let boss = boss(&system, 1).await;
                assert_eq!(boss.ask_in_place().await.unwrap(), 7);
                boss.tell_and_wait_in_place().await.unwrap();
                assert_eq!(boss.let_a_thread_ask_and_wait_in_place().await.unwrap(), 7);
            }
            system.terminate().await;
        });
    }
}

#[test]
fn handlers_may_wait_in_place_for_one_another_at_any_depth() {
    for threads in [1, 2, 8] {
        runtime(threads).block_on(async {
            let system = ActorSystem::new("line");
            let mut next = None;
            for _ in 0..20 {
                next = Some(system.spawn_anonymous(move || Link { next: next.clone() }).unwrap());
            }
            for _ in 0..10 {
                assert_eq!(next.as_ref().unwrap().depth().await.unwrap(), 20);
            }
            system.terminate().await;
        });
    }
}

/// tokio gives each of them a thread.
#[test]
fn any_number_of_handlers_may_block_in_place() {
    for threads in [1, 2, 8] {
        let runtime = runtime(threads);
        let system = runtime.block_on(async { ActorSystem::new("meeting-in-place") });
        let workers: Vec<_> = (0..40).map(|_| system.spawn_anonymous(|| Worker).unwrap()).collect();
        for _ in 0..5 {
            let gate = Gate::new(workers.len());
            for worker in &workers {
                worker.come_and_block_in_place(gate.clone()).tell().unwrap();
            }
            gate.block();
        }
        runtime.block_on(system.terminate());
    }
}

/// A plain task that blocks its thread, and what it has told before.
#[test]
fn an_actor_does_not_wait_for_a_task_that_blocks() {
    let runtime = runtime(2);
    let system = runtime.block_on(async { ActorSystem::new("task") });
    let workers: Vec<_> = (0..2).map(|_| system.spawn_anonymous(|| Worker).unwrap()).collect();
    for _ in 0..50 {
        let (told, tell): (SyncSender<()>, Receiver<()>) = sync_channel(0);
        let gate = Gate::new(1);
        let task = runtime.spawn({
            let (workers, gate) = (workers.clone(), gate.clone());
            async move {
                // The last one that a task wakes may have to wait for it, as with any other task.
                workers[0].come(gate.clone()).tell().unwrap();
                workers[1].answer().tell().unwrap();
                gate.block();
                drop(told);
            }
        });
        tell.recv().unwrap_err();
        runtime.block_on(task).unwrap();
    }
    runtime.block_on(system.terminate());
}

/// Keeps every worker in `block_in_place` until the gate opens.
fn hold_all_workers(system: &ActorSystem, threads: usize, gate: &Gate) {
    let came = Gate::new(threads);
    for _ in 0..threads {
        let holder = system.spawn_anonymous(|| Holder).unwrap();
        holder.hold(came.clone(), gate.clone()).tell().unwrap();
    }
    came.block();
}

#[actor]
struct Holder;

#[actor]
impl Holder {
    #[handler]
    fn hold(&self, came: Gate, gate: Gate) {
        block_in_place(|| {
            came.come();
            gate.block();
        });
    }
}

/// Rule 6.6. One tokio task per actor would be dropped with the runtime too.
#[test]
fn a_handler_in_place_does_not_keep_others_waiting_when_their_runtime_is_gone() {
    for threads in [1, 2, 4] {
        let theirs = runtime(threads);
        let system = theirs.block_on(async { ActorSystem::new("theirs") });
        let idle = system.spawn_anonymous(|| Worker).unwrap();
        theirs.block_on(async { idle.answer().await }).unwrap();
        let open = Gate::new(1);
        hold_all_workers(&system, 1, &open);
        theirs.shutdown_background();
        let ours = runtime(1);
        // The shutdown may take effect at any moment.
        ours.block_on(async { within(system.when_terminated()).await }).unwrap().unwrap_err();
        let answer = ours.block_on(async { within(idle.answer().into_future()).await });
        assert!(matches!(answer, Ok(Err(AskError::Stopped))), "{answer:?}");
        open.come();
    }
}
