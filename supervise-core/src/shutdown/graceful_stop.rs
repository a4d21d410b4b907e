//! Waiting for the end of an actor from outside the tree.
//!
//! Rule 6.7.

use std::future::Future;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::actor::{ActorRef, ActorSystem, AnyActorRef, Guardian, Props, TypedRef};
use crate::base::ActorPath;
use crate::supervision::{HowEnded, WatchKind};

impl ActorSystem {
    /// Waits until an actor has ended, or returns at once if it has already ended. A restart does not count.
    /// `post_stop` has run by then, but the actor's name may still be taken. [`ActorRef::end_reason`] says why it ended.
    ///
    /// The end of an actor of another node can be [`HowEnded::Unreachable`]: that node was given up, or this one has left, and the actor may live on. It is never
    /// [`HowEnded::TooManyWatches`]. While the limit of watches between the two nodes keeps this one out, the future tries again, at
    /// most a second later
    /// (rule [26.4](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-26.4)).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the watch.
    pub async fn ended<R: TypedRef>(&self, actor: &R) -> HowEnded {
        watch_from_outside(&actor.actor_ref().to_any()).await
    }

    /// Requests the stop of an actor and waits until it has ended. As with [`ended`](Self::ended), its name may still be taken, and
    /// [`HowEnded::Unreachable`] says that the actor's node was given up and the actor may live on.
    ///
    /// # Errors
    ///
    /// If the actor is not known to have ended within that time. It is not aborted, and still stops. An actor of another node may
    /// have ended, if its end could not be watched because of the limit of watches between the two nodes.
    ///
    /// # Cancel safety
    ///
    /// The first poll requests the stop. If the future is dropped after that, the actor still stops.
    pub async fn graceful_stop<R: TypedRef>(&self, actor: &R, within: Duration) -> Result<HowEnded, NotStopped> {
        ends_within(&actor.actor_ref().to_any(), AnyActorRef::stop, within).await
    }

    /// Lets an actor handle the messages that wait, makes it refuse further messages ([`ActorRef::stop_when_drained`]), and
    /// waits until it has ended. As with [`ended`](Self::ended), its name may still be taken, and [`HowEnded::Unreachable`] says
    /// that the actor's node was given up and the actor may live on.
    ///
    /// # Errors
    ///
    /// If the actor is not known to have ended within that time, as with [`graceful_stop`](Self::graceful_stop). It still handles
    /// the messages that wait, and then stops.
    ///
    /// # Cancel safety
    ///
    /// The first poll requests the stop. If the future is dropped after that, the actor still stops.
    pub async fn graceful_drain<R: TypedRef>(&self, actor: &R, within: Duration) -> Result<HowEnded, NotStopped> {
        ends_within(&actor.actor_ref().to_any(), AnyActorRef::stop_when_drained, within).await
    }
}

/// Watches from now on, even before the future is polled. The watcher belongs to the actor's own system, which may outlive that of
/// the caller.
fn watch_from_outside(subject: &AnyActorRef) -> impl Future<Output = HowEnded> + Send + use<> {
    let (tell, told) = oneshot::channel();
    let mut tell = Some(tell);
    let system = ActorSystem::of(subject.core());
    let watcher = system.spawn_system(Props::new(move || Guardian::watcher(tell.take()))).map(|watcher| {
        watcher.to_any().command(|protocol, effects| protocol.watch(subject, WatchKind::Notify, effects));
        StopOnDrop(watcher)
    });
    // If the system ends, its actors end with it. Those of other nodes may live on.
    let with_system = if subject.is_local() { HowEnded::AlreadyGone } else { HowEnded::Unreachable };
    // A termination callback runs after the last actor has ended. If it waited for the end of the system, it would wait for itself.
    let may_live = subject.is_local() && !subject.has_ended();
    async move {
        let Ok(_watch) = watcher else {
            if may_live {
                let _how = system.when_terminated().await;
            }
            return with_system;
        };
        told.await.unwrap_or(with_system)
    }
}

async fn ends_within(
    subject: &AnyActorRef,
    stop: fn(&AnyActorRef),
    within: Duration,
) -> Result<HowEnded, NotStopped> {
    // The watch begins before the stop, so that the answer says how the actor ended, even if it ends at
    // once.
    let end = watch_from_outside(subject);
    stop(subject);
    tokio::time::timeout(within, end).await.map_err(|_| NotStopped { actor: subject.path(), within })
}

/// [`ActorSystem::graceful_drain`], for an actor whose type is not known.
pub(crate) async fn drained_within(actor: &AnyActorRef, within: Duration) -> Result<HowEnded, NotStopped> {
    ends_within(actor, AnyActorRef::stop_when_drained, within).await
}

/// Stops an actor whose type is not known, and waits until it has ended.
#[cfg(feature = "remote")]
pub(crate) async fn stopped(actor: &AnyActorRef) -> HowEnded {
    let end = watch_from_outside(actor);
    actor.stop();
    end.await
}

/// An actor did not stop in time.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{actor} did not stop within {within:?}")]
pub struct NotStopped {
    /// The actor.
    pub actor: ActorPath,
    /// The time that it had.
    pub within: Duration,
}

crate::failure::debug_in_one_line!(NotStopped);

struct StopOnDrop(ActorRef<Guardian>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}
