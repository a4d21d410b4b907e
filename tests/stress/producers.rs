//! Many producers send to few actors, and the test accounts for every message.
//!
//! Threads send to actors with mailboxes of every kind, as fast as they can. Handlers fail, panic and wait. Actors are
//! stopped, poisoned and killed, and other actors replace them. In the end:
//!
//! 1. Every message was handled, was dropped by the handler that failed on it, or was never opened.
//! 2. Each message that was never opened is one dead letter, or was refused by a full mailbox.
//! 3. The messages of one producer to one actor were opened in the order in which they were sent, across
//!    restarts.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use supervise::prelude::*;
use supervise::{Envelope, Event, MailboxKind, Overflow, Props, SendError, SendErrorReason};
use tokio::runtime::Handle;

use crate::profile::from_env;

const PRODUCERS: usize = 8;
const COUNTERS: usize = 10;

/// How many messages may be on their way, and how many dead letters unread, before producers wait.
const UNDER_WAY: u64 = 1 << 13;

/// How long the run may take: a fixed time, and a time for each message.
const PATIENCE: (Duration, Duration) = (Duration::from_micros(100), Duration::from_secs(30));

/// The outcomes of all messages.
#[derive(Default)]
struct Told {
    sent: AtomicU64,
    handled: AtomicU64,
    /// Dropped by a handler that had opened it.
    broken: AtomicU64,
    unopened: AtomicU64,
    /// Of these, given back because the mailbox was full.
    refused: AtomicU64,
    /// Dead letters that the event stream reported.
    letters: AtomicU64,
    out_of_order: AtomicU64,
}

impl Told {
    fn producers_may_go_on(&self) -> bool {
        let [sent, handled, broken, unopened, refused, letters] =
            [&self.sent, &self.handled, &self.broken, &self.unopened, &self.refused, &self.letters]
                .map(|count| count.load(SeqCst));
        // Other threads count at the same time.
        sent.saturating_sub(handled + broken + unopened) < UNDER_WAY
            && unopened.saturating_sub(refused + letters) < UNDER_WAY
    }
}

/// Counts its outcome.
struct Parcel {
    told: Arc<Told>,
    producer: usize,
    /// The numbers of one producer go up.
    number: u64,
    state: State,
}

#[derive(Clone, Copy)]
enum State {
    Unopened,
    Opened,
    Handled,
}

impl Drop for Parcel {
    fn drop(&mut self) {
        let count = match self.state {
            State::Unopened => &self.told.unopened,
            State::Opened => &self.told.broken,
            State::Handled => &self.told.handled,
        };
        count.fetch_add(1, SeqCst);
    }
}

#[derive(Debug, thiserror::Error)]
#[error("intended")]
struct Intended;

#[actor]
struct Counter {
    /// The last number of each producer. Outlives restarts.
    last: Arc<[AtomicU64; PRODUCERS]>,
}

#[actor]
impl Counter {
    #[handler]
    async fn count(&mut self, mut parcel: Parcel) -> Result<(), Intended> {
        parcel.state = State::Opened;
        if self.last[parcel.producer].swap(parcel.number, Relaxed) >= parcel.number {
            parcel.told.out_of_order.fetch_add(1, SeqCst);
        }
        match parcel.number % 64 {
            3 => return Err(Intended),
            5 => std::panic::resume_unwind(Box::new("intended")),
            7 | 11 => tokio::task::yield_now().await,
            _ => {}
        }
        parcel.state = State::Handled;
        Ok(())
    }
}

/// The actors to which producers send. A producer that ends an actor replaces it.
struct Counters(Vec<RwLock<CounterRef>>);

impl Counters {
    fn new(system: &ActorSystem) -> Self {
        Self((0..COUNTERS).map(|at| RwLock::new(hire(system, at))).collect())
    }

    fn at(&self, at: usize) -> CounterRef {
        self.0[at].read().unwrap().clone()
    }

    fn replace(&self, system: &ActorSystem, at: usize) -> CounterRef {
        std::mem::replace(&mut *self.0[at].write().unwrap(), hire(system, at))
    }
}

