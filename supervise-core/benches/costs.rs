//! The cost of operations, counted rather than timed: heap allocations per operation, and, under valgrind,
//! instructions.
//!
//! ```sh
//! cargo bench -p supervise-core --bench costs                    # allocations
//! cargo bench -p supervise-core --bench costs -- --instructions  # instructions too, if valgrind is installed
//! ```
//!
//! It fails if a figure exceeds its limit. Instructions are the difference between two runs of different length, so that what
//! happens once does not count.

use std::error::Error;
use std::ops::ControlFlow;
use std::process::{Command, ExitCode};

use allocation_counter::measure;
use supervise_core::{
    Actor, ActorRef, ActorSystem, ChildInfo, Context, Directive, Failure, Interest, MailboxKind, Overflow, Props,
    ReplyTo, Request, Supervisor, generated,
};

/// Operations in the short run of each workload; the long run does twice as many.
const OPERATIONS: u32 = 2_000;

/// How many actors are idle at a time.
const IDLE: u32 = 1_000_000;

/// How many bytes of the heap an idle actor may hold: its cell, its task, its factory, and, when these tables
/// grow, its place in the table of its siblings and in this program's own. With the feature `timing` also what chooses the messages
/// and knows the one that is timed.
const IDLE_BYTES: f64 = if cfg!(feature = "timing") { 930.0 } else { 832.0 };

struct Workload {
    name: &'static str,
    /// `None` for a row that is only there for comparison.
    limits: Option<Limits>,
}

/// What an operation may cost. Instructions differ a little between releases of the compiler.
struct Limits {
    allocations: f64,
    instructions: u64,
}

/// The limits of a row. `observe` and `timing` are the instructions that these features may add.
const fn ours(name: &'static str, allocations: f64, instructions: u64, observe: u64, timing: u64) -> Workload {
    let observe = if cfg!(feature = "observe") { observe } else { 0 };
    let timing = if cfg!(feature = "timing") { timing } else { 0 };
    Workload { name, limits: Some(Limits { allocations, instructions: instructions + observe + timing }) }
}

const fn raw(name: &'static str) -> Workload {
    Workload { name, limits: None }
}

const WORKLOADS: [Workload; 19] = [
    raw("raw tell"),
    ours("tell", 0.0, 228, 0, 8),
    ours("tell, async handler", 0.0, 428, 10, 10),
    raw("raw send, bounded"),
    ours("send, bounded", 0.0, 306, 0, 26),
    raw("raw ask"),
    ours("ask", 1.0, 2_466, 90, 20),
    ours("ask, inline handler", 1.0, 1_243, 95, 15),
    raw("raw ping-pong"),
    ours("ping-pong", 0.0, 669, 15, 15),
    // Apart from its own allocations, its share of those that grow its parent's tables.
    ours("spawn", 2.0, 5_342, 80, 20),
    // With a subscriber to failures and dead letters, such as the console: one more check of the kind of event.
    ours("spawn, failures heard", 2.0, 5_382, 80, 20),
    // With a subscriber to all events, which gets those of the start and of the end. Their paths are made when
    // they are read.
    ours("spawn, all heard", 2.0, 6_429, 80, 20),
    raw("raw spawn and stop"),
    ours("spawn and stop", 2.0, 5_393, 80, 20),
    raw("raw restart by Err"),
    // The supervisor's turn is within that of the failing actor. By function, the protocol's steps take 1 800 of these, carrying out their
    // effects 1 000, the turns 1 000, tokio 1 000, the mailboxes 550, the allocator 530. The rest is the ask that waits for the new instance.
    ours("restart by Err", 2.0, 6_854, 170, 18),
    // The event of the decision: it needs the time and the text of the failure. The paths are kept from the first failure on, and the text
    // as long as it is the same.
    ours("restart by Err, failures heard", 2.0, 9_289, 220, 19),
    // And the event of the restart.
    ours("restart by Err, all heard", 2.0, 9_605, 220, 17),
];

