//! The proxies of a peer's actors, as their link keeps them.

use std::mem::take;
use std::sync::Arc;

use super::{AssociationTables, Interned, Link};
use crate::actor::dispatch::Task;
use crate::actor::{ActorRef, AnyActorRef, EndReason};
use crate::base::{SCHEME, Uid};
use crate::remote::association::{Input, Number};
use crate::remote::proxy;
use crate::remote::remote_actor::{Nobody, RemoteActor};

impl Link {
    /// The uid of a proxy: no ref of one association equals one of another, and because of the node's secret no peer can name an actor of its
    /// own so that the proxy equals an actor of this node.
    pub(in crate::remote) fn uid(&self, mine: Number, actor: u64) -> Uid {
        Uid::of(actor ^ mine ^ self.node.secret())
    }

    /// The actor's uid on its node, if this proxy belongs to the association that there is now.
    pub(in crate::remote) fn actor_of(&self, proxy: Uid) -> Option<u64> {
        let state = self.state();
        let actor = u64::from(proxy) ^ state.association.numbers()?.0 ^ self.node.secret();
        let interned = state.kept.proxies.get(&actor)?;
        interned.iter().any(|one| one.any.uid() == proxy).then_some(actor)
    }

    fn name(&self, path: &str) -> String {
        format!("{SCHEME}{}{path}", self.peer)
    }

    /// The proxy of an actor of the peer's. `None`: the association is over, or there are too many.
    pub(in crate::remote) fn proxy<A: RemoteActor>(
        self: &Arc<Self>,
        mine: Number,
        actor: u64,
        path: &str,
    ) -> Option<ActorRef<A>> {
        let (name, uid) = (self.name(shown(path)), self.uid(mine, actor));
        let mut state = self.state();
        if state.association.numbers()?.0 != mine {
            return None;
        }
        let known = state.kept.proxies.get(&actor).and_then(|interned| {
            interned.iter().find_map(|one| if one.name == A::NAME { one.any.downcast::<A>() } else { None })
        });
        if known.is_some() {
            return known;
        }
        let limit = self.node.max_refs();
        let swept = state.kept.sweep(limit);
        if state.kept.proxies.len() >= limit {
            drop(state);
            let_go(swept);
            self.step(Input::Broke);
            return None;
        }
        let (proxy, task) = proxy::make::<A>(self, mine, actor, (&name, uid));
        let interned = Interned { any: proxy.to_any(), name: A::NAME, close: proxy::close::<A> };
        state.kept.proxies.entry(actor).or_default().push(interned);
        drop(state);
        let_go(swept);
        proxy.core().run(Some(task));
        Some(proxy)
    }

    /// The proxy of an actor, through which its messages go, if there is one with a type.
    pub(in crate::remote) fn typed(&self, mine: Number, actor: u64) -> Option<AnyActorRef> {
        let mut state = self.state();
        let interned = state.tables(mine)?.proxies.get(&actor)?;
        interned.iter().find(|one| !one.name.is_empty()).map(|one| one.any.clone())
    }

    /// Any proxy of an actor.
    pub(in crate::remote) fn known(&self, mine: Number, actor: u64) -> Option<AnyActorRef> {
        let mut state = self.state();
        Some(state.tables(mine)?.proxies.get(&actor)?.first()?.any.clone())
    }

    /// The actor has ended: its proxies refuse messages.
    pub(in crate::remote) fn gone(&self, mine: Number, actor: u64, why: &EndReason) {
        let mut state = self.state();
        let interned = state.tables(mine).and_then(|tables| tables.proxies.get(&actor));
        let interned: Vec<_> = interned.into_iter().flatten().collect();
        let proxies: Vec<_> = interned.into_iter().map(|one| (one.any.clone(), one.close)).collect();
        drop(state);
        for (proxy, close) in proxies {
            proxy.core().ends_because(why.clone());
            close(&proxy);
        }
    }

    /// A ref to an actor of the peer's that cannot be reached.
    pub(in crate::remote) fn dead<A: RemoteActor>(&self, uid: Uid, path: &str, why: EndReason) -> ActorRef<A> {
        proxy::dead(self.system(), &self.name(path), uid, why)
    }

    /// A ref to an actor of whom only the uid is known.
    pub(in crate::remote) fn unknown(&self, uid: Uid) -> AnyActorRef {
        self.dead::<Nobody>(uid, "/", EndReason::Unreachable).to_any()
    }

    /// How many proxies there are.
    pub(in crate::remote) fn count(&self) -> usize {
        self.state().kept.proxies.len()
    }
}

/// With at most this many proxies, the link does not look for unused ones.
const FEW: usize = 64;

impl AssociationTables {
    /// Forgets the proxies that nobody holds, whenever their number has doubled or has come half of the way to the limit.
    fn sweep(&mut self, limit: usize) -> Vec<(Interned, Task)> {
        if self.proxies.len() < self.sweep_at.min(limit) { Vec::new() } else { self.forget_unheld(limit) }
    }

    /// Forgets the proxies that nobody holds, unless there are only a few. The caller drops the returned values outside the lock.
    pub(super) fn forget_unheld(&mut self, limit: usize) -> Vec<(Interned, Task)> {
        if self.proxies.len() < FEW.min(limit) {
            return Vec::new();
        }
        let mut swept = Vec::new();
        self.proxies.retain(|_, interned| {
            let mut held = Vec::new();
            for one in take(interned) {
                let is_at_rest = Arc::strong_count(&one.any.0) == proxy::AT_REST;
                // It may be about to have its turn.
                match if is_at_rest { one.any.0.unpark() } else { None } {
                    Some(task) => swept.push((one, task)),
                    None => held.push(one),
                }
            }
            *interned = held;
            !interned.is_empty()
        });
        let held = self.proxies.len();
        self.proxies.shrink_to(held * 2);
        self.sweep_at = (held * 2).min(held + limit.saturating_sub(held).div_ceil(2));
        swept
    }
}

/// How much of an actor's path a proxy keeps, in bytes. The path only says where the actor is; messages go by its uid.
const SHOWN: usize = 2048;

fn shown(path: &str) -> &str {
    if path.len() <= SHOWN { path } else { path.get(..SHOWN).unwrap_or("/") }
}

/// Drops proxies that nobody held. If a weak ref was upgraded meanwhile, it finds that the actor cannot be reached.
pub(super) fn let_go(swept: Vec<(Interned, Task)>) {
    for (interned, task) in swept {
        interned.any.core().ends_because(EndReason::Unreachable);
        (interned.close)(&interned.any);
        drop(task);
    }
}