fn hire(system: &ActorSystem, at: usize) -> CounterRef {
    let bounded = |overflow| MailboxKind::Bounded { capacity: 1 + at, overflow };
    let mailbox = match at % 5 {
        0 => bounded(Overflow::Fail),
        1 => bounded(Overflow::DropNewest),
        2 => bounded(Overflow::DropOldest),
        _ => MailboxKind::Unbounded,
    };
    let last = Arc::new([const { AtomicU64::new(0) }; PRODUCERS]);
    let props = Props::new(move || Counter { last: Arc::clone(&last) }).mailbox(mailbox);
    system.spawn_with(format!("counter-{at}-{}", fastrand::u64(..)), props).unwrap()
}

/// Sends its share, and ends an actor from time to time.
fn produce(told: &Arc<Told>, counters: &Counters, system: &ActorSystem, producer: usize, share: u64, seed: u64) {
    let runtime = Handle::current();
    let mut rng = fastrand::Rng::with_seed(seed.wrapping_add(producer as u64));
    for number in 1..=share {
        while !told.producers_may_go_on() {
            std::thread::yield_now();
        }
        told.sent.fetch_add(1, SeqCst);
        let parcel = Parcel { told: Arc::clone(told), producer, number, state: State::Unopened };
        let at = rng.usize(..COUNTERS);
        let counter = counters.at(at);
        let request = counter.count(parcel);
        // Some wait for room.
        note(told, if rng.u8(..8) == 0 { runtime.block_on(request.send()) } else { request.tell() });
        if rng.u16(..2_000) == 0 {
            let old = counters.replace(system, at);
            match rng.u8(..3) {
                0 => old.actor_ref().stop(),
                1 => old.actor_ref().poison(),
                _ => old.actor_ref().kill(),
            }
        }
    }
}

/// A message that a full mailbox refuses is not a dead letter.
fn note(told: &Told, sent: Result<(), SendError<Envelope<CounterMessage>>>) {
    if sent.is_err_and(|error| error.reason() == SendErrorReason::MailboxFull) {
        told.refused.fetch_add(1, SeqCst);
    }
}

/// Sends this many messages, unless the environment says otherwise, and counts them.
///
/// # Panics
///
/// With the seed, if one is missing or there is one too many.
pub(crate) fn run(messages: u64) {
    let messages = from_env("STRESS_MESSAGES").unwrap_or(messages);
    let seed = from_env("STRESS_SEED").unwrap_or_else(|| fastrand::u64(..));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    let patience = PATIENCE.0 * u32::try_from(messages).expect("a count") + PATIENCE.1;
    let began = Instant::now();
    let told = Arc::new(Told::default());
    let run = async {
        let system = ActorSystem::builder("producers").event_capacity(1 << 16).start().unwrap();
        let mut events = system.events().subscribe();
        let counters = Arc::new(Counters::new(&system));
        let producers: Vec<_> = (0..PRODUCERS)
            .map(|producer| {
                let (told, counters, system) = (Arc::clone(&told), Arc::clone(&counters), system.clone());
                tokio::task::spawn_blocking(move || {
                    produce(&told, &counters, &system, producer, messages / PRODUCERS as u64, seed);
                })
            })
            .collect();
        let end = async {
            for producer in producers {
                producer.await.expect("a producer failed");
            }
            system.terminate().await;
        };
        let mut end = std::pin::pin!(end);
        let count = |event| match event {
            Event::DeadLetter(letter) if letter.message == "Count" => {
                told.letters.fetch_add(1, SeqCst);
            }
            Event::Missed(events) => panic!("{events} events were missed, seed {seed}"),
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
    };
    let in_time = runtime.block_on(async { tokio::time::timeout(patience, run).await });
    // A producer that hangs would delay the error message.
    runtime.shutdown_background();
    let [sent, handled, broken, unopened, refused, letters, out_of_order] = [
        &told.sent,
        &told.handled,
        &told.broken,
        &told.unopened,
        &told.refused,
        &told.letters,
        &told.out_of_order,
    ]
    .map(|count| count.load(SeqCst));
    let summary = format!(
        "{sent} messages, {handled} handled, {broken} failed with their handlers, {letters} dead letters, {refused} \
         refused, {out_of_order} out of order, {:.1?}, seed {seed}",
        began.elapsed()
    );
    println!("{summary}");
    assert!(in_time.is_ok(), "it hangs: {summary}");
    assert_eq!(sent, handled + broken + unopened, "{summary}");
    assert_eq!(unopened, letters + refused, "{summary}");
    assert_eq!(out_of_order, 0, "{summary}");
}
