//! The actors of the tests, which the program `node` and the tests share.

use std::time::Duration;

use supervise::{Context, HowEnded, Terminated, actor};
use tokio::sync::mpsc::UnboundedSender;

/// How long the nodes of the tests bear silence. Much less than Zenoh's own 10 seconds.
pub const PATIENCE: Duration = Duration::from_secs(2);

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
