//! Sharded actors under attack: slow ends, storms of keys, keys that misbehave.

use std::time::Duration;

use supervise::remote::memory::Network;
use supervise::remote::{Node, NodeBuilder};
use supervise::sharded::{ShardError, Sharded};
use supervise::{ActorSystem, AskError, Context, actor, supervise};

use super::{Line, Log};
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
