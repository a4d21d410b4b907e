//! Receives the messages that other nodes send to the actors of this node.
//!
//! While nodes come and go, a message may reach a node that is not the home of its key. The node passes it on. If the next node is not the
//! home either, the two nodes have different views, and the message waits there for a moment before it is passed on again.
//!
//! Rule 28.2.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use super::region::{Region, hash};
use super::route::Route;
use super::{ShardKey, WireName};
use crate::actor::{
    Actor, ActorRef, AskError, Context, EscalationsDecidedBy, HandlersOfOneImplBlockDecidedBy, ReplyTo, Request,
    SpawnError, Supervisor,
};
use crate::base::{contained, drop_contained};
use crate::failure::Failure;
use crate::keyed::Children;
use crate::observe::DeadLetterReason;
use crate::remote::{Arguments, Outgoing, RemoteActor, RemoteHandler, Undecodable, Unsendable, codec, push};

/// How many messages wait here until the nodes agree.
const HELD: usize = 1024;

/// How long messages wait before they are passed on again.
const AGAIN: Duration = Duration::from_millis(50);

/// The actor that receives what other nodes send.
pub(super) struct Gate<K: ShardKey, A: RemoteActor> {
    region: Arc<Region<K, A>>,
    routes: Children<K, Route<K, A>>,
    held: Vec<Held<K, A::Message>>,
    /// The askers that wait until the gate holds nothing.
    waiting: Vec<ReplyTo<()>>,
}

/// A message that waits until the nodes agree.
struct Held<K, M> {
    enter: Enter<K, M>,
    /// In the system's uptime.
    until: Duration,
}

/// The messages of a gate.
pub(super) enum GateMessage<K, M> {
    /// A message for the actor of a key.
    Enter(Enter<K, M>),
    /// The view has changed, or the held messages have waited for a moment.
    Again,
    /// Reply when the gate holds nothing.
    Drain(ReplyTo<()>),
}

/// A message for the actor of a key.
pub(super) struct Enter<K, M> {
    pub(super) key: K,
    /// How many gates have passed the message on.
    pub(super) hops: u8,
    pub(super) message: M,
}

impl<K: ShardKey, A: RemoteActor> Gate<K, A> {
    pub(super) fn new(region: Arc<Region<K, A>>, routes: Children<K, Route<K, A>>) -> Self {
        Self { region, routes, held: Vec::new(), waiting: Vec::new() }
    }

    fn enter(&mut self, held: Held<K, A::Message>, ctx: &Context<Self>) {
        let Held { enter, until } = held;
        let Some(hash) = hash(&enter.key) else { return lose(enter, DeadLetterReason::Unsendable, ctx) };
        let view = self.region.view();
        match view.home(hash) {
            Some(home) if home.is_here => self.arrive(enter, ctx),
            Some(home) if enter.hops == 0 => {
                push(&home.gate, GateMessage::Enter(Enter { hops: 1, ..enter }));
            }
            _ if self.held.len() < HELD && until > self.region.system.uptime() => {
                self.held.push(Held { enter, until });
            }
            _ => lose(enter, DeadLetterReason::Unreachable, ctx),
        }
    }

    fn arrive(&self, enter: Enter<K, A::Message>, ctx: &Context<Self>) {
        let reason = match contained(|| self.routes.get_or_spawn(enter.key.clone())) {
            Ok(Ok(route)) => {
                push(route.actor_ref(), enter.message);
                return;
            }
            // The owner is stopping.
            Ok(Err(SpawnError::Stopping { .. })) => DeadLetterReason::Stopped,
            // Another key has the text of this one.
            Ok(Err(_)) => DeadLetterReason::Undecodable,
            Err(payload) => {
                drop_contained(payload);
                DeadLetterReason::Undecodable
            }
        };
        lose(enter, reason, ctx);
    }

    /// Passes the held messages on again.
    fn again(&mut self, ctx: &Context<Self>) {
        for Held { enter, until } in mem::take(&mut self.held) {
            // The next node may have refused the message because its view was different.
            self.enter(Held { enter: Enter { hops: 0, ..enter }, until }, ctx);
        }
        if self.held.is_empty() {
            for reply in self.waiting.drain(..) {
                reply.answer(());
            }
        }
    }

