//! Piece A: orders into a database. A pool of writers, each with one connection; callers wait for the answer, with a time limit.
//!
//! What every version does:
//!
//! - Each of `writers` connections is made again when it breaks, with delays from [`SHORTEST`] to [`LONGEST`].
//! - An order waits while there is no connection. About `waiting` orders may wait in total; the next one is refused at once.
//! - An order is given to the database at most once. If its connection breaks, its caller learns that.
//! - An order whose caller has given up is not written, unless the database has it already.
//! - A rejected order costs nothing but itself. If the driver panics, its connection is made anew, and the orders that wait, wait on.
//! - If a writer has had no connection for `give_up_after`, the service ends and says why.
//! - [`Orders::stop`] writes the orders that wait, refuses others, and closes the connections.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

use crate::database::{Database, Kind, Order};
use crate::memory;
use crate::report::Report;

pub const SHORTEST: Duration = Duration::from_millis(20);
pub const LONGEST: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, Copy)]
pub struct Settings {
    pub server: SocketAddr,
    pub writers: usize,
    /// How many orders may wait, for all writers together.
    pub waiting: usize,
    /// How long a caller waits.
    pub limit: Duration,
    pub give_up_after: Duration,
}

/// Why an order was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the database has rejected it")]
    Rejected,
    #[error("too many wait")]
    Busy,
    #[error("no answer in time")]
    Late,
    #[error("the connection broke, or the driver failed")]
    Failed,
    #[error("the service has stopped")]
    Stopped,
}

/// What each version implements.
pub trait Orders: Send + Sync + 'static {
    fn start(settings: Settings) -> impl Future<Output = Self>;

    /// Returns `Ok` when the order is in the database.
    fn place(&self, order: Order) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// Waits until the service has ended by itself, and returns the reason.
    fn ended(&self) -> impl Future<Output = String>;

    /// Writes the orders that wait, refuses others, and returns when the connections are closed.
    fn stop(&self) -> impl Future<Output = ()>;
}

/// What became of an order.
struct Answer {
    number: u64,
    kind: Kind,
    result: Result<(), Refusal>,
    at: Instant,
}

/// The callers of a service.
struct Callers<S> {
    service: Arc<S>,
    numbers: AtomicU64,
    answers: Mutex<Vec<Answer>>,
}

impl<S: Orders> Callers<S> {
    async fn start(settings: Settings) -> Arc<Self> {
        let service = Arc::new(S::start(settings).await);
        // The harness's own data must not count as memory of the service.
        let answers = Mutex::new(Vec::with_capacity(50_000));
        let callers = Arc::new(Self { service, numbers: AtomicU64::new(0), answers });
        // All connections are there when each writer has written.
        join_all((0..settings.writers * 4).map(|_| callers.place(Kind::Good))).await;
        callers
    }

    async fn place(&self, kind: Kind) -> Result<(), Refusal> {
        let number = self.numbers.fetch_add(1, Relaxed);
        let result = self.service.place(Order { number, kind }).await;
        let answer = Answer { number, kind, result, at: Instant::now() };
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).push(answer);
        result
    }

    /// Places `per_millisecond` orders each millisecond, each by a task of its own, until `faults` is over, and waits for all answers.
    async fn while_orders_come<T>(self: &Arc<Self>, per_millisecond: usize, faults: impl Future<Output = T>) -> T {
        let mut orders = JoinSet::new();
        let mut ticks = interval(Duration::from_millis(1));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        tokio::pin!(faults);
        let result = loop {
            tokio::select! {
                biased;
                result = &mut faults => break result,
                _ = ticks.tick() => {
                    for _ in 0..per_millisecond {
                        let callers = Arc::clone(self);
                        orders.spawn(async move { callers.place(Kind::Good).await });
                    }
                    while orders.try_join_next().is_some() {}
                }
            }
        };
        while orders.join_next().await.is_some() {}
        result
    }

    /// Stops the service, compares the answers with the table, and adds the counts to the report.
    async fn finish(self: Arc<Self>, database: Database, scene: &str, report: &mut Report) -> io::Result<()> {
        self.service.stop().await;
        let mut rows: HashMap<u64, u64> = HashMap::new();
        for row in database.rows().await? {
            *rows.entry(row).or_default() += 1;
        }
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let count = |refusal| answers.iter().filter(|answer| answer.result == Err(refusal)).count();
        let accepted: HashSet<_> = answers.iter().filter(|it| it.result.is_ok()).map(|it| it.number).collect();
        report.count(scene, "accepted", accepted.len());
        report.count(scene, "failed", count(Refusal::Failed));
        report.count(scene, "late", count(Refusal::Late));
        report.count(scene, "busy", count(Refusal::Busy));
        report.count(scene, "stopped", count(Refusal::Stopped));
        report.count(scene, "lost", accepted.iter().filter(|number| !rows.contains_key(number)).count());
        report.count(scene, "doubled", rows.values().filter(|times| **times > 1).count());
        report.count(scene, "written for nobody", rows.keys().filter(|row| !accepted.contains(row)).count());
        Ok(())
    }

    /// How long after `fault` the first order was accepted, and the last one refused.
    fn recovery(&self, since: Instant, scene: &str, report: &mut Report) {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let later = || answers.iter().filter(|answer| answer.at >= since);
        let first = later().filter(|answer| answer.result.is_ok()).map(|answer| answer.at - since).min();
        let last = later().filter(|answer| answer.result.is_err()).map(|answer| answer.at - since).max();
        report.time(scene, "first accepted", first);
        report.time(scene, "last refused", Some(last.unwrap_or_default()));
    }
}

