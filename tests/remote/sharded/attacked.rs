//! Sharded actors whose ends are slow, on nodes that come, leave, end and restart at the same time.
//!
//! Rules 28.2, 28.3, 28.4 and 28.6.

use std::time::Duration;

use supervise::remote::memory::Network;
use supervise::remote::{Node, NodeBuilder, NodeId};
use supervise::sharded::{ShardError, Sharded};
use supervise::{ActorSystem, AskError, Context, actor, supervise};

use super::{Line, Log, open};
use crate::fixture::{Oops, settle, soon};

/// An actor that takes its time to end, and may set messages aside.
#[actor(stash = 10)]
struct Slow {
    key: u64,
    node: String,
    log: Log,
    ends_after: Duration,
    is_open: bool,
}

#[actor(remote)]
impl Slow {
    #[stash_while]
    fn waits(&self, message: &SlowMessage) -> bool {
        !self.is_open && matches!(message, SlowMessage::Later { .. })
    }

    #[handler]
    fn note(&mut self, number: u64) -> String {
        self.log.add(Line::Noted { key: self.key, number });
        self.node.clone()
    }

    /// Waits until the actor is open.
    #[handler]
    fn later(&mut self, number: u64) {
        self.log.add(Line::Noted { key: self.key, number });
    }

    #[handler]
    fn open(&mut self) {
        self.is_open = true;
    }

    #[pre_start]
    fn begins(&mut self) {
        self.log.add(Line::Begins { key: self.key, node: self.node.clone() });
    }

    #[pre_restart]
    fn fails(&mut self) {
        self.log.add(Line::Ends { key: self.key, node: self.node.clone() });
    }

    #[post_stop]
    async fn ends(&mut self) {
        tokio::time::sleep(self.ends_after).await;
        self.log.add(Line::Ends { key: self.key, node: self.node.clone() });
    }
}

/// The parent of the actors of one node.
#[actor(stop_timeout = "1h")]
#[supervise(one_for_one, on(_) = Restart)]
struct House {
    log: Log,
    ends_after: Duration,
    slow: Option<Sharded<u64, Slow>>,
}

#[actor]
impl House {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) -> Result<(), ShardError> {
        let (log, node, ends_after) = (self.log.clone(), ctx.system().name().to_owned(), self.ends_after);
        let slow = Sharded::of(move |key: &u64| Slow {
            key: *key,
            node: node.clone(),
            log: log.clone(),
            ends_after,
            is_open: false,
        });
        let slow = slow.idle(Duration::from_secs(100)).handover(Duration::from_secs(20));
        self.slow = Some(slow.spawn(ctx, "slow")?);
        Ok(())
    }

    #[handler]
    fn slow(&mut self) -> Sharded<u64, Slow> {
        self.slow.clone().unwrap()
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Oops> {
        Err(Oops("house".to_owned()))
    }
}

struct Street {
    system: ActorSystem,
    house: HouseRef,
    slow: Sharded<u64, Slow>,
}

impl Street {
    async fn new(network: &Network, name: &str, log: &Log, ends_after: u64) -> Self {
        Self::with(network, name, log, ends_after, |builder| builder).await
    }

    async fn with(
        network: &Network,
        name: &str,
        log: &Log,
        ends_after: u64,
        settings: impl FnOnce(NodeBuilder) -> NodeBuilder,
    ) -> Self {
        let system = ActorSystem::new(name);
        settings(Node::builder(&system)).join(network.transport(&format!("{name}:1"))).await.unwrap();
        let (log, ends_after) = (log.clone(), Duration::from_secs(ends_after));
        let house = system.spawn("house", move || House { log: log.clone(), ends_after, slow: None }).unwrap();
        let slow = house.slow().await.unwrap();
        Self { system, house, slow }
    }

    fn at(&self, key: u64) -> SlowRef {
        self.slow.get(key).unwrap()
    }
}

async fn two(network: &Network, log: &Log, ends_after: u64) -> (Street, Street) {
    let streets =
        (Street::new(network, "a", log, ends_after).await, Street::new(network, "b", log, ends_after).await);
    settle().await;
    streets
}

