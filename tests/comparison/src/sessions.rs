//! Piece B: one session for each key, which ends when it is idle.
//!
//! What every version does:
//!
//! - The first message for a key starts a session, which opens the key in the [`Store`]. A session handles the messages of its key in
//!   order, and no other message.
//! - A session that has had no message for `idle` closes its key and ends. Messages that arrive while it ends are handled, in order, by
//!   the next session, which opens the key when the last one has closed it. A key never has two sessions at once.
//! - A session that panics is replaced. The messages that wait behind the poisoned one are handled by the next session. Other sessions
//!   do not notice.
//! - [`Sessions::stop`] handles all accepted messages and closes all keys.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use crate::memory;
use crate::orders::Refusal;
use crate::report::Report;
use crate::store::{POISON, Store};

/// How long the harness waits for something that should happen.
const PATIENCE: Duration = Duration::from_secs(10);

/// What each version implements.
pub trait Sessions: Send + Sync + 'static {
    fn start(store: Store, idle: Duration) -> impl Future<Output = Self>;

    /// Returns `Ok` when the number is accepted. It is appended later.
    fn append(&self, key: u64, number: u64) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// How many numbers the key's present session has appended, after the messages that were sent before.
    fn count(&self, key: u64) -> impl Future<Output = Result<usize, Refusal>> + Send;

    /// Handles all accepted messages, closes all keys and ends.
    fn stop(&self) -> impl Future<Output = ()>;
}

/// Runs all scenes with one version.
pub async fn run<S: Sessions>(report: &mut Report) {
    idle::<S>(report).await;
    collisions::<S>(report).await;
    panics::<S>(report).await;
    stopped::<S>(report).await;
}

/// How many of the accepted numbers are not in the store, are there twice, and are out of order. Each key was sent `1..=accepted(key)`.
fn judge(store: &Store, keys: u64, accepted: impl Fn(u64) -> u64, scene: &str, report: &mut Report) {
    let (mut lost, mut doubled, mut disordered) = (0, 0, 0);
    for key in 0..keys {
        let numbers = store.numbers(key);
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        disordered += usize::from(sorted != numbers);
        sorted.dedup();
        doubled += numbers.len() - sorted.len();
        lost += usize::try_from(accepted(key)).unwrap_or(usize::MAX).saturating_sub(sorted.len());
    }
    report.count(scene, "lost", lost);
    report.count(scene, "doubled", doubled);
    report.count(scene, "keys out of order", disordered);
    report.count(scene, "two sessions at once", store.overlaps());
}

/// 10 000 keys get three numbers each, and then nothing.
async fn idle<S: Sessions>(report: &mut Report) {
    const KEYS: u64 = 10_000;
    let store = Store::new(10_000);
    let service = S::start(store.clone(), Duration::from_secs(2)).await;
    let before = memory::now();
    let begun = Instant::now();
    for number in 1..=3 {
        for key in 0..KEYS {
            service.append(key, number).await.expect("it is accepted");
        }
    }
    let mut unanswered = 0;
    for key in 0..KEYS {
        unanswered += usize::from(service.count(key).await.is_err());
    }
    report.time("idle", "40 000 messages took", Some(begun.elapsed()));
    report.count("idle", "questions unanswered", unanswered);
    // On a machine that is slow, some sessions have ended already.
    let mut live = store.live();
    let sessions = *live.borrow_and_update();
    report.bytes("idle", "memory per session", memory::now().saturating_sub(before) / sessions.max(1));
    let ended = timeout(PATIENCE, live.wait_for(|live| *live == 0)).await.is_ok();
    report.time("idle", "all ended after", ended.then(|| begun.elapsed()));
    report.bytes("idle", "memory left", memory::when_settled().await.saturating_sub(before));
    service.stop().await;
    judge(&store, KEYS, |_| 3, "idle", report);
}

/// 200 keys, 20 times: as soon as the session begins to end, three more numbers arrive.
async fn collisions<S: Sessions>(report: &mut Report) {
    const KEYS: u64 = 200;
    let store = Store::new(200);
    let (gate, mut ending) = mpsc::unbounded_channel();
    store.set_gate(Some(gate));
    let service = Arc::new(S::start(store.clone(), Duration::from_millis(20)).await);
    let mut sent = vec![1_u64; 200];
    for key in 0..KEYS {
        service.append(key, 1).await.expect("it is accepted");
    }
    let mut left = KEYS;
    while left > 0 {
        let Ok(Some((key, go_on))) = timeout(PATIENCE, ending.recv()).await else { break };
        let last = sent.get_mut(usize::try_from(key).unwrap_or(usize::MAX)).expect("a key of this scene");
        if *last >= 61 {
            left -= 1;
            let _it_waits = go_on.send(());
            continue;
        }
        // The message is sent now. A version may let its callers wait until the session has ended.
        let numbers = *last + 1..=*last + 3;
        *last += 3;
        let mut accepted = Box::pin(async {
            for number in numbers {
                service.append(key, number).await.expect("it is accepted");
            }
        });
        let at_once = futures_util::poll!(&mut accepted).is_ready();
        let _it_waits = go_on.send(());
        if !at_once {
            accepted.await;
        }
    }
    report.count("collisions", "keys that hang", usize::try_from(left).unwrap_or(usize::MAX));
    store.set_gate(None);
    drop(ending);
    service.stop().await;
    report.count("collisions", "sessions", store.opened());
    judge(&store, KEYS, |_| 61, "collisions", report);
}

/// 1 000 keys. One session in ten panics, with three messages waiting behind.
async fn panics<S: Sessions>(report: &mut Report) {
    const KEYS: u64 = 1000;
    let store = Store::new(1000);
    let service = S::start(store.clone(), Duration::from_secs(60)).await;
    for key in 0..KEYS {
        service.append(key, 1).await.expect("it is accepted");
    }
    let mut refused = 0;
    for key in 0..KEYS {
        if key % 10 == 0 {
            service.append(key, POISON).await.expect("it is accepted");
        }
        for number in 2..=4 {
            refused += usize::from(service.append(key, number).await.is_err());
        }
    }
    let counts = join_all((0..KEYS).map(|key| service.count(key))).await;
    let restarted = |key: usize| if key.is_multiple_of(10) { Ok(3) } else { Ok(4) };
    let wrong = counts.iter().enumerate().filter(|(key, count)| **count != restarted(*key)).count();
    report.count("panics", "sessions in a wrong state", wrong);
    report.count("panics", "refused", refused);
    service.stop().await;
    judge(&store, KEYS, |_| 4, "panics", report);
}

/// 10 000 keys. The service is stopped when it has accepted three numbers for each and has not appended any.
async fn stopped<S: Sessions>(report: &mut Report) {
    const KEYS: u64 = 10_000;
    let store = Store::new(10_000);
    store.pause(true);
    let service = S::start(store.clone(), Duration::from_secs(60)).await;
    for number in 1..=3 {
        for key in 0..KEYS {
            service.append(key, number).await.expect("it is accepted");
        }
    }
    let begun = Instant::now();
    let mut stop = Box::pin(service.stop());
    let at_once = futures_util::poll!(&mut stop).is_ready();
    store.pause(false);
    if !at_once {
        stop.await;
    }
    report.time("stopping", "took", Some(begun.elapsed()));
    report.count("stopping", "keys left open", *store.live().borrow());
    judge(&store, KEYS, |_| 3, "stopping", report);
}