fn settings(database: &Database) -> Settings {
    Settings {
        server: database.address(),
        writers: 4,
        waiting: 1000,
        limit: Duration::from_secs(1),
        give_up_after: Duration::from_secs(60),
    }
}

/// Runs all scenes with one version.
pub async fn run<S: Orders>(report: &mut Report) -> io::Result<()> {
    if std::env::var("ONLY").is_ok() {
        return gone::<S>(report).await;
    }
    poison::<S>(report).await?;
    killed::<S>(report).await?;
    hanging::<S>(report).await?;
    flood::<S>(report).await?;
    gone::<S>(report).await?;
    stopped::<S>(report).await
}

/// One order in a hundred is rejected, and another one makes the driver panic.
async fn poison<S: Orders>(report: &mut Report) -> io::Result<()> {
    let database = Database::start("poison").await?;
    let callers = Callers::<S>::start(settings(&database)).await;
    let begun = Instant::now();
    let caller = |caller: u64| {
        let callers = Arc::clone(&callers);
        async move {
            for turn in 0..100 {
                let kind = match (turn + caller) % 100 {
                    13 => Kind::Poison,
                    57 => Kind::Rejected,
                    _ => Kind::Good,
                };
                let _counted = callers.place(kind).await;
            }
        }
    };
    join_all((0..32).map(caller).map(tokio::spawn)).await;
    report.time("poison", "3 200 orders took", Some(begun.elapsed()));
    let others = {
        let answers = callers.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.iter().filter(|answer| answer.kind == Kind::Good && answer.result.is_err()).count()
    };
    report.count("poison", "other orders refused", others);
    callers.finish(database, "poison", report).await
}

/// The server is killed and comes back after 600 ms, half way between two attempts of those who wait for the whole delays.
async fn killed<S: Orders>(report: &mut Report) -> io::Result<()> {
    let mut database = Database::start("killed").await?;
    let callers = Callers::<S>::start(settings(&database)).await;
    let back = callers
        .while_orders_come(2, async {
            sleep(Duration::from_millis(500)).await;
            database.kill().await?;
            sleep(Duration::from_millis(600)).await;
            database.bring_back().await?;
            let back = Instant::now();
            sleep(Duration::from_secs(1)).await;
            io::Result::Ok(back)
        })
        .await?;
    callers.recovery(back, "killed", report);
    callers.finish(database, "killed", report).await
}

/// The server hangs for a second and a half.
async fn hanging<S: Orders>(report: &mut Report) -> io::Result<()> {
    let database = Database::start("hanging").await?;
    let callers = Callers::<S>::start(settings(&database)).await;
    let back = callers
        .while_orders_come(2, async {
            sleep(Duration::from_millis(300)).await;
            database.hang()?;
            sleep(Duration::from_millis(1500)).await;
            database.go_on()?;
            let back = Instant::now();
            sleep(Duration::from_millis(1200)).await;
            io::Result::Ok(back)
        })
        .await?;
    callers.recovery(back, "hanging", report);
    callers.finish(database, "hanging", report).await
}

/// The server is away for ten seconds, and orders keep coming.
async fn flood<S: Orders>(report: &mut Report) -> io::Result<()> {
    let mut database = Database::start("flood").await?;
    let callers = Callers::<S>::start(settings(&database)).await;
    let before = memory::now();
    memory::reset_peak();
    let back = callers
        .while_orders_come(4, async {
            database.kill().await?;
            sleep(Duration::from_secs(10)).await;
            report.bytes("flood", "peak memory", memory::peak().saturating_sub(before));
            database.bring_back().await?;
            let back = Instant::now();
            sleep(Duration::from_millis(1500)).await;
            io::Result::Ok(back)
        })
        .await?;
    callers.recovery(back, "flood", report);
    callers.finish(database, "flood", report).await
}

/// The server does not come back. The service is to end and to say why.
async fn gone<S: Orders>(report: &mut Report) -> io::Result<()> {
    let mut database = Database::start("gone").await?;
    let give_up_after = Duration::from_secs(1);
    let callers = Callers::<S>::start(Settings { give_up_after, ..settings(&database) }).await;
    database.kill().await?;
    let begun = Instant::now();
    let service = Arc::clone(&callers.service);
    let ended = async {
        let reason = timeout(Duration::from_secs(4), service.ended()).await.ok()?;
        Some((reason, begun.elapsed()))
    };
    let ended = callers.while_orders_come(1, ended).await;
    report.time("gone", "ended after", ended.as_ref().map(|(_, after)| *after));
    let says_why = ended.is_some_and(|(reason, _)| reason.contains("connection"));
    report.text("gone", "says why", if says_why { "yes" } else { "no" });
    callers.finish(database, "gone", report).await
}

/// The service is stopped while 500 orders wait.
async fn stopped<S: Orders>(report: &mut Report) -> io::Result<()> {
    let database = Database::start("stopped").await?;
    let callers = Callers::<S>::start(settings(&database)).await;
    let mut orders = join_all((0..500).map(|_| callers.place(Kind::Good)));
    // The first poll sends them all.
    assert!(futures_util::poll!(&mut orders).is_pending());
    let begun = Instant::now();
    let (results, ()) = tokio::join!(orders, callers.service.stop());
    report.time("stopped", "took", Some(begun.elapsed()));
    report.count("stopped", "waiting orders refused", results.iter().filter(|result| result.is_err()).count());
    let late = timeout(Duration::from_secs(2), callers.place(Kind::Good)).await;
    let late = late.map_or_else(
        |_| "hangs".to_owned(),
        |result| result.map_or_else(|it| it.to_string(), |()| "?".to_owned()),
    );
    report.text("stopped", "a later order", late);
    callers.finish(database, "stopped", report).await
}
