//! Refs in messages.
//!
//! Rule 26.8.

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::codec::here;
use super::node::{Node, NodeCore};
use super::remote_actor::{RemoteActor, RemoteType};
use super::wire::WireRef;
use crate::actor::{ActorRef, AnyActorRef, EndReason};

/// A ref travels in the messages of a node. The actor's own node gives it back as the local ref, and any other node that knows the
/// actor's node makes a ref to it.
impl<A: RemoteActor> Serialize for ActorRef<A> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(node) = here().or_else(|| Node::core_of(self.core())) else {
            return Err(S::Error::custom("the ref's system has not joined other nodes"));
        };
        node.write_ref::<A>(self).serialize(serializer)
    }
}

impl<'de, A: RemoteActor> Deserialize<'de> for ActorRef<A> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = WireRef::deserialize(deserializer)?;
        let Some(node) = here() else {
            return Err(D::Error::custom("a ref can be read only from a message of another node"));
        };
        if wire.actor != A::NAME {
            return Err(D::Error::custom("the ref is one to an actor of another type"));
        }
        Ok(node.read_ref(&wire))
    }
}

impl NodeCore {
    fn is_me(&self, wire: &WireRef) -> bool {
        wire.incarnation == self.incarnation() && *wire.node == **self.me().text()
    }

    /// What another node has to know of a ref.
    pub(super) fn write_ref<A: RemoteActor>(&self, actor: &ActorRef<A>) -> WireRef {
        let any = actor.to_any();
        if any.is_local() {
            self.export(&any, Some(RemoteType::of::<A>()));
            return self.wire(&any, u64::from(any.uid()), A::NAME);
        }
        self.write_remote(&any, A::NAME)
    }

    /// The ref of an actor of another node.
    fn write_remote(&self, any: &AnyActorRef, name: &str) -> WireRef {
        let path = any.path();
        let node = format!("{}@{}", path.system(), path.address().unwrap_or_default());
        let known = self.link_of(&node).and_then(|link| Some((link.actor_of(any.uid())?, link.incarnation()?.1)));
        // A ref of an association that is over reaches nobody. Deriving its uid here would reveal the node's secret.
        let (uid, incarnation) = known.unwrap_or_else(|| (self.veiled(any.uid().into()).into(), 0));
        WireRef { node, incarnation, uid, path: path.local().to_owned(), actor: name.to_owned() }
    }

    fn wire(&self, any: &AnyActorRef, uid: u64, name: &str) -> WireRef {
        WireRef {
            node: self.me().to_string(),
            incarnation: self.incarnation(),
            uid,
            path: any.path().local().to_owned(),
            actor: name.to_owned(),
        }
    }

    /// What another node has to know of a watcher here.
    pub(super) fn watcher(&self, watcher: &AnyActorRef) -> WireRef {
        self.export(watcher, None);
        self.wire(watcher, u64::from(watcher.uid()), self.name_of(watcher))
    }

    /// The ref that a text means here.
    pub(super) fn read_ref<A: RemoteActor>(&self, wire: &WireRef) -> ActorRef<A> {
        if self.is_me(wire) {
            let found = self.exported(wire.uid).and_then(|actor| actor.downcast::<A>());
            return found.unwrap_or_else(|| self.dead(wire));
        }
        let link = self.link_of(&wire.node);
        let up = link.and_then(|link| {
            let (mine, incarnation) = link.incarnation()?;
            if incarnation != wire.incarnation {
                return None;
            }
            link.proxy::<A>(mine, wire.uid, &wire.path)
        });
        up.unwrap_or_else(|| self.dead(wire))
    }

    /// A ref that reaches nobody. It must not equal the ref of another actor, whose uid the peer may know: code here may watch it, and is told
    /// that it has ended.
    fn dead<A: RemoteActor>(&self, wire: &WireRef) -> ActorRef<A> {
        let uid = self.veiled(wire.uid);
        let reason = if self.is_me(wire) { EndReason::Unknown } else { EndReason::Unreachable };
        let name = format!("{}{}{}", crate::base::SCHEME, wire.node, wire.path);
        super::proxy::dead(self.system(), &name, uid, reason)
    }
}

impl<A: RemoteActor> ActorRef<A> {
    /// The address of the actor's node, `host:port`, if the actor lives on another node.
    pub fn node(&self) -> Option<String> {
        if self.is_local() { None } else { self.path().address().map(str::to_owned) }
    }
}
