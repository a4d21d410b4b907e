//! Keys that fail, escalate, reach their restart limit or cannot start, while nodes join and leave and their keys move.
//!
//! Rules 28.2, 28.3, 28.4 and 28.6.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use supervise::remote::memory::Network;
use supervise::remote::{Node, NodeId};
use supervise::sharded::{ShardError, Sharded};
use supervise::{ActorSystem, AskError, Context, Event, Events, Interest, actor, supervise};
use tokio::task::JoinSet;

use super::fixture::{Line, Log};
use crate::fixture::{Oops, settle, soon};

/// The actor of one key.
#[actor]
struct Till {
    key: u64,
    node: String,
    log: Log,
    /// How many starts in the whole mesh fail from now on.
    bad_starts: Arc<AtomicU32>,
    has_begun: bool,
}

#[actor(remote)]
impl Till {
    /// Is only told.
    #[handler]
    fn note(&mut self, number: u64) {
        self.log.add(Line::Noted { key: self.key, number });
    }

    /// Is only asked.
    #[handler]
    fn number(&mut self, number: u64) -> String {
        self.log.add(Line::Noted { key: self.key, number });
        self.node.clone()
    }

    #[handler]
    async fn sleep(&mut self, millis: u64) {
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Oops> {
        Err(Oops("till".to_owned()))
    }

    #[pre_start]
    fn begins(&mut self) -> Result<(), Oops> {
        if self.bad_starts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
            return Err(Oops("start".to_owned()));
        }
        self.has_begun = true;
        self.log.add(Line::Begins { key: self.key, node: self.node.clone() });
        Ok(())
    }

    #[pre_restart]
    fn fails(&mut self) {
        self.has_ended();
    }

    #[post_stop]
    fn ends(&mut self) {
        self.has_ended();
    }

    fn has_ended(&mut self) {
        if std::mem::take(&mut self.has_begun) {
            self.log.add(Line::Ends { key: self.key, node: self.node.clone() });
        }
    }
}

type Tills = Sharded<u64, Till>;

/// What the tills of all shops share.
#[derive(Clone, Default)]
struct Books {
    log: Log,
    bad_starts: Arc<AtomicU32>,
}

/// The handle of an owner's instance. A restart replaces it.
type Handle = Arc<Mutex<Option<Tills>>>;

/// The parent of the tills of one node, which decides their failures.
macro_rules! owner {
    ($owner:ident, $($rules:tt)*) => {
        #[actor]
        #[supervise($($rules)*)]
        struct $owner {
            books: Books,
            handle: Handle,
        }

        #[actor]
        impl $owner {
            #[pre_start]
            fn begin(&mut self, ctx: &mut Context<Self>) -> Result<(), ShardError> {
                let (books, node) = (self.books.clone(), ctx.system().name().to_owned());
                let tills = Sharded::of(move |key: &u64| Till {
                    key: *key,
                    node: node.clone(),
                    log: books.log.clone(),
                    bad_starts: Arc::clone(&books.bad_starts),
                    has_begun: false,
                });
                let tills = tills.handover(HANDOVER).spawn(ctx, "tills")?;
                *self.handle.lock().unwrap() = Some(tills);
                Ok(())
            }
        }
    };
}

owner!(Restarts, one_for_one, on(_) = Restart);
owner!(Stops, one_for_one(max_retries = 1), on(_) = Restart);
owner!(BacksOff, one_for_one, on(_) = Restart(backoff(min = "200ms", max = "300ms")));
owner!(Escalates, one_for_one, on(_) = Escalate);
owner!(EscalatesAtLast, one_for_one(max_retries = 1, on_limit = Escalate), on(_) = Restart);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Table {
    Restarts,
    Stops,
    BacksOff,
    Escalates,
    EscalatesAtLast,
}

/// A system that takes part.
struct Shop {
    system: ActorSystem,
    handle: Handle,
    letters: Events,
    _node: Node,
}

