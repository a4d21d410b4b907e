//! A handler that blocks its thread does not hold up actors that could run on another one. Rule 1.10.
//!
//! The tests wait for events, never for times. A handler blocks until something else has happened, which could not happen if
//! it waited for the handler.
//!
//! Each scene begins while the threads that it needs are asleep. A tokio thread that is just falling asleep can miss a task
//! that another thread queues: it does not look again, and tokio wakes only threads that already sleep. Until something
//! else wakes it, that task waits for the other thread, and a task of plain tokio would wait too.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use supervise::AskError;
use supervise::prelude::*;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::block_in_place;

/// After this long, a test has failed. A test that passes never takes this long.
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

    fn is_open(&self) -> bool {
        *self.0.0.lock().unwrap() == 0
    }

    /// Blocks the thread until all have come.
    fn block(&self) {
        let missing = self.0.0.lock().unwrap();
        let (missing, _) = self.0.1.wait_timeout_while(missing, TOO_LONG, |missing| *missing > 0).unwrap();
        assert_eq!(*missing, 0, "this many are still missing");
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

    /// The actor that is told last may have to wait for this turn, as with a tokio task for each actor.
    #[handler]
    fn tell_all_and_block_until_all_but_one_are_done(&self) {
        let gate = Gate::new(self.workers.len() - 1);
        for worker in &self.workers {
            worker.come(gate.clone()).tell().unwrap();
        }
        gate.block();
    }

    /// Blocks its thread until another thread of the runtime has run a task and fallen asleep again. Returns whether the worker has
    /// come by then.
    #[handler]
    fn tell_one_and_block_until_all_others_sleep(&self, gate: Gate) -> bool {
        self.workers[0].come(gate.clone()).tell().unwrap();
        let (awake, runtime) = (Gate::new(1), Handle::current());
        let wakes = awake.clone();
        // From a thread outside the runtime, so that the task goes to another thread than this one.
        let outside = std::thread::spawn(move || drop(runtime.spawn(async move { wakes.come() })));
        awake.block();
        outside.join().unwrap();
        until_awake(&Handle::current(), 1);
        gate.is_open()
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

/// Waits until at most this many threads of the runtime are awake.
fn until_awake(runtime: &Handle, threads: usize) {
    let metrics = runtime.metrics();
    // An odd number of steps into sleep and out of it: the thread sleeps.
    let awake =
        || (0..metrics.num_workers()).filter(|it| metrics.worker_park_unpark_count(*it).is_multiple_of(2)).count();
    let began = Instant::now();
    while awake() > threads {
        assert!(began.elapsed() < TOO_LONG, "{} threads are awake", awake());
        std::thread::yield_now();
    }
}

/// A boss with this many workers, which have all started.
async fn boss(system: &ActorSystem, workers: usize) -> BossRef {
    let workers: Vec<_> = (0..workers).map(|_| system.spawn_anonymous(|| Worker).unwrap()).collect();
    for worker in &workers {
        worker.answer().await.unwrap();
    }
    let boss = system.spawn_anonymous(move || Boss { workers: workers.clone() }).unwrap();
    until_awake(&Handle::current(), 0);
    boss
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

/// As many actors as there are threads wait for each other, which works only if each has a thread.
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

/// The exception of rule 1.10: waking another thread for each single message would cost more than the message.
#[test]
fn a_single_actor_that_a_turn_has_told_waits_for_the_end_of_the_turn() {
    for threads in [2, 4, 8] {
        runtime(threads).block_on(async {
            let system = ActorSystem::new("single");
            for _ in 0..20 {
                let boss = boss(&system, 1).await;
                let gate = Gate::new(1);
                let came = boss.tell_one_and_block_until_all_others_sleep(gate.clone()).await.unwrap();
                assert!(!came, "rule 1.10 says that it may have to wait");
                // This thread is not one of the runtime's.
                gate.block();
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
            until_awake(runtime.handle(), 0);
            for gate in &gates {
                busy.block(gate.clone()).tell().unwrap();
            }
            // From this thread, which does not belong to the runtime, and from a task.
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

/// A plain task blocks its thread after it has told an actor something.
#[test]
fn an_actor_does_not_wait_for_a_task_that_blocks() {
    let runtime = runtime(2);
    let system = runtime.block_on(async { ActorSystem::new("task") });
    let workers: Vec<_> = (0..2).map(|_| system.spawn_anonymous(|| Worker).unwrap()).collect();
    for _ in 0..50 {
        let (told, tell): (SyncSender<()>, Receiver<()>) = sync_channel(0);
        let gate = Gate::new(1);
        until_awake(runtime.handle(), 0);
        let task = runtime.spawn({
            let (workers, gate) = (workers.clone(), gate.clone());
            async move {
                // The last actor that a task wakes may have to wait for that task, as any other task may.
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

/// A worker that the task wakes must not stay behind the task, and must not keep others from finding a thread.
#[test]
fn an_ask_does_not_wait_for_a_task_that_blocks_while_all_workers_are_in_place() {
    for threads in [2, 4] {
        let runtime = runtime(threads);
        let system = runtime.block_on(async { ActorSystem::new("all-in-place") });
        let (told, asked) = (system.spawn("told", || Worker).unwrap(), system.spawn("asked", || Worker).unwrap());
        let open = Gate::new(1);
        hold_all_workers(&system, threads, &open);
        for _ in 0..20 {
            until_awake(runtime.handle(), 0);
            let (has_told, over) = (Gate::new(1), Gate::new(1));
            let task = runtime.spawn({
                let (told, has_told, over) = (told.clone(), has_told.clone(), over.clone());
                async move {
                    told.answer().tell().unwrap();
                    has_told.come();
                    over.block();
                }
            });
            has_told.block();
            let answer = runtime.block_on(async { within(asked.answer().into_future()).await });
            assert_eq!(answer.unwrap().unwrap(), 7);
            over.come();
            runtime.block_on(task).unwrap();
        }
        open.come();
        runtime.block_on(system.terminate());
    }
}

/// Where a thread of a runtime passes, and can be held.
#[derive(Clone)]
struct Door(Arc<(Mutex<Passing>, Condvar)>);

struct Passing {
    closed: bool,
    held: usize,
}

impl Door {
    fn new() -> Self {
        Self(Arc::new((Mutex::new(Passing { closed: false, held: 0 }), Condvar::new())))
    }

    fn pass(&self) {
        let mut passing = self.0.0.lock().unwrap();
        passing.held += 1;
        self.0.1.notify_all();
        passing = self.0.1.wait_while(passing, |passing| passing.closed).unwrap();
        passing.held -= 1;
    }

    fn close(&self) {
        self.0.0.lock().unwrap().closed = true;
    }

    fn open(&self) {
        self.0.0.lock().unwrap().closed = false;
        self.0.1.notify_all();
    }

    fn wait_for_one(&self) {
        let passing = self.0.0.lock().unwrap();
        let (passing, _) = self.0.1.wait_timeout_while(passing, TOO_LONG, |passing| passing.held == 0).unwrap();
        assert!(passing.held > 0, "no thread has come to the door");
    }
}

/// Tells two actors, lets the other thread fall asleep, and then tells further ones.
#[actor]
struct Teller {
    workers: Vec<WorkerRef>,
    falling_asleep: Door,
}

#[actor]
impl Teller {
    #[handler]
    fn go_on_until_somebody_has_come(&self, is_over: Gate) {
        let gate = Gate::new(1);
        for (told, worker) in self.workers.iter().enumerate() {
            if told == 2 {
                self.falling_asleep.open();
                until_awake(&Handle::current(), 1);
            }
            worker.come(gate.clone()).tell().unwrap();
        }
        gate.block();
        is_over.come();
    }
}

/// The other thread misses the first two, because it is just falling asleep and tokio does not let it look again.
#[test]
fn a_turn_that_goes_on_telling_wakes_a_thread_that_has_missed_what_it_told_first() {
    let (waking, falling_asleep) = (Door::new(), Door::new());
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .on_thread_unpark({
            let door = waking.clone();
            move || door.pass()
        })
        .on_thread_park({
            let door = falling_asleep.clone();
            move || door.pass()
        })
        .build()
        .unwrap();
    let system = runtime.block_on(async { ActorSystem::new("missed") });
    let workers: Vec<_> = (0..20).map(|_| system.spawn_anonymous(|| Worker).unwrap()).collect();
    for worker in &workers {
        runtime.block_on(async { worker.answer().await }).unwrap();
    }
    let teller = system.spawn("teller", {
        let falling_asleep = falling_asleep.clone();
        move || Teller { workers: workers.clone(), falling_asleep: falling_asleep.clone() }
    });
    let teller = teller.unwrap();
    for _ in 0..20 {
        until_awake(runtime.handle(), 0);
        // One thread is held by a task, the other one while it wakes: tokio counts it as one that looks for work.
        let (began, over, done) = (Gate::new(1), Gate::new(1), Gate::new(1));
        let holding = runtime.spawn({
            let (began, over) = (began.clone(), over.clone());
            async move {
                began.come();
                over.block();
            }
        });
        began.block();
        until_awake(runtime.handle(), 1);
        waking.close();
        let short = runtime.spawn({
            let done = done.clone();
            async move { done.come() }
        });
        waking.wait_for_one();
        // So the first thread must not look for work itself when it has done both tasks. The test holds it while it falls
        // asleep.
        falling_asleep.close();
        over.come();
        done.block();
        falling_asleep.wait_for_one();
        let is_over = Gate::new(1);
        teller.go_on_until_somebody_has_come(is_over.clone()).tell().unwrap();
        waking.open();
        is_over.block();
        runtime.block_on(async { (holding.await.unwrap(), short.await.unwrap()) });
    }
    runtime.block_on(system.terminate());
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
