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
    /// Waits until an actor has ended; at once if it has. A restart does not count. Everything its `post_stop` did has
    /// happened then; its name may still be taken.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future takes the watch back.
    pub async fn ended<R: TypedRef>(&self, actor: &R) -> HowEnded {
        self.watch_from_outside(&actor.actor_ref().to_any()).await
    }

    /// Watches from now on, whether or not the future is polled.
    fn watch_from_outside(&self, subject: &AnyActorRef) -> impl Future<Output = HowEnded> + Send + use<> {
        let (tell, told) = oneshot::channel();
        let mut tell = Some(tell);
        let watcher =
            self.spawn_system(Props::new(move || Guardian::Watcher { tell: tell.take() })).map(|watcher| {
                watcher.to_any().command(|protocol, effects| protocol.watch(subject, WatchKind::Notify, effects));
                StopOnDrop(watcher)
            });
        let system = self.clone();
        async move {
            let Ok(_watch) = watcher else {
                // The system is ending, and no actor outlives it.
                let _how = system.when_terminated().await;
                return HowEnded::AlreadyGone;
            };
            match told.await {
                Ok(how) => how,
                Err(_system_gone) => HowEnded::AlreadyGone,
            }
        }
    }

    /// Requests the stop of an actor and waits until it has ended. As with [`ended`](Self::ended), its name may still be taken.
    ///
    /// # Errors
    ///
    /// If it has not ended in time. It is not forced, and ends when it can.
    ///
    /// # Cancel safety
    ///
    /// The stop is requested at the first poll. Dropped later, the actor stops all the same.
    pub async fn graceful_stop<R: TypedRef>(&self, actor: &R, within: Duration) -> Result<HowEnded, NotStopped> {
        // Watched first, so that a quick end is seen and not found.
        let end = self.watch_from_outside(&actor.actor_ref().to_any());
        self.stop(actor);
        tokio::time::timeout(within, end).await.map_err(|_| NotStopped { actor: actor.actor_ref().path(), within })
    }
}

/// An actor did not stop in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{actor} did not stop within {within:?}")]
pub struct NotStopped {
    /// Which actor.
    pub actor: ActorPath,
    /// The time it had.
    pub within: Duration,
}

struct StopOnDrop(ActorRef<Guardian>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}