#[tokio::test(start_paused = true)]
async fn shr_17_a_node_that_ends_without_leaving_keeps_its_keys_until_its_actors_have_ended() {
    let (network, log) = (Network::new(17), Log::default());
    let (a, b) = two(&network, &log, 3).await;
    for key in 0..20 {
        a.at(key).note(1).tell().unwrap();
    }
    settle().await;
    let ends = tokio::spawn(async move { b.system.terminate().await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    for key in 0..20 {
        assert_eq!(soon(a.at(key).note(2)).await.unwrap(), "a");
    }
    ends.await.unwrap();
    log.one_at_a_time();
}

#[tokio::test(start_paused = true)]
async fn shr_18_an_owner_that_restarts_keeps_its_keys_until_its_actors_have_ended() {
    let (network, log) = (Network::new(18), Log::default());
    let (a, b) = two(&network, &log, 3).await;
    for key in 0..20 {
        a.at(key).note(1).tell().unwrap();
    }
    settle().await;
    assert!(matches!(soon(b.house.fail()).await, Err(AskError::Failed(_))));
    // Messages that are under way to a gate that ends are lost, and their askers are told.
    for key in 0..20 {
        while let Err(error) = soon(a.at(key).note(2)).await {
            assert!(matches!(error, AskError::Stopped | AskError::Undeliverable), "{error}");
        }
    }
    log.one_at_a_time();
}

#[tokio::test(start_paused = true)]
async fn shr_19_messages_that_were_set_aside_do_not_keep_a_key_at_its_old_home() {
    let (network, log) = (Network::new(19), Log::default());
    let a = Street::new(&network, "a", &log, 0).await;
    for key in 0..20 {
        a.at(key).later(1).tell().unwrap();
    }
    settle().await;
    let b = Street::new(&network, "b", &log, 0).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    for key in 0..20 {
        let home = a.slow.home(&key).unwrap();
        assert_eq!(soon(b.at(key).note(2)).await.unwrap(), home.system());
    }
    let homes = log.one_at_a_time();
    assert!(homes.iter().all(|(key, home)| a.slow.home(key).unwrap().system() == home), "{homes:?}");
}

#[tokio::test(start_paused = true)]
async fn shr_20_a_key_that_moves_while_a_successor_is_awaited_has_one_actor() {
    let (network, log) = (Network::new(20), Log::default());
    let a = Street::new(&network, "a", &log, 3).await;
    for key in 0..20 {
        a.at(key).note(1).tell().unwrap();
    }
    settle().await;
    for key in 0..20 {
        a.slow.here().passivate(&key);
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    for key in 0..20 {
        a.at(key).note(2).tell().unwrap();
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let b = Street::new(&network, "b", &log, 3).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    for key in 0..20 {
        b.at(key).note(3).tell().unwrap();
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    let homes = log.one_at_a_time();
    assert!(homes.iter().all(|(key, home)| a.slow.home(key).unwrap().system() == home), "{homes:?}");
    for key in 0..20 {
        assert_eq!(log.noted(key), [1, 2, 3]);
    }
}

#[tokio::test(start_paused = true)]
async fn shr_21_many_keys_that_move_at_once_do_not_break_a_limit_of_the_nodes() {
    let (network, log) = (Network::new(21), Log::default());
    let a = Street::with(&network, "a", &log, 3, |node| node.limit(100)).await;
    for key in 0..1000 {
        a.at(key).note(1).tell().unwrap();
    }
    settle().await;
    let b = Street::with(&network, "b", &log, 3, |node| node.limit(100)).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    for key in 0..1000 {
        b.at(key).note(2).tell().unwrap();
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    log.one_at_a_time();
    for key in 0..1000 {
        assert_eq!(log.noted(key), [1, 2]);
    }
}

#[tokio::test(start_paused = true)]
async fn shr_28_a_node_that_has_left_takes_part_again_when_its_owner_restarts() {
    let (network, log) = (Network::new(28), Log::default());
    let (a, mut b) = two(&network, &log, 0).await;
    let late = b.at(1);
    soon(b.slow.leave()).await.unwrap();
    assert_eq!(a.slow.nodes().len(), 1);
    assert!(matches!(soon(b.house.fail()).await, Err(AskError::Failed(_))));
    b.slow = soon(b.house.slow()).await.unwrap();
    soon(a.slow.wait_for(|nodes| nodes.len() == 2)).await;
    for key in 0..20 {
        assert_eq!(soon(a.at(key).note(1)).await.unwrap(), soon(b.at(key).note(2)).await.unwrap());
    }
    assert!(log.one_at_a_time().values().any(|home| home == "b"));
    assert!(late.note(3).tell().is_err(), "a ref of the earlier handle");
}

#[tokio::test(start_paused = true)]
async fn shr_29_leaving_takes_twice_the_handover_time_at_most() {
    let (network, log) = (Network::new(29), Log::default());
    let [a, _b] = open(&network, &log, ["a", "b"]).await;
    for key in 0..20 {
        a.account(key).sleep(3600).tell().unwrap();
    }
    settle().await;
    let began = tokio::time::Instant::now();
    soon(a.accounts.leave()).await.unwrap();
    let waited = began.elapsed();
    assert!((Duration::from_secs(20)..=Duration::from_secs(40)).contains(&waited), "{waited:?}");
    assert!(!a.accounts.here().is_empty(), "they still sleep");
}

/// Nodes come, leave, end and restart while keys are passivated and messages are told. No node is cut off or killed.
async fn storm(seed: u64, loses_messages: bool) {
    let (network, log) = (Network::new(seed), Log::default());
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut streets, mut next, mut ends) = (vec![Street::new(&network, "n0", &log, 1).await], 1, Vec::new());
    for number in 0..100 {
        for key in 0..12 {
            let from = random.usize(..streets.len());
            streets[from].at(key).note(number).tell().unwrap();
        }
        let at = random.usize(..streets.len());
        match random.u8(if loses_messages { 0..8 } else { 0..6 }) {
            0 | 1 if streets.len() < 5 => {
                let street = Street::new(&network, &format!("n{next}"), &log, random.u64(..3)).await;
                next += 1;
                // Until a node has heard of the others, it has a view of its own.
                let knows = |nodes: &[NodeId], of: &Street| nodes.iter().any(|n| n.system() == of.system.name());
                soon(street.slow.wait_for(|nodes| streets.iter().all(|other| knows(nodes, other)))).await;
                streets.push(street);
            }
            2 if streets.len() > 1 => {
                let leaves = streets.swap_remove(at);
                ends.push(tokio::spawn(async move {
                    leaves.slow.leave().await.unwrap();
                    leaves.system.terminate().await;
                }));
            }
            3 => streets[at].slow.here().passivate(&random.u64(..12)),
            6 if streets.len() > 1 => {
                let ending = streets.swap_remove(at);
                ends.push(tokio::spawn(async move { ending.system.terminate().await }));
            }
            7 => {
                assert!(matches!(soon(streets[at].house.fail()).await, Err(AskError::Failed(_))));
                streets[at].slow = soon(streets[at].house.slow()).await.unwrap();
            }
            _ => tokio::time::sleep(Duration::from_millis(random.u64(..300))).await,
        }
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    for (key, home) in log.one_at_a_time() {
        assert_eq!(streets[0].slow.home(&key).unwrap().system(), home, "seed {seed}, key {key}");
    }
    for key in 0..12 {
        let mut noted = log.noted(key);
        noted.sort_unstable();
        let all = noted.len();
        noted.dedup();
        assert_eq!(noted.len(), all, "seed {seed}, key {key}: a message was handled twice");
        assert!(loses_messages || all == 100, "seed {seed}, key {key}: {} messages were lost", 100 - all);
    }
    for end in ends {
        soon(end).await.unwrap();
    }
    for street in streets {
        street.system.terminate().await;
    }
}

#[tokio::test(start_paused = true)]
async fn shr_22_while_nodes_come_and_leave_at_the_same_time_a_key_has_one_actor_and_no_message_is_lost() {
    for seed in 0..3 {
        storm(seed, false).await;
    }
}

#[tokio::test(start_paused = true)]
async fn shr_23_while_nodes_end_without_leaving_and_restart_a_key_has_one_actor() {
    for seed in 0..3 {
        storm(seed, true).await;
    }
}