/// With the feature `timing`, while one message in 64 is timed.
const TIMED: &[Workload] = if cfg!(feature = "timing") {
    &[
        ours("timed tell", 0.0, 228, 0, 25),
        ours("timed tell, async handler", 0.0, 428, 10, 25),
        ours("timed ask", 1.0, 2_466, 90, 90),
        ours("timed ping-pong", 0.0, 669, 15, 80),
    ]
} else {
    &[]
};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let done = match &arguments[..] {
        [] => report(false),
        [flag] if flag == "--instructions" => report(true),
        [workload, operations] => match operations.parse() {
            Ok(operations) => {
                run(workload, operations);
                Ok(())
            }
            Err(error) => usage(&error.to_string()),
        },
        _ => usage("what is that?"),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn usage(mistake: &str) -> Result<(), Box<dyn Error>> {
    Err(format!("{mistake}\nusage: costs [--instructions | WORKLOAD OPERATIONS]").into())
}

/// Prints all figures. Returns an error if one exceeds its limit.
fn report(with_instructions: bool) -> Result<(), Box<dyn Error>> {
    let mut too_much = Vec::new();
    println!(
        "| workload | allocations | limit | bytes allocated | instructions | limit |\n|---|---|---|---|---|---|"
    );
    for Workload { name, limits } in WORKLOADS.iter().chain(TIMED) {
        let (short, long) = (measure(|| run(name, OPERATIONS)), measure(|| run(name, 2 * OPERATIONS)));
        let allocations = per_operation(short.count_total, long.count_total);
        let bytes = per_operation(short.bytes_total, long.bytes_total);
        let instructions = if with_instructions {
            Some((instructions(name, 2 * OPERATIONS)? - instructions(name, OPERATIONS)?) / u64::from(OPERATIONS))
        } else {
            None
        };
        let shown = |number: Option<u64>| number.map_or("–".to_owned(), |number| number.to_string());
        let (counted, most) = (shown(instructions), shown(limits.as_ref().map(|limits| limits.instructions)));
        let at_most = limits.as_ref().map_or("–".to_owned(), |limits| format!("{:.2}", limits.allocations));
        println!("| {name} | {allocations:.2} | {at_most} | {bytes:.0} | {counted} | {most} |");
        if let Some(limits) = limits
            && (allocations > limits.allocations + 0.005 || instructions > Some(limits.instructions))
        {
            too_much.push(*name);
        }
    }
    let idle = measure(|| run("idle", IDLE));
    let bytes = as_f64(idle.bytes_max) / f64::from(IDLE);
    println!("\n{IDLE} idle actors: {bytes:.0} bytes of heap each, limit {IDLE_BYTES}");
    if bytes > IDLE_BYTES {
        too_much.push("idle");
    }
    if too_much.is_empty() { Ok(()) } else { Err(format!("beyond the limit: {}", too_much.join(", ")).into()) }
}

fn per_operation(short: u64, long: u64) -> f64 {
    (as_f64(long) - as_f64(short)) / f64::from(OPERATIONS)
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52, where `f64` is exact")]
fn as_f64(count: u64) -> f64 {
    count as f64
}

/// Runs this program again under valgrind and reads its total.
fn instructions(workload: &str, operations: u32) -> Result<u64, Box<dyn Error>> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args([workload, &operations.to_string()])
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let total = said.lines().find_map(|line| line.split("Collected :").nth(1));
    Ok(total.ok_or("valgrind did not say a total")?.trim().parse()?)
}

fn run(workload: &str, operations: u32) {
    // Paused, so that no timer of tokio's is due in between: how many are depends on how fast the machine is.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
    runtime.block_on(async {
        match workload {
            "raw tell" => return raw::tell(operations).await,
            "raw send, bounded" => return raw::send(operations).await,
            "raw ask" => return raw::ask(operations).await,
            "raw ping-pong" => return raw::pass(operations).await,
            "raw spawn and stop" => return raw::spawn_and_stop(operations).await,
            "raw restart by Err" => return raw::restart(operations).await,
            _ => {}
        }
        let system = ActorSystem::new("costs");
        #[cfg(feature = "timing")]
        if workload.starts_with("timed ") {
            system.begin_timing(64);
        }
        let _events = match workload.rsplit_once(", ") {
            Some((_, "failures heard")) => {
                Some(system.events().subscribe_to(Interest::FAILURES | Interest::DEAD_LETTERS))
            }
            Some((_, "all heard")) => Some(system.events().subscribe()),
            _ => None,
        };
        let plain = workload.trim_start_matches("timed ");
        match plain.trim_end_matches(", failures heard").trim_end_matches(", all heard") {
            "tell" => tell(&system, operations, || Work::Add).await,
            "tell, async handler" => tell(&system, operations, || Work::AddSoon).await,
            "send, bounded" => send(&system, operations).await,
            "ask" => ask(&system, operations, total).await,
            "ask, inline handler" => ask(&system, operations, |worker| total(worker).inline()).await,
            "spawn" => drop(spawn(&system, operations)),
            "ping-pong" => pass(&system, operations).await,
            "idle" => {
                let actors = spawn(&system, operations);
                for actor in &actors {
                    total(actor).await.expect("an answer");
                }
            }
            "spawn and stop" => {
                for actor in spawn(&system, operations) {
                    actor.stop();
                }
            }
            "restart by Err" => restart(&system, operations).await,
            other => panic!("no workload `{other}`"),
        }
        system.terminate().await;
    });
}

async fn tell(system: &ActorSystem, operations: u32, work: fn() -> Work) {
    let worker = system.spawn("worker", || Worker(0)).expect("a free name");
    for n in 0..operations {
        worker.tell(work()).expect("a running actor");
        if n % 256 == 255 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(total(&worker).await.expect("an answer"), operations);
}

/// Waits for room, slightly less often than once per this many messages.
const ROOM: usize = 256;

async fn send(system: &ActorSystem, operations: u32) {
    let mailbox = MailboxKind::Bounded { capacity: ROOM, overflow: Overflow::Fail };
    let worker = system.spawn_with("worker", Props::new(|| Worker(0)).mailbox(mailbox)).expect("a free name");
    for _ in 0..operations {
        let work: Request<'_, _, ()> = Request::new(&worker, Work::Add, |_, _| {});
        work.send().await.expect("a running actor");
    }
    assert_eq!(total(&worker).await.expect("an answer"), operations);
}

async fn ask(system: &ActorSystem, operations: u32, total: fn(&ActorRef<Worker>) -> Request<'_, Worker, u32>) {
    let worker = system.spawn("worker", || Worker(0)).expect("a free name");
    for _ in 0..operations {
        total(&worker).await.expect("an answer");
    }
}

async fn pass(system: &ActorSystem, operations: u32) {
    let [left, right] = ["left", "right"].map(|name| system.spawn(name, || Worker(0)).expect("a free name"));
    let message = Work::Pass { left: operations, to: left.clone(), done: ReplyTo::nowhere() };
    let done: Request<'_, _, u32> = Request::new(&right, message, |message, reply| {
        if let Work::Pass { done, .. } = message {
            *done = reply;
        }
    });
    done.await.expect("an answer");
}

