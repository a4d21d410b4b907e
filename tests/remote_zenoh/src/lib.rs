//! The actors of the tests, which the program `node` and the tests share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use supervise::{Context, HowEnded, Terminated, actor};
use tokio::sync::mpsc::UnboundedSender;

/// How long the nodes of the tests bear silence. Much less than Zenoh's own 10 seconds.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// How many refs, asks and watches the nodes of the tests allow each peer.
pub const LIMIT: usize = 200_000;

/// Gives back what it gets, and keeps what it is told.
#[derive(Default)]
#[actor]
pub struct Echo {
    told: Vec<u64>,
}

#[actor(remote)]
impl Echo {
    /// Gives it back.
    #[handler]
    pub fn echo(&mut self, text: String) -> String {
        text
    }

    /// Keeps it.
    #[handler]
    pub fn note(&mut self, number: u64) {
        self.told.push(number);
    }

    /// What it was told.
    #[handler]
    pub fn noted(&mut self) -> Vec<u64> {
        self.told.clone()
    }

    /// Asks another one.
    #[handler]
    pub async fn relay(&mut self, to: EchoRef, text: String) -> String {
        to.echo(text).await.unwrap_or_else(|error| error.to_string())
    }
}

/// Reports which of the actors that it watches have ended, and how.
#[actor]
pub struct Watcher {
    /// Where it reports.
    pub log: UnboundedSender<(String, HowEnded)>,
}

#[actor]
impl Watcher {
    /// Watches one more.
    #[handler]
    pub fn watch(&mut self, who: EchoRef, ctx: &mut Context<Self>) {
        ctx.watch(&who);
    }

    #[watch]
    fn gone(&mut self, gone: Terminated<Echo>) {
        // An error means that the test is over.
        let _over = self.log.send((gone.path().name().to_owned(), gone.how()));
    }
}

/// Prints each entry before it answers, so that the entry survives the process. Has room for 64 entries.
#[derive(Default)]
#[actor(mailbox = bounded(64))]
pub struct Ledger;

#[actor(remote)]
impl Ledger {
    /// Prints an entry of a sender's.
    #[handler]
    pub fn enter(&mut self, sender: u64, number: u64) -> u64 {
        println!("entry {sender} {number}");
        number
    }
}

/// Counts its messages, with its siblings.
#[actor]
pub struct Member {
    /// How many messages all members of the node have handled.
    pub handled: Arc<AtomicU64>,
}

#[actor(remote)]
impl Member {
    /// A message.
    #[handler]
    pub fn poke(&mut self) {
        self.handled.fetch_add(1, Ordering::SeqCst);
    }
}

/// Has many members on its node, and watches many of other nodes.
#[derive(Default)]
#[actor]
pub struct Hive {
    handled: Arc<AtomicU64>,
    bred: u64,
    gone: Gone,
}

/// How the watched members have ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gone {
    /// How many of them stopped.
    pub gracefully: u64,
    /// How many of them were on a node that was given up.
    pub unreachable: u64,
}

#[actor(remote)]
impl Hive {
    /// Spawns this many members.
    ///
    /// # Panics
    ///
    /// If the system ends.
    #[handler]
    pub fn breed(&mut self, count: u64, ctx: &mut Context<Self>) -> Vec<MemberRef> {
        let numbers = self.bred..self.bred + count;
        self.bred = numbers.end;
        let member = |number| {
            let handled = Arc::clone(&self.handled);
            let spawned =
                ctx.system().spawn(format!("member-{number}"), move || Member { handled: Arc::clone(&handled) });
            spawned.expect("the number is new, and the system lives")
        };
        numbers.map(member).collect()
    }

    /// Watches members of other nodes.
    #[handler]
    pub fn watch(&mut self, members: Vec<MemberRef>, ctx: &mut Context<Self>) {
        for member in &members {
            ctx.watch(member);
        }
    }

    #[watch]
    fn member_gone(&mut self, gone: Terminated<Member>) {
        *match gone.how() {
            HowEnded::Unreachable => &mut self.gone.unreachable,
            _ => &mut self.gone.gracefully,
        } += 1;
    }

    /// How many of the watched members have ended.
    #[handler]
    pub fn gone(&mut self) -> Gone {
        self.gone
    }

    /// How many messages the members have handled.
    #[handler]
    pub fn handled(&mut self) -> u64 {
        self.handled.load(Ordering::SeqCst)
    }

    /// How many nodes this one has an association with.
    #[handler]
    pub fn peers(&self, ctx: &mut Context<Self>) -> usize {
        ctx.node().map_or(0, |node| node.peers().len())
    }

    /// How many KiB of memory the process has resident.
    #[handler]
    pub fn resident(&mut self) -> u64 {
        resident()
    }
}

/// How many KiB of memory this process has resident; 0 where the system does not say.
#[must_use]
pub fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
