//! The way to the actor of one key.
//!
//! Rules 28.1 and 28.3.

use std::any::TypeId;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use super::ShardKey;
use super::gate::{Enter, GateMessage};
use super::keeper::Keeper;
use super::region::{Holder, Region, View, hash};
use crate::actor::{
    Actor, AskError, Context, EscalationsDecidedBy, HandlersOfOneImplBlockDecidedBy, SpawnError, Supervisor,
    TypedRef,
};
use crate::failure::Failure;
use crate::mailbox::MailboxKind;
use crate::observe::DeadLetterReason;
use crate::pattern::{Sealed, StandIn, StandInRef, pass_on};
use crate::remote::RemoteActor;

/// Takes the messages for the actor of one key, and passes them on to the key's home.
pub(super) struct Route<K: ShardKey, A: RemoteActor> {
    key: K,
    hash: Option<u64>,
    region: Arc<Region<K, A>>,
    /// The number of the view in which the other nodes have let the key go.
    granted: Option<u64>,
}

impl<K: ShardKey, A: RemoteActor> Route<K, A> {
    pub(super) fn new(key: K, region: Arc<Region<K, A>>) -> Self {
        Self { hash: hash(&key), key, region, granted: None }
    }

    /// Waits until the key's home is known and the key may be used there.
    async fn found(&mut self, stopping: impl Future<Output = ()>) -> Result<Arc<View<K, A>>, DeadLetterReason> {
        let Some(hash) = self.hash else { return Err(DeadLetterReason::Unsendable) };
        let mut views = self.region.views();
        let mut stopping = pin!(stopping);
        let began = self.region.system.uptime();
        loop {
            let view = Arc::clone(&views.borrow_and_update());
            let home = view.home(hash);
            if home.is_some_and(|home| !home.is_here || self.granted == Some(view.number)) {
                return Ok(view);
            }
            let left = self.region.handover.saturating_sub(self.region.system.uptime().saturating_sub(began));
            let is_home = home.is_some();
            let what = async {
                // Without a home, only another view helps.
                if is_home { released(&self.region, &view, &self.key).await } else { std::future::pending().await }
            };
            let mut what = pin!(tokio::time::timeout(left, what));
            let mut changed = pin!(views.changed());
            let over = poll_fn(|cx| {
                if stopping.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Err(DeadLetterReason::Stopped));
                }
                if changed.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Ok(false));
                }
                // The wait for nodes that have not let the key go in time is over.
                what.as_mut()
                    .poll(cx)
                    .map(|_let_go| if is_home { Ok(true) } else { Err(DeadLetterReason::Unreachable) })
            });
            if over.await? {
                self.granted = Some(view.number);
            }
        }
    }
}

/// Waits until the other nodes have let the key go.
async fn released<K: ShardKey, A: RemoteActor>(region: &Region<K, A>, view: &View<K, A>, key: &K) {
    let asks = view.unsettled().map(|other| Box::pin(release(region, other, key)));
    let mut asks: Vec<Pin<Box<_>>> = asks.collect();
    poll_fn(|cx| {
        asks.retain_mut(|ask| ask.as_mut().poll(cx).is_pending());
        if asks.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// Asks another node to let the key go, and waits until it has.
pub(super) async fn release<K: ShardKey, A: RemoteActor>(region: &Region<K, A>, other: &Holder<K, A>, key: &K) {
    let _place = region.releases.acquire().await;
    // The other node may have let all keys go while this waited for its place.
    if !other.is_settled() && Keeper::release(&other.keeper, key.clone()).await.is_err() {
        // The other node has not confirmed that it let the key go. Once its keeper has ended, it has let all keys
        // go.
        region.system.ended(&other.keeper).await;
    }
}

impl<K: ShardKey, A: RemoteActor> Sealed for Route<K, A> {}

impl<K: ShardKey, A: RemoteActor> StandIn for Route<K, A> {
    type For = A;
}

impl<K: ShardKey, A: RemoteActor> Supervisor for Route<K, A> {
    type Ref = StandInRef<Self>;
    const MAILBOX: MailboxKind = A::MAILBOX;

    fn answers_to(actor: TypeId) -> bool {
        actor == TypeId::of::<Self>() || A::answers_to(actor)
    }
}

impl<K: ShardKey, A: RemoteActor> Actor for Route<K, A> {
    type Message = A::Message;

    async fn handle(&mut self, message: A::Message, ctx: &mut Context<Self>) -> Result<(), Failure> {
        let view = match self.found(ctx.stopping()).await {
            Ok(view) => view,
            Err(reason) => {
                lose(message, reason, AskError::Undeliverable, ctx);
                return Ok(());
            }
        };
        let home = self.hash.and_then(|hash| view.home(hash));
        match home {
            Some(home) if !home.is_here => {
                let message = GateMessage::Enter(Enter { key: self.key.clone(), hops: 0, message });
                pass_on(message, &home.gate, ctx).await;
            }
            _ => match self.region.actors.get_or_spawn(self.key.clone()) {
                Ok(actor) => pass_on(message, actor.actor_ref(), ctx).await,
                Err(SpawnError::TooManyChildren { .. }) => {
                    lose(message, DeadLetterReason::TooManyChildren, AskError::TooManyChildren, ctx);
                }
                // The owner is stopping.
                Err(_) => lose(message, DeadLetterReason::Stopped, AskError::Undeliverable, ctx),
            },
        }
        Ok(())
    }

    fn message_name(message: &A::Message) -> &'static str {
        A::message_name(message)
    }
}

fn lose<K: ShardKey, A: RemoteActor>(
    message: A::Message,
    reason: DeadLetterReason,
    answer: AskError,
    ctx: &Context<Route<K, A>>,
) {
    let name = A::message_name(&message);
    ctx.me_any().core().lose(name, reason, answer, message);
}

impl<K: ShardKey, A: RemoteActor, P> HandlersOfOneImplBlockDecidedBy<P> for Route<K, A> {}
impl<K: ShardKey, A: RemoteActor, P> EscalationsDecidedBy<P> for Route<K, A> {}

impl<K: ShardKey, A: RemoteActor> fmt::Debug for Route<K, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Route").field("region", &self.region.name).finish_non_exhaustive()
    }
}