fn spawn(system: &ActorSystem, operations: u32) -> Vec<ActorRef<Worker>> {
    (0..operations).map(|_| system.spawn_anonymous(|| Worker(0)).expect("a running system")).collect()
}

async fn restart(system: &ActorSystem, operations: u32) {
    let worker = system.spawn("worker", || Worker(0)).expect("a free name");
    for _ in 0..operations {
        worker.tell(Work::Fail).expect("a running actor");
        total(&worker).await.expect("an answer");
    }
}

struct Worker(u32);

enum Work {
    Add,
    /// By a handler that may wait.
    AddSoon,
    Total(ReplyTo<u32>),
    Fail,
    /// To and fro between two.
    Pass {
        left: u32,
        to: ActorRef<Worker>,
        done: ReplyTo<u32>,
    },
}

#[derive(Debug, thiserror::Error)]
#[error("as told")]
struct AsTold;

impl Supervisor for Worker {
    type Ref = ActorRef<Self>;

    fn decide(_: &Failure, _: &ChildInfo) -> Result<Directive, Failure> {
        Ok(Directive::Restart)
    }
}

impl Actor for Worker {
    type Message = Work;
    // As `#[actor]` writes it.
    const HAS_LAST_HOOK: bool = false;

    fn handle_now(&mut self, message: Work, ctx: &mut Context<Self>) -> ControlFlow<Result<(), Failure>, Work> {
        match message {
            Work::Add => self.0 += 1,
            Work::Total(reply) => {
                generated::hold(ctx, reply);
                return ControlFlow::Break(generated::reply(ctx, self.0));
            }
            Work::Pass { left: 0, done, .. } => done.answer(0),
            Work::Pass { left, to, done } => {
                to.tell(Work::Pass { left: left - 1, to: ctx.me().clone(), done }).expect("a running actor");
            }
            Work::Fail => return ControlFlow::Break(Err(Failure::new(AsTold))),
            Work::AddSoon => return ControlFlow::Continue(message),
        }
        ControlFlow::Break(Ok(()))
    }