impl Shop {
    async fn open(network: &Network, name: &str, books: &Books, table: Table) -> Self {
        let system = ActorSystem::new(name);
        let node = Node::builder(&system).join(network.transport(&format!("{name}:1"))).await.unwrap();
        let letters = system.events().subscribe_to(Interest::DEAD_LETTERS);
        let handle = Handle::default();
        let (books, of) = (books.clone(), Arc::clone(&handle));
        let both = move || (books.clone(), Arc::clone(&of));
        macro_rules! spawn {
            ($owner:ident) => {
                drop(system.spawn("owner", move || {
                    let (books, handle) = both();
                    $owner { books, handle }
                }))
            };
        }
        match table {
            Table::Restarts => spawn!(Restarts),
            Table::Stops => spawn!(Stops),
            Table::BacksOff => spawn!(BacksOff),
            Table::Escalates => spawn!(Escalates),
            Table::EscalatesAtLast => spawn!(EscalatesAtLast),
        }
        while handle.lock().unwrap().is_none() {
            tokio::task::yield_now().await;
        }
        Self { system, handle, letters, _node: node }
    }

    fn tills(&self) -> Tills {
        self.handle.lock().unwrap().clone().unwrap()
    }

    fn name(&self) -> &str {
        self.system.name()
    }

    /// The till of a key. `None`: the owner is between two instances.
    fn till(&self, key: u64) -> Option<TillRef> {
        self.tills().get(key).ok()
    }
}

/// What became of the messages.
#[derive(Default)]
struct Ledger {
    /// The numbers that were told, by their key, as far as the ref took them.
    told: BTreeMap<u64, Vec<u64>>,
    /// By their names, which begin with a capital letter where they were not read from the wire.
    lost: BTreeMap<String, usize>,
    reasons: BTreeMap<String, usize>,
    asks: JoinSet<(u64, u64, Result<String, AskError>)>,
}

impl Ledger {
    fn read(&mut self, letters: &mut Events) {
        while let Some(event) = letters.try_recv() {
            if let Event::DeadLetter(letter) = event {
                *self.lost.entry(letter.message.to_lowercase()).or_default() += 1;
                *self.reasons.entry(format!("{} {:?}", letter.message, letter.reason)).or_default() += 1;
            }
        }
    }
}

const KEYS: u64 = 10;

/// Longer than a till needs for all that it was sent, so at its end it has no successor elsewhere.
const HANDOVER: Duration = Duration::from_secs(60);

