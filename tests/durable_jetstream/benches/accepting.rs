//! How many messages per second a system accepts with `JetStreamStore`, beside a bare publish and its acknowledgement.
//!
//! ```text
//! cargo bench -p supervise-tests-durable-jetstream
//! ```
//!
//! Starts Debian's `nats-server`. Each producer is a task that waits until its message is accepted before it sends the next one. The two
//! take turns, and the figures are the medians of the rounds and of their own ratios.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_nats::jetstream;
use supervise::durable::JetStreamStore;
use supervise::prelude::*;
use tokio::task::JoinSet;

const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(700);
const BODY: usize = 100;

#[actor(mailbox = durable(capacity = 100_000_000))]
struct Orders;

#[actor]
impl Orders {
    #[handler]
    fn place(&mut self, order: String) {
        drop(order);
    }
}

/// The server, with a folder of its own.
struct Server {
    process: Child,
    folder: std::path::PathBuf,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It is a server for this program alone, in a temporary folder.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let folder = std::env::temp_dir().join(format!("accepting-{}", std::process::id()));
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let port = free.expect("there is a free port").port();
    let process = Command::new("nats-server")
        .args(["-js", "-a", "127.0.0.1", "-p", &port.to_string(), "-sd"])
        .arg(&folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(process) = process else {
        println!("skipped: nats-server is not installed (apt-get install nats-server)");
        return;
    };
    let _server = Server { process, folder };
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let url = format!("nats://127.0.0.1:{port}");
    println!("accepted per second, {BODY} bytes each (load {})", load());
    println!("| producers | bare publish and ack | supervise | x bare |");
    println!("|---|---|---|---|");
    for producers in [1, 64] {
        rates(&url, producers).await;
    }
}

async fn rates(url: &str, producers: u32) {
    let client = async_nats::connect(url).await.expect("the server runs");
    let context = jetstream::new(client);
    let config = jetstream::stream::Config {
        name: format!("bare-{producers}"),
        subjects: vec![format!("bare.{producers}")],
        ..jetstream::stream::Config::default()
    };
    context.create_stream(config).await.expect("it is new");
    let system = ActorSystem::builder(format!("bench-{producers}")).store(JetStreamStore::new(url)).start();
    let system = system.expect("the name is valid");
    system.store().ready().await.expect("it opens");
    let sender = system.store().sender::<Orders>("orders");
    let (mut bares, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let context = context.clone();
        let publish = move || {
            let context = context.clone();
            async move {
                let sent = context.publish(format!("bare.{producers}"), body().into()).await.expect("it runs");
                sent.await.expect("there is room");
            }
        };
        bares.push(rate(producers, publish).await);
        let sender = sender.clone();
        let accept = move || {
            let sender = sender.clone();
            async move { sender.accepted(OrdersMessage::Place { order: body() }).await.expect("there is room") }
        };
        ours.push(rate(producers, accept).await);
    }
    let ratio = median(ours.iter().zip(&bares).map(|(ours, bare)| ours / bare).collect());
    println!("| {producers} | {:.0} | {:.0} | {ratio:.2} |", median(bares), median(ours));
    system.terminate().await;
}

async fn rate<F: Future<Output = ()> + Send + 'static>(
    producers: u32,
    send: impl Fn() -> F + Clone + Send + 'static,
) -> f64 {
    let over = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    let began = Instant::now();
    for _ in 0..producers {
        let (over, send) = (Arc::clone(&over), send.clone());
        tasks.spawn(async move {
            let mut accepted = 0_u32;
            while !over.load(Ordering::Relaxed) {
                send().await;
                accepted += 1;
            }
            accepted
        });
    }
    tokio::time::sleep(ROUND).await;
    over.store(true, Ordering::Relaxed);
    let accepted: u32 = tasks.join_all().await.into_iter().sum();
    f64::from(accepted) / began.elapsed().as_secs_f64()
}

fn body() -> String {
    "x".repeat(BODY)
}

/// The load of the machine in the last minute.
fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