    async fn handle(&mut self, message: Work, _: &mut Context<Self>) -> Result<(), Failure> {
        if let Work::AddSoon = message {
            self.0 += 1;
        }
        Ok(())
    }
}

fn total(worker: &ActorRef<Worker>) -> Request<'_, Worker, u32> {
    Request::new(worker, Work::Total(ReplyTo::nowhere()), |message, to| {
        if let Work::Total(reply) = message {
            *reply = to;
        }
    })
}

/// The same by hand: a loop over a channel, restarts within it.
mod raw {
    use tokio::sync::{mpsc, oneshot};
    use tokio::task::JoinHandle;

    use super::AsTold;

    enum Work {
        Add,
        Total(oneshot::Sender<u32>),
        Fail,
        Pass { left: u32, to: mpsc::UnboundedSender<Work>, done: oneshot::Sender<u32> },
    }

    fn worker() -> (mpsc::UnboundedSender<Work>, JoinHandle<()>) {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let factory = || 0;
        let me = sender.downgrade();
        let task = tokio::spawn(async move {
            let mut total = factory();
            while let Some(work) = receiver.recv().await {
                if handle(&mut total, work, &me).is_err() {
                    total = factory();
                }
            }
        });
        (sender, task)
    }

    fn handle(total: &mut u32, work: Work, me: &mpsc::WeakUnboundedSender<Work>) -> Result<(), AsTold> {
        match work {
            Work::Pass { left: 0, done, .. } => drop(done.send(0)),
            Work::Pass { left, to, done } => {
                let back = me.upgrade().expect("a sender is there");
                assert!(to.send(Work::Pass { left: left - 1, to: back, done }).is_ok(), "a running worker");
            }
            Work::Add => *total += 1,
            Work::Total(reply) => drop(reply.send(*total)),
            Work::Fail => return Err(AsTold),
        }
        Ok(())
    }

    async fn total(worker: &mpsc::UnboundedSender<Work>) -> u32 {
        let (reply, answer) = oneshot::channel();
        assert!(worker.send(Work::Total(reply)).is_ok(), "a running worker");
        answer.await.expect("an answer")
    }

    pub(super) async fn tell(operations: u32) {
        let (worker, _) = worker();
        for n in 0..operations {
            assert!(worker.send(Work::Add).is_ok(), "a running worker");
            if n % 256 == 255 {
                tokio::task::yield_now().await;
            }
        }
        assert_eq!(total(&worker).await, operations);
    }

    pub(super) async fn send(operations: u32) {
        let (sender, mut receiver) = mpsc::channel(super::ROOM);
        let worker = tokio::spawn(async move {
            let mut total = 0;
            while let Some(work) = receiver.recv().await {
                if let Work::Add = work {
                    total += 1;
                }
            }
            total
        });
        for _ in 0..operations {
            assert!(sender.send(Work::Add).await.is_ok(), "a running worker");
        }
        drop(sender);
        assert_eq!(worker.await.expect("a total"), operations);
    }

    pub(super) async fn ask(operations: u32) {
        let (worker, _) = worker();
        for _ in 0..operations {
            total(&worker).await;
        }
    }

    pub(super) async fn pass(operations: u32) {
        let [(one, _), (other, _)] = [worker(), worker()];
        let (done, answer) = oneshot::channel();
        assert!(other.send(Work::Pass { left: operations, to: one.clone(), done }).is_ok(), "a running worker");
        answer.await.expect("an answer");
    }

    pub(super) async fn spawn_and_stop(operations: u32) {
        let workers: Vec<_> = (0..operations).map(|_| worker()).collect();
        for (worker, task) in workers {
            drop(worker);
            task.await.expect("a worker that ends");
        }
    }

    pub(super) async fn restart(operations: u32) {
        let (worker, _) = worker();
        for _ in 0..operations {
            assert!(worker.send(Work::Fail).is_ok(), "a running worker");
            total(&worker).await;
        }
    }
}
