//! The actors here whose refs were handed out.

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError, Weak};

use super::super::link::Link;
use super::super::remote_actor::{Nobody, RemoteType};
use super::super::wire::WireRef;
use super::NodeCore;
use crate::actor::{AnyActorRef, AnyCell};
use crate::base::ActorPath;

/// The actors here whose refs were handed out, by their uid.
#[derive(Default)]
pub(super) struct Exports {
    actors: HashMap<u64, Export>,
    sweep_at: usize,
}

struct Export {
    actor: Weak<dyn AnyCell>,
    /// For dead letters when the actor is gone.
    path: ActorPath,
    /// `None`: the actor was named only as a watcher.
    kind: Option<RemoteType>,
}

impl NodeCore {
    fn exports(&self) -> MutexGuard<'_, Exports> {
        self.exports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a ref to this actor is handed out.
    pub(in crate::remote) fn export(&self, actor: &AnyActorRef, kind: Option<RemoteType>) {
        let uid = u64::from(actor.uid());
        let mut exports = self.exports();
        if let Some(known) = exports.actors.get_mut(&uid) {
            known.kind = known.kind.or(kind);
            return;
        }
        if exports.actors.len() >= exports.sweep_at.max(64) {
            exports.actors.retain(|_, export| export.actor.strong_count() > 0);
            exports.sweep_at = exports.actors.len() * 2;
        }
        exports.actors.insert(uid, Export { actor: Arc::downgrade(&actor.0), path: actor.path(), kind });
    }

    /// The actor of this uid, if a ref to it was handed out and something still holds its cell.
    pub(in crate::remote) fn exported(&self, uid: u64) -> Option<AnyActorRef> {
        let found = self.exports().actors.get(&uid)?.actor.upgrade();
        found.map(AnyActorRef)
    }

    /// Like [`exported`](Self::exported), with the type whose messages the actor takes.
    pub(in crate::remote) fn reached(&self, uid: u64) -> Option<(AnyActorRef, Option<RemoteType>)> {
        let exports = self.exports();
        let export = exports.actors.get(&uid)?;
        let (found, kind) = (export.actor.upgrade(), export.kind);
        drop(exports);
        Some((AnyActorRef(found?), kind))
    }

    /// Like [`exported`](Self::exported), if the peer may have a ref to the actor. It has none to an actor that was named only as a watcher.
    pub(in crate::remote) fn handed_out(&self, uid: u64) -> Option<AnyActorRef> {
        self.reached(uid).filter(|(_, kind)| kind.is_some()).map(|(actor, _)| actor)
    }

    /// The path and the type of an actor that may have ended. Of one that is forgotten, only the system is known.
    pub(in crate::remote) fn last_known(&self, uid: u64) -> (ActorPath, Option<RemoteType>) {
        let exports = self.exports();
        let known = exports.actors.get(&uid).map(|export| (export.path.clone(), export.kind));
        known.unwrap_or_else(|| (ActorPath::from_elements(self.system.name(), std::iter::empty()), None))
    }

    /// The name on the wire of the actor's type, or nothing.
    pub(in crate::remote) fn name_of(&self, actor: &AnyActorRef) -> &'static str {
        let known = self.exports().actors.get(&u64::from(actor.uid())).and_then(|export| export.kind);
        let served = || self.served.values().find(|kind| (kind.reaches)(actor)).copied();
        known.or_else(served).map_or("", |kind| kind.name)
    }

    /// The proxy through which a watcher at a peer is told.
    pub(in crate::remote) fn watcher_proxy(
        &self,
        link: &Arc<Link>,
        mine: u64,
        watcher: u64,
        wire: &WireRef,
    ) -> Option<AnyActorRef> {
        if let Some(typed) = link.typed(mine, watcher) {
            return Some(typed);
        }
        match self.served.get(&*wire.actor) {
            Some(kind) => (kind.proxy)(link, mine, watcher, &wire.path),
            None => link.proxy::<Nobody>(mine, watcher, &wire.path).map(|proxy| proxy.to_any()),
        }
    }
}
