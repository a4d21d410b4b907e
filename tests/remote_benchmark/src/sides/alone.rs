//! Two systems in this process, on one thread, between which packets are handed over at once: what the runtime itself costs, without an
//! engine.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use supervise::ActorSystem;
use supervise::remote::{BoxFuture, Inbox, Node, NodeId, Transport, TransportError};
use supervise_remote_benchmark::{Outcome, count_told};

use crate::{Counter, Remote};

struct Joined {
    id: NodeId,
    incarnation: u64,
    inbox: Inbox,
}

/// Hands packets over.
#[derive(Clone)]
struct Direct {
    address: &'static str,
    joined: Arc<Mutex<Vec<Joined>>>,
}

impl Direct {
    fn joined(&self) -> MutexGuard<'_, Vec<Joined>> {
        self.joined.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transport for Direct {
    fn address(&self) -> String {
        self.address.to_owned()
    }

    fn open(&self, me: &NodeId, incarnation: u64, inbox: Inbox) -> BoxFuture<'_, Result<(), TransportError>> {
        let me = Joined { id: me.clone(), incarnation, inbox };
        Box::pin(async move {
            let mut joined = self.joined();
            for other in joined.iter() {
                me.inbox.appeared(other.id.clone(), other.incarnation);
                other.inbox.appeared(me.id.clone(), me.incarnation);
            }
            joined.push(me);
            Ok(())
        })
    }

    fn send(&self, to: &NodeId, packet: Vec<u8>) -> Result<(), Vec<u8>> {
        let joined = self.joined();
        let from = joined.iter().find(|one| one.id.address() == self.address);
        let to = joined.iter().find(|one| one.id == *to);
        match (from, to) {
            (Some(from), Some(to)) => to.inbox.packet(from.id.clone(), packet),
            _ => return Err(packet),
        }
        Ok(())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async { self.joined().retain(|one| one.id.address() != self.address) })
    }
}

/// Tells so many numbers.
pub(crate) async fn alone(count: u64) -> Outcome<()> {
    let (there, here) = (ActorSystem::new("there"), ActorSystem::new("here"));
    let one = Direct { address: "127.0.0.1:1", joined: Arc::default() };
    let other = Direct { address: "127.0.0.1:2", ..one.clone() };
    let _there = Node::builder(&there).serve::<Counter>().join(one).await?;
    there.spawn("counter", Counter::default)?;
    let node = Node::builder(&here).join(other).await?;
    let counter = node.find::<Counter>("supervise://there@127.0.0.1:1/user/counter").await?;
    count_told(&Remote { system: here, counter }, count).await
}
