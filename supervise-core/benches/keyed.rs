//! One million keyed children, in comparison with a hand-written map of refs: bytes for each key, the time of a look-up, and
//! what a passivation takes and gives back.
//!
//! ```sh
//! cargo bench -p supervise-core --bench keyed
//! ```
//!
//! Look-ups go through all keys in the same random order, in alternating rounds, so that other load on the machine affects
//! all of them.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use allocation_counter::measure;
use supervise_core::{
    Actor, ActorRef, ActorSystem, Children, Context, EscalationsDecidedBy, Failure,
    HandlersOfOneImplBlockDecidedBy, ReplyTo, Request, SpawnError, Supervisor,
};

const KEYS: u64 = 1_000_000;
const ROUNDS: usize = 7;

struct Session;

impl Supervisor for Session {
    type Ref = ActorRef<Self>;
}

impl Actor for Session {
    type Message = ();

    async fn handle(&mut self, (): (), _: &mut Context<Self>) -> Result<(), Failure> {
        Ok(())
    }
}

impl<P> HandlersOfOneImplBlockDecidedBy<P> for Session {}
impl<P> EscalationsDecidedBy<P> for Session {}

/// Keeps its sessions in one of the two ways.
struct Shop;

enum ShopMessage {
    Keyed(Option<Duration>, ReplyTo<Children<u64, Session>>),
    ByHand(ReplyTo<HashMap<u64, ActorRef<Session>>>),
}

impl Supervisor for Shop {
    type Ref = ActorRef<Self>;
}

impl Actor for Shop {
    type Message = ShopMessage;

    async fn handle(&mut self, message: ShopMessage, ctx: &mut Context<Self>) -> Result<(), Failure> {
        match message {
            ShopMessage::Keyed(idle, reply) => {
                let mut sessions = Children::of(|_: &u64| Session);
                if let Some(idle) = idle {
                    sessions = sessions.idle(idle);
                }
                reply.answer(sessions.spawn(ctx, "sessions").map_err(Failure::new)?);
            }
            ShopMessage::ByHand(reply) => {
                let spawn = |key: u64| Ok((key, ctx.spawn(key.to_string(), || Session)?));
                reply.answer((0..KEYS).map(spawn).collect::<Result<_, SpawnError>>().map_err(Failure::new)?);
            }
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut by_hand = HashMap::new();
    let (mut without, mut with) = (None, None);
    let system = runtime.block_on(async { ActorSystem::new("keyed") });
    let shop = |name| runtime.block_on(async { system.spawn(name, || Shop) });
    let (first, second, third) = (shop("by-hand")?, shop("keyed")?, shop("idle")?);

    let keyed = |shop: &ActorRef<Shop>, idle| {
        let request = Request::new(shop, ShopMessage::Keyed(idle, ReplyTo::nowhere()), |message, slot| {
            if let ShopMessage::Keyed(_, reply) = message {
                *reply = slot;
            }
        });
        runtime.block_on(async {
            let sessions = request.await?;
            for key in 0..KEYS {
                sessions.get_or_spawn(key)?;
                if key % 1_000 == 0 {
                    tokio::task::yield_now().await;
                }
            }
            settle().await;
            Ok::<_, Box<dyn std::error::Error>>(sessions)
        })
    };
    let hand_bytes = bytes(|| {
        let request = Request::new(&first, ShopMessage::ByHand(ReplyTo::nowhere()), |message, slot| {
            if let ShopMessage::ByHand(reply) = message {
                *reply = slot;
            }
        });
        by_hand = runtime.block_on(async {
            let sessions = request.await.expect("the shop spawns");
            settle().await;
            sessions
        });
    });
    let keyed_bytes = bytes(|| without = keyed(&second, None).ok());
    let idle_bytes = bytes(|| with = keyed(&third, Some(Duration::from_secs(86_400))).ok());
    let (Some(without), Some(_with)) = (without, with) else { return Err("the children were not spawned".into()) };
    println!(
        "bytes of heap for each key and its idle child: HashMap<K, Ref> {hand_bytes}, Children {keyed_bytes}, Children with idle {idle_bytes}"
    );

    let mut order: Vec<u64> = (0..KEYS).collect();
    fastrand::Rng::with_seed(1).shuffle(&mut order);
    let locked = Mutex::new(by_hand.clone());
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push([
            time(&order, |key| by_hand.get(&key).cloned()),
            time(&order, |key| locked.lock().ok()?.get(&key).cloned()),
            time(&order, |key| without.get_or_spawn(key).ok()),
            time(&order, |key| without.get(&key)),
        ]);
    }
    let names = ["HashMap::get, clone", "Mutex<HashMap>, get, clone", "Children::get_or_spawn", "Children::get"];
    for (at, name) in names.into_iter().enumerate() {
        let mut times: Vec<f64> = rounds.iter().map(|round| round[at]).collect();
        let mut ratios: Vec<f64> = rounds.iter().map(|round| round[at] / round[1]).collect();
        times.sort_by(f64::total_cmp);
        ratios.sort_by(f64::total_cmp);
        println!("{name}: {:.0} ns, {:.2} of the locked map", times[ROUNDS / 2], ratios[ROUNDS / 2]);
    }

    let start = Instant::now();
    let given_back = -bytes(|| {
        runtime.block_on(async {
            for key in 0..KEYS {
                without.passivate(&key);
                if key % 1_000 == 0 {
                    tokio::task::yield_now().await;
                }
            }
            while !without.is_empty() {
                tokio::task::yield_now().await;
            }
        });
    });
    let each = start.elapsed().as_secs_f64() * 1e9 / f64::from(u32::try_from(order.len())?);
    println!(
        "passivation of every child, until it has ended: {each:.0} ns for each, which gives back {given_back} bytes"
    );
    Ok(())
}

/// Lets every new child run.
async fn settle() {
    for _ in 0..2 * KEYS / 100 {
        tokio::task::yield_now().await;
    }
}

fn bytes(work: impl FnOnce()) -> i64 {
    measure(work).bytes_current / i64::try_from(KEYS).unwrap_or(i64::MAX)
}

/// Nanoseconds for each key.
fn time<T>(order: &[u64], look_up: impl Fn(u64) -> T) -> f64 {
    let start = Instant::now();
    for key in order {
        black_box(look_up(*key));
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(u32::try_from(order.len()).unwrap_or(u32::MAX))
}