    fn lose_all(&mut self, ctx: &Context<Self>) {
        for held in mem::take(&mut self.held) {
            lose(held.enter, DeadLetterReason::Stopped, ctx);
        }
    }

    /// Asks a gate to reply when it holds nothing.
    pub(super) async fn drained(gate: ActorRef<Self>) -> Result<(), AskError> {
        let attach = |message: &mut GateMessage<K, A::Message>, reply| {
            if let GateMessage::Drain(to) = message {
                *to = reply;
            }
        };
        Request::new(&gate, GateMessage::Drain(ReplyTo::nowhere()), attach).await
    }
}

impl<K: ShardKey, A: RemoteActor> Supervisor for Gate<K, A> {
    type Ref = ActorRef<Self>;
}

impl<K: ShardKey, A: RemoteActor> Actor for Gate<K, A> {
    type Message = GateMessage<K, A::Message>;

    async fn handle(&mut self, message: Self::Message, ctx: &mut Context<Self>) -> Result<(), Failure> {
        match message {
            GateMessage::Enter(enter) => {
                let until = self.region.system.uptime().saturating_add(self.region.handover);
                self.enter(Held { enter, until }, ctx);
            }
            GateMessage::Again => self.again(ctx),
            GateMessage::Drain(reply) if self.held.is_empty() => reply.answer(()),
            GateMessage::Drain(reply) => self.waiting.push(reply),
        }
        if !self.held.is_empty() && ctx.running_work() == 0 {
            ctx.pipe(tokio::time::sleep(AGAIN), |me: &ActorRef<Self>, ()| {
                Request::new(me, GateMessage::Again, |_, _: ReplyTo<()>| {})
            });
        }
        Ok(())
    }

    async fn pre_restart(
        &mut self,
        ctx: &mut Context<Self>,
        _: &Failure,
        _: Option<Self::Message>,
    ) -> Result<(), Failure> {
        self.lose_all(ctx);
        Ok(())
    }

    async fn post_stop(&mut self, ctx: &mut Context<Self>) -> Result<(), Failure> {
        self.lose_all(ctx);
        Ok(())
    }

    fn message_name(message: &Self::Message) -> &'static str {
        match message {
            GateMessage::Enter(enter) => A::message_name(&enter.message),
            GateMessage::Again => "again",
            GateMessage::Drain(_) => "drain",
        }
    }
}

fn lose<K: ShardKey, A: RemoteActor>(
    enter: Enter<K, A::Message>,
    reason: DeadLetterReason,
    ctx: &Context<Gate<K, A>>,
) {
    let name = A::message_name(&enter.message);
    ctx.me_any().core().lose(name, reason, AskError::Undeliverable, enter);
}

/// The contract is that of the sharded actor, with the key and the hops in front of the arguments.
impl<K: ShardKey, A: RemoteActor> RemoteActor for Gate<K, A> {
    const NAME: &'static str = const { &WireName::new("gate of ", A::NAME) }.text();
    const CONTRACT: &'static [RemoteHandler] = A::CONTRACT;

    fn encode(message: Self::Message, out: &mut Outgoing) -> Result<(), Unsendable> {
        let GateMessage::Enter(Enter { key, hops, message }) = message else { return Err(Unsendable) };
        out.wrap(
            |inner| <A as RemoteActor>::encode(message, inner),
            |out| {
                out.argument(&key, codec::<K>())?;
                out.argument(&hops, codec::<u8>())
            },
        )
    }

    fn decode(handler: &str, arguments: &mut Arguments<'_>) -> Result<Self::Message, Undecodable> {
        let key = arguments.read(codec::<K>())?;
        let hops = arguments.read(codec::<u8>())?;
        let message = <A as RemoteActor>::decode(handler, arguments)?;
        Ok(GateMessage::Enter(Enter { key, hops, message }))
    }
}

impl<K: ShardKey, A: RemoteActor, P> HandlersOfOneImplBlockDecidedBy<P> for Gate<K, A> {}
impl<K: ShardKey, A: RemoteActor, P> EscalationsDecidedBy<P> for Gate<K, A> {}

impl<K: ShardKey, A: RemoteActor> fmt::Debug for Gate<K, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("held", &self.held.len()).finish_non_exhaustive()
    }
}
