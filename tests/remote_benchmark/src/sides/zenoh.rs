//! Zenoh without actors: each number is one `put`, and the server handles it in the callback of its subscriber. An ask is a `put` there
//! and a `put` back, which is faster than a query.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use supervise_remote_benchmark::{
    Client, Outcome, Role, Told, free_address, patience, role, run, until_input_ends,
};
use tokio::sync::{Notify, oneshot};
use zenoh::Wait as _;
use zenoh::pubsub::Publisher;
use zenoh::qos::CongestionControl;
use zenoh::sample::SampleKind;

const TELL: u64 = 0;
const ASK: u64 = 1;
const TOTAL: u64 = 2;

fn open(listen: &str, seed: Option<&str>) -> Outcome<zenoh::Session> {
    let endpoints = |address: &str| format!("[\"tcp/{address}\"]");
    let mut config = zenoh::Config::default();
    config.insert_json5("mode", "\"peer\"")?;
    config.insert_json5("listen/endpoints", &endpoints(listen))?;
    config.insert_json5("connect/endpoints", &seed.map_or("[]".to_owned(), endpoints))?;
    config.insert_json5("scouting/multicast/enabled", "false")?;
    config.insert_json5("transport/link/tx/lease", &patience().as_millis().to_string())?;
    zenoh::open(config).wait()
}

fn publisher(session: &zenoh::Session, key: &'static str) -> Outcome<Publisher<'static>> {
    session.declare_publisher(key).congestion_control(CongestionControl::Block).wait()
}

fn packet(numbers: [u64; 3]) -> Vec<u8> {
    numbers.into_iter().flat_map(u64::to_le_bytes).collect()
}

fn numbers(packet: &[u8]) -> [u64; 3] {
    let mut numbers = [0; 3];
    for (number, bytes) in numbers.iter_mut().zip(packet.as_chunks().0) {
        *number = u64::from_le_bytes(*bytes);
    }
    numbers
}

fn server() -> Outcome<()> {
    let address = free_address()?;
    let session = open(&address, None)?;
    let answers = publisher(&session, "bench/client")?;
    let told = Mutex::new(Told::default());
    let handle = move |sample: zenoh::sample::Sample| {
        let [what, ask, number] = numbers(&sample.payload().to_bytes());
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = match what {
            TELL => return told.add(number),
            ASK => [ask, number + 1, 0],
            _ => [ask, told.get().0, told.get().1],
        };
        // Without an answer the client waits, and the program that measures says so.
        let _sent = answers.put(packet(answer)).wait();
    };
    session.declare_subscriber("bench/server").callback(handle).background().wait()?;
    let _token = session.liveliness().declare_token("bench/alive").wait()?;
    println!("ready {address}");
    until_input_ends()
}

type Asks = Mutex<HashMap<u64, oneshot::Sender<(u64, u64)>>>;

struct Raw {
    session: zenoh::Session,
    publisher: Publisher<'static>,
    next: AtomicU64,
    asks: Arc<Asks>,
}

impl Raw {
    async fn request(&self, what: u64, number: u64) -> Outcome<(u64, u64)> {
        let ask = self.next.fetch_add(1, Ordering::Relaxed);
        let (answers, answer) = oneshot::channel();
        self.asks.lock().unwrap_or_else(PoisonError::into_inner).insert(ask, answers);
        self.publisher.put(packet([what, ask, number])).wait()?;
        Ok(answer.await?)
    }
}

impl Client for Raw {
    async fn ask(&self, number: u64) -> Outcome<u64> {
        Ok(self.request(ASK, number).await?.0)
    }

    async fn tell(&self, number: u64) -> Outcome<()> {
        self.publisher.put(packet([TELL, 0, number])).wait()
    }

    async fn told(&self) -> Outcome<(u64, u64)> {
        self.request(TOTAL, 0).await
    }

    async fn watch(&self) -> Outcome<impl Future<Output = ()> + Send> {
        let gone = Arc::new(Notify::new());
        let notifies = Arc::clone(&gone);
        let subscriber = self.session.liveliness().declare_subscriber("bench/alive").history(true);
        let told = move |sample: zenoh::sample::Sample| {
            if sample.kind() == SampleKind::Delete {
                notifies.notify_one();
            }
        };
        subscriber.callback(told).background().wait()?;
        Ok(async move { gone.notified().await })
    }
}

fn client(server: &str) -> Outcome<()> {
    let session = open(&free_address()?, Some(server))?;
    let asks = Arc::new(Asks::default());
    let waiting = Arc::clone(&asks);
    let answered = move |sample: zenoh::sample::Sample| {
        let [ask, one, two] = numbers(&sample.payload().to_bytes());
        if let Some(asker) = waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&ask) {
            // An error means that nobody waits any more.
            let _gone = asker.send((one, two));
        }
    };
    session.declare_subscriber("bench/client").callback(answered).background().wait()?;
    let publisher = publisher(&session, "bench/server")?;
    while !publisher.matching_status().wait()?.matching() {
        std::thread::sleep(Duration::from_millis(10));
    }
    // Zenoh knows the server's subscriber now; the server learns of this one in the same exchange, but may need a moment more.
    std::thread::sleep(Duration::from_millis(100));
    let raw = Raw { session, publisher, next: AtomicU64::new(0), asks };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(run(raw))
}

fn main() -> Outcome<()> {
    match role()? {
        Role::Server => server(),
        Role::Client(address) => client(&address),
        Role::Own(..) => Err("nothing of its own".into()),
    }
}
