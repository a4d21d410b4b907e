//! What things cost, counted rather than timed: heap allocations per operation, and, under valgrind, instructions.
//!
//! ```sh
//! cargo bench -p supervise-core --bench costs                    # allocations
//! cargo bench -p supervise-core --bench costs -- --instructions  # instructions too, if valgrind is installed
//! ```
//!
//! Instructions are the difference between two runs of different length, so that what happens once does not count.

use std::ops::ControlFlow;
use std::process::{Command, ExitCode};

use allocation_counter::measure;
use supervise_core::{
    Actor, ActorRef, ActorSystem, ChildInfo, Context, Directive, Failure, ReplyTo, Request, Supervisor, generated,
};

/// Operations in the short run of each workload; the long run does twice as many.
const OPERATIONS: u32 = 2_000;

const WORKLOADS: [&str; 11] = [
    "raw tell",
    "tell",
    "tell, async handler",
    "raw ask",
    "ask",
    "ask, inline handler",
    "spawn",
    "raw spawn and stop",
    "spawn and stop",
    "raw restart by Err",
    "restart by Err",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match &arguments[..] {
        [] => report(false),
        [flag] if flag == "--instructions" => report(true),
        [workload, operations] => match operations.parse() {
            Ok(operations) => {
                run(workload, operations);
                ExitCode::SUCCESS
            }
            Err(error) => usage(&error.to_string()),
        },
        _ => usage("what is that?"),
    }
}

fn usage(mistake: &str) -> ExitCode {
    eprintln!("{mistake}\nusage: costs [--instructions | WORKLOAD OPERATIONS]");
    ExitCode::FAILURE
}

fn report(with_instructions: bool) -> ExitCode {
    println!(
        "| workload | allocations | bytes allocated |{}",
        if with_instructions { " instructions |" } else { "" }
    );
    println!("|---|---|---|{}", if with_instructions { "---|" } else { "" });
    for workload in WORKLOADS {
        let short = measure(|| run(workload, OPERATIONS));
        let long = measure(|| run(workload, 2 * OPERATIONS));
        let per_operation = |short: u64, long: u64| {
            (f64::from(u32::try_from(long).unwrap_or(u32::MAX))
                - f64::from(u32::try_from(short).unwrap_or(u32::MAX)))
                / f64::from(OPERATIONS)
        };
        let allocations = per_operation(short.count_total, long.count_total);
        let bytes = per_operation(short.bytes_total, long.bytes_total);
        let instructions = if with_instructions {
            let counted = instructions(workload, 2 * OPERATIONS)
                .and_then(|long| Ok(long - instructions(workload, OPERATIONS)?));
            match counted {
                Ok(counted) => format!(" {} |", counted / u64::from(OPERATIONS)),
                Err(error) => {
                    eprintln!("cannot count instructions: {error}");
                    return ExitCode::FAILURE;
                }
            }
        } else {
            String::new()
        };
        println!("| {workload} | {allocations:.2} | {bytes:.0} |{instructions}");
    }
    ExitCode::SUCCESS
}

/// Runs this program again under valgrind and reads its total.
fn instructions(workload: &str, operations: u32) -> Result<u64, Box<dyn std::error::Error>> {
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
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        match workload {
            "raw tell" => return raw::tell(operations).await,
            "raw ask" => return raw::ask(operations).await,
            "raw spawn and stop" => return raw::spawn_and_stop(operations).await,
            "raw restart by Err" => return raw::restart(operations).await,
            _ => {}
        }
        let system = ActorSystem::new("costs");
        match workload {
            "tell" => tell(&system, operations, || Work::Add).await,
            "tell, async handler" => tell(&system, operations, || Work::AddSoon).await,
            "ask" => ask(&system, operations, total).await,
            "ask, inline handler" => ask(&system, operations, |worker| total(worker).inline()).await,
            "spawn" => drop(spawn(&system, operations)),
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

async fn ask(system: &ActorSystem, operations: u32, total: fn(&ActorRef<Worker>) -> Request<'_, Worker, u32>) {
    let worker = system.spawn("worker", || Worker(0)).expect("a free name");
    for _ in 0..operations {
        total(&worker).await.expect("an answer");
    }
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

    fn handle_now(&mut self, message: Work, ctx: &mut Context<Self>) -> ControlFlow<Result<(), Failure>, Work> {
        match message {
            Work::Add => self.0 += 1,
            Work::Total(reply) => generated::hold(ctx, reply).answer(ctx, self.0),
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
    }

    fn worker() -> (mpsc::UnboundedSender<Work>, JoinHandle<()>) {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let factory = || 0;
        let task = tokio::spawn(async move {
            let mut total = factory();
            while let Some(work) = receiver.recv().await {
                if handle(&mut total, work).is_err() {
                    total = factory();
                }
            }
        });
        (sender, task)
    }

    fn handle(total: &mut u32, work: Work) -> Result<(), AsTold> {
        match work {
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

    pub(super) async fn ask(operations: u32) {
        let (worker, _) = worker();
        for _ in 0..operations {
            total(&worker).await;
        }
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
