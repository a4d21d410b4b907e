//! The actors that delay the end of the system, or of a part of it.

use std::fmt;

use super::NodeState;
use crate::actor::{ActorSystem, AnyActorRef};
use crate::base::ActorPath;

/// How many of these actors are listed.
const LISTED: usize = 5;

/// Actors that were asked to stop and have not ended, and that wait for no child to end.
///
/// `Display` prints the paths of the first five, with their states, and how many others there are.
#[derive(Debug, Default)]
pub(crate) struct StillStopping {
    listed: Vec<(ActorPath, NodeState)>,
    others: usize,
}

impl StillStopping {
    /// Finds these actors in a system. Like [`ActorSystem::tree`], this reads one actor after another.
    pub(crate) fn of(system: &ActorSystem) -> Self {
        let mut found = Self::default();
        let mut next: Vec<(AnyActorRef, bool)> = vec![(system.core().root(), false)];
        while let Some((actor, asked_by_parent)) = next.pop() {
            let state = {
                let protocol = actor.core().protocol();
                if protocol.has_ended() {
                    continue;
                }
                let mut waits = false;
                let children = protocol.children().rev().map(|(id, child)| {
                    let asked = protocol.has_asked_to_stop(id);
                    waits |= asked;
                    (child.clone(), asked)
                });
                next.extend(children);
                // An actor whose handler blocks its thread has not taken up the request.
                ((asked_by_parent || protocol.is_stopping()) && !waits).then(|| NodeState::of(&protocol))
            };
            match state {
                Some(state) if found.listed.len() < LISTED => found.listed.push((actor.path(), state)),
                Some(_) => found.others += 1,
                None => {}
            }
        }
        found
    }

    /// Whether no actor delays the end.
    pub(crate) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }
}

impl fmt::Display for StillStopping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (path, state)) in self.listed.iter().enumerate() {
            let separator = if at == 0 { "" } else { ", " };
            // The request waits until the code that runs returns.
            let state = match state {
                NodeState::Running => "its code has not returned",
                NodeState::Starting => "starting",
                NodeState::Failed => "failed",
                NodeState::Suspended => "suspended",
                NodeState::Stopping | NodeState::Declared | NodeState::Recursive => "stopping",
            };
            write!(f, "{separator}{path} ({state})")?;
        }
        match self.others {
            0 => Ok(()),
            others => write!(f, " and {others} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tokio::runtime::Builder;
    use tokio::sync::oneshot;

    use super::*;
    use crate::actor::{
        Actor, ActorRef, Context, EscalationsDecidedBy, HandlersOfOneImplBlockDecidedBy, Supervisor, TypedRef,
    };
    use crate::failure::Failure;

    /// Blocks its thread.
    struct Blocking;

    impl Supervisor for Blocking {
        type Ref = ActorRef<Self>;
    }

    impl Actor for Blocking {
        type Message = (oneshot::Sender<()>, mpsc::Receiver<()>);

        async fn handle(&mut self, (begun, until): Self::Message, _: &mut Context<Self>) -> Result<(), Failure> {
            begun.send(()).unwrap();
            until.recv().map_err(Failure::new)
        }
    }

    impl<P> HandlersOfOneImplBlockDecidedBy<P> for Blocking {}
    impl<P> EscalationsDecidedBy<P> for Blocking {}

    /// Rules 6.1 and 9.2.
    #[test]
    fn an_actor_that_blocks_its_thread_is_named() {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (go_on, until) = mpsc::channel();
        runtime.block_on(async {
            let system = ActorSystem::new("blocked");
            let blocking = system.spawn("blocking", || Blocking).unwrap();
            assert!(StillStopping::of(&system).is_empty());
            let (begun, has_begun) = oneshot::channel();
            blocking.tell((begun, until)).unwrap();
            has_begun.await.unwrap();
            system.user_guardian().stop();
            let path = blocking.actor_ref().path();
            // `/user` is named until it has taken up the request and passed it on.
            while StillStopping::of(&system).to_string() != format!("{path} (its code has not returned)") {
                tokio::task::yield_now().await;
            }
            go_on.send(()).unwrap();
            system.terminate().await;
        });
    }
}