/// Nodes join and leave in good order while keys fail. Asks have even numbers, and tells odd ones.
async fn storm(seed: u64, table: Table) {
    let (network, books, mut ledger) = (Network::new(seed), Books::default(), Ledger::default());
    let mut random = fastrand::Rng::with_seed(seed);
    let mut shops = vec![Shop::open(&network, "n0", &books, table).await];
    let mut gone: Vec<Shop> = Vec::new();
    let (mut next, mut leaving) = (1, JoinSet::new());
    settle().await;
    for number in 0..150 {
        for key in 0..KEYS {
            let Some(till) = shops[random.usize(..shops.len())].till(key) else { continue };
            if random.bool() {
                let number = number * 2;
                ledger.asks.spawn(async move { (key, number, till.number(number).await) });
            } else if till.note(number * 2 + 1).tell().is_ok() {
                ledger.told.entry(key).or_default().push(number * 2 + 1);
            }
        }
        let at = random.usize(..shops.len());
        match random.u8(..12) {
            0 | 1 if shops.len() < 4 => {
                let shop = Shop::open(&network, &format!("n{next}"), &books, table).await;
                next += 1;
                let knows = |nodes: &[NodeId], of: &Shop| nodes.iter().any(|node| node.system() == of.name());
                let tills = shop.tills();
                soon(tills.wait_for(|nodes| shops.iter().all(|other| knows(nodes, other)))).await;
                shops.push(shop);
            }
            2 if shops.len() > 1 => {
                let shop = shops.swap_remove(at);
                let (tills, system) = (shop.tills(), shop.system.clone());
                leaving.spawn(async move {
                    let left = tills.leave().await;
                    system.terminate().await;
                    left
                });
                gone.push(shop);
            }
            3..=5 => {
                let key = random.u64(..KEYS);
                for _ in 0..random.u8(1..4) {
                    shops[at].till(key).map(|till| till.fail().tell());
                }
            }
            6 => drop(shops[at].till(random.u64(..KEYS)).map(|till| till.sleep(random.u64(..4000)).tell())),
            7 => shops[at].tills().here().passivate(&random.u64(..KEYS)),
            8 => drop(books.bad_starts.fetch_add(1, Ordering::SeqCst)),
            _ => tokio::time::sleep(Duration::from_millis(random.u64(..300))).await,
        }
        shops.iter_mut().chain(&mut gone).for_each(|shop| ledger.read(&mut shop.letters));
    }
    books.bad_starts.store(0, Ordering::SeqCst);
    tokio::time::sleep(HANDOVER * 3).await;
    shops.iter_mut().chain(&mut gone).for_each(|shop| ledger.read(&mut shop.letters));
    let at = format!("seed {seed}, {table:?}");
    let mut all_left = true;
    while let Some(left) = leaving.try_join_next() {
        all_left &= left.unwrap().is_ok();
    }
    assert!(leaving.is_empty(), "{at}: each node leaves in time");
    for (key, home) in books.log.one_at_a_time() {
        assert_eq!(shops[0].tills().home(&key).unwrap().system(), home, "{at}: key {key}");
    }
    let mut answered = BTreeMap::<u64, Vec<u64>>::new();
    while let Some(asked) = ledger.asks.try_join_next() {
        if let (key, number, Ok(_)) = asked.unwrap() {
            answered.entry(key).or_default().push(number);
        }
    }
    assert!(ledger.asks.is_empty(), "{at}: {} asks hang", ledger.asks.len());
    let (mut told, mut handled) = (0, 0);
    for key in 0..KEYS {
        let mut noted = books.log.noted(key);
        noted.sort_unstable();
        let all = noted.len();
        noted.dedup();
        assert_eq!(noted.len(), all, "{at}: key {key}: a message was handled twice");
        for number in answered.remove(&key).unwrap_or_default() {
            assert!(noted.contains(&number), "{at}: key {key}: {number} was answered and not handled");
        }
        told += ledger.told.get(&key).map_or(0, Vec::len);
        handled += noted.iter().filter(|number| *number % 2 == 1).count();
    }
    let lost = ledger.lost.get("note").copied().unwrap_or(0);
    let reasons = &ledger.reasons;
    assert_eq!(
        told,
        handled + lost,
        "{at}: of {told} tells, {handled} were handled; {reasons:?}, left: {all_left}"
    );
    if table == Table::Restarts || table == Table::BacksOff {
        assert!(handled * 10 > told * 9, "{at}: of {told} tells, {handled} were handled; {reasons:?}");
    }
    for shop in shops {
        soon(shop.system.terminate()).await;
    }
}

