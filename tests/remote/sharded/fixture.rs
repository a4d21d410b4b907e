//! Accounts that are sharded, and the log of what happens to them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use supervise::remote::memory::Network;
use supervise::remote::{Node, NodeId};
use supervise::sharded::{ShardError, Sharded};
use supervise::{ActorSystem, Context, MailboxKind, Overflow, actor, supervise};

use crate::fixture::{Oops, settle};

/// What happened to the actors of all nodes, in order.
#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<Vec<Line>>>);

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Line {
    Begins { key: u64, node: String },
    Noted { key: u64, number: u64 },
    Ends { key: u64, node: String },
}

impl Log {
    pub(super) fn lines(&self) -> MutexGuard<'_, Vec<Line>> {
        self.0.lock().unwrap()
    }

    pub(super) fn add(&self, line: Line) {
        self.lines().push(line);
    }

    /// The numbers that a key was told, in the order in which its actors handled them.
    pub(super) fn noted(&self, key: u64) -> Vec<u64> {
        let lines = self.lines();
        let noted = lines.iter().filter_map(|line| match line {
            Line::Noted { key: of, number } if *of == key => Some(*number),
            _ => None,
        });
        noted.collect()
    }

    /// Panics if two actors of one key have lived at the same time. Returns the nodes of the actors that have not ended.
    pub(super) fn one_at_a_time(&self) -> BTreeMap<u64, String> {
        let mut alive = BTreeMap::new();
        for line in self.lines().iter() {
            match line {
                Line::Begins { key, node } => {
                    let other = alive.insert(*key, node.clone());
                    assert_eq!(other, None, "{key} begins at {node} while it lives elsewhere");
                }
                Line::Ends { key, node } => assert_eq!(alive.remove(key).as_ref(), Some(node)),
                Line::Noted { .. } => {}
            }
        }
        alive
    }
}

/// The actor of one key.
#[actor(stash = 10)]
pub(super) struct Account {
    pub(super) key: u64,
    pub(super) node: String,
    pub(super) log: Log,
    pub(super) noted: Vec<u64>,
    pub(super) ends_after: Duration,
}

#[actor(remote)]
impl Account {
    #[stash_while]
    fn waits(&self, message: &AccountMessage) -> bool {
        matches!(message, AccountMessage::Later { .. })
    }

    /// Replies with its node.
    #[handler]
    fn note(&mut self, number: u64) -> String {
        self.noted.push(number);
        self.log.add(Line::Noted { key: self.key, number });
        self.node.clone()
    }

    /// Is set aside until the actor ends.
    #[handler]
    fn later(&mut self, number: u64) {
        self.log.add(Line::Noted { key: self.key, number });
    }

    #[handler]
    fn noted(&mut self) -> (String, Vec<u64>) {
        (self.node.clone(), self.noted.clone())
    }

    #[handler]
    async fn sleep(&mut self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Oops> {
        Err(Oops("account".to_owned()))
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
        if !self.ends_after.is_zero() {
            tokio::time::sleep(self.ends_after).await;
        }
        self.log.add(Line::Ends { key: self.key, node: self.node.clone() });
    }
}

/// What differs from test to test.
#[derive(Clone, Copy, Default)]
pub(super) struct Settings {
    pub(super) limit: Option<usize>,
    /// How many messages an account's mailbox has room for.
    pub(super) room: Option<usize>,
    pub(super) is_proxy: bool,
    /// How long an account takes to end.
    pub(super) ends_after: Duration,
    /// The limit of the node, see `NodeBuilder::limit`.
    pub(super) node_limit: Option<usize>,
}

/// The parent of the accounts of one node.
#[actor]
#[supervise(one_for_one, on(_) = Restart)]
pub(super) struct Bank {
    log: Log,
    settings: Settings,
    accounts: Option<Sharded<u64, Account>>,
}

#[actor]
impl Bank {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) -> Result<(), ShardError> {
        let (log, node) = (self.log.clone(), ctx.system().name().to_owned());
        let ends_after = self.settings.ends_after;
        let mut accounts = Sharded::of(move |key: &u64| Account {
            key: *key,
            node: node.clone(),
            log: log.clone(),
            noted: Vec::new(),
            ends_after,
        })
        .idle(Duration::from_secs(300))
        .handover(Duration::from_secs(20));
        if let Some(limit) = self.settings.limit {
            accounts = accounts.limit(limit);
        }
        if let Some(capacity) = self.settings.room {
            accounts = accounts.mailbox(MailboxKind::Bounded { capacity, overflow: Overflow::Fail });
        }
        if self.settings.is_proxy {
            accounts = accounts.proxy();
        }
        self.accounts = Some(accounts.spawn(ctx, "accounts")?);
        Ok(())
    }

    #[handler]
    fn accounts(&mut self) -> Sharded<u64, Account> {
        self.accounts.clone().unwrap()
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Oops> {
        Err(Oops("bank".to_owned()))
    }
}

/// A system that takes part.
pub(super) struct Branch {
    pub(super) system: ActorSystem,
    pub(super) node: Node,
    pub(super) bank: BankRef,
    pub(super) accounts: Sharded<u64, Account>,
}

impl Branch {
    pub(super) async fn open(network: &Network, name: &str, log: &Log) -> Self {
        Self::with(network, name, log, Settings::default()).await
    }

    pub(super) async fn with(network: &Network, name: &str, log: &Log, settings: Settings) -> Self {
        let system = ActorSystem::new(name);
        let mut node = Node::builder(&system);
        if let Some(limit) = settings.node_limit {
            node = node.limit(limit);
        }
        let node = node.join(network.transport(&format!("{name}:1"))).await.unwrap();
        let log = log.clone();
        let bank = system.spawn("bank", move || Bank { log: log.clone(), settings, accounts: None }).unwrap();
        let accounts = bank.accounts().await.unwrap();
        Self { system, node, bank, accounts }
    }

    pub(super) fn account(&self, key: u64) -> AccountRef {
        self.accounts.get(key).unwrap()
    }
}

pub(super) async fn open<const N: usize>(network: &Network, log: &Log, names: [&str; N]) -> [Branch; N] {
    let mut branches = Vec::new();
    for name in names {
        branches.push(Branch::open(network, name, log).await);
    }
    settle().await;
    let Ok(branches) = branches.try_into() else { unreachable!() };
    branches
}

pub(super) fn names(nodes: &[NodeId]) -> Vec<&str> {
    nodes.iter().map(NodeId::system).collect()
}