#[tokio::test(start_paused = true)]
async fn shr_30_keys_that_fail_while_they_move_have_one_actor_and_lose_no_message_in_silence() {
    for table in [Table::Restarts, Table::Stops, Table::BacksOff] {
        for seed in 0..6 {
            storm(seed, table).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn shr_31_keys_that_escalate_while_they_move_have_one_actor_and_lose_no_message_in_silence() {
    for table in [Table::Escalates, Table::EscalatesAtLast] {
        for seed in 0..6 {
            storm(seed, table).await;
        }
    }
}

/// Nodes are killed and started anew under their names, and cannot reach each other for a while, while keys fail.
async fn rough(seed: u64, table: Table) {
    let (network, books, mut asks) = (Network::new(seed), Books::default(), JoinSet::new());
    let mut random = fastrand::Rng::with_seed(seed);
    let mut shops = Vec::new();
    for number in 0..3 {
        shops.push(Shop::open(&network, &format!("n{number}"), &books, table).await);
    }
    settle().await;
    for number in 0..150 {
        for key in 0..KEYS {
            if let Some(till) = shops[random.usize(..3)].till(key) {
                asks.spawn(async move { till.number(number).await });
            }
        }
        let at = random.usize(..3);
        match random.u8(..14) {
            0 => {
                let name = shops[at].name().to_owned();
                network.kill(&format!("{name}:1"));
                soon(shops[at].system.terminate()).await;
                shops[at] = Shop::open(&network, &name, &books, table).await;
            }
            1 => network.partition(&format!("n{at}:1"), &format!("n{}:1", (at + 1) % 3)),
            2 => network.partition_one_way(&format!("n{at}:1"), &format!("n{}:1", (at + 1) % 3)),
            3 => tokio::time::sleep(Duration::from_secs(random.u64(..15))).await,
            4 => {
                if random.bool() {
                    network.lose_held();
                }
                network.heal();
            }
            5..=7 => drop(shops[at].till(random.u64(..KEYS)).map(|till| till.fail().tell())),
            8 => drop(books.bad_starts.fetch_add(1, Ordering::SeqCst)),
            9 => drop(shops[at].till(random.u64(..KEYS)).map(|till| till.sleep(random.u64(..4000)).tell())),
            _ => tokio::time::sleep(Duration::from_millis(random.u64(..300))).await,
        }
    }
    books.bad_starts.store(0, Ordering::SeqCst);
    network.heal();
    tokio::time::sleep(HANDOVER * 3).await;
    let at = format!("seed {seed}, {table:?}");
    let mut answered = 0;
    while let Some(asked) = asks.try_join_next() {
        answered += usize::from(asked.unwrap().is_ok());
    }
    assert!(asks.is_empty(), "{at}: {} asks hang", asks.len());
    assert!(answered > 300, "{at}: {answered}");
    for key in 0..KEYS {
        let home = shops[0].tills().home(&key).unwrap();
        for shop in &shops {
            assert_eq!(shop.tills().nodes().len(), 3, "{at}: {}", shop.name());
            let answer = soon(shop.till(key).unwrap().number(1000)).await;
            assert_eq!(answer.unwrap(), home.system(), "{at}: key {key} from {}", shop.name());
        }
    }
    let actors: usize = shops.iter().map(|shop| shop.tills().here().len()).sum();
    assert_eq!(actors as u64, KEYS, "{at}: one actor each");
    for shop in shops {
        soon(shop.system.terminate()).await;
    }
}

#[tokio::test(start_paused = true)]
async fn shr_32_keys_that_fail_while_nodes_are_lost_and_cut_off_have_one_actor_again_when_the_nodes_have_met() {
    for table in [Table::Restarts, Table::Stops, Table::BacksOff, Table::Escalates, Table::EscalatesAtLast] {
        for seed in 0..4 {
            rough(seed, table).await;
        }
    }
}

/// The key's home is another node. No node comes or goes.
#[tokio::test(start_paused = true)]
async fn shr_33_a_key_that_fails_again_and_again_keeps_the_order_of_each_sender() {
    for table in [Table::Restarts, Table::BacksOff] {
        let (network, books) = (Network::new(33), Books::default());
        let here = Shop::open(&network, "here", &books, table).await;
        let there = Shop::open(&network, "there", &books, table).await;
        settle().await;
        let tills = here.tills();
        let key = (0..1000).find(|key| tills.home(key).unwrap().system() == "there").unwrap();
        let senders = [here.till(key).unwrap(), there.till(key).unwrap()];
        for number in 0..300 {
            for (sender, till) in (0..).zip(&senders) {
                till.note(number * 2 + sender).tell().unwrap();
            }
            if number % 30 == 29 {
                senders[0].fail().tell().unwrap();
            }
            tokio::time::sleep(Duration::from_millis(number % 3)).await;
        }
        tokio::time::sleep(Duration::from_secs(20)).await;
        let noted = books.log.noted(key);
        for sender in 0..2 {
            let of: Vec<u64> = noted.iter().copied().filter(|number| number % 2 == sender).collect();
            assert_eq!(of, (0..300).map(|number| number * 2 + sender).collect::<Vec<_>>(), "{table:?}");
        }
        books.log.one_at_a_time();
    }
}
