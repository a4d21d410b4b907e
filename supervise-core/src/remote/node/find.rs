//! Finding an actor by its path.

use std::pin::Pin;
use std::time::Duration;

use super::super::codec::{Pending, answered};
use super::super::remote_actor::RemoteActor;
use super::super::wire::{Find, FindAnswer, WireRef, bytes};
use super::{Node, NodeCore};
use crate::actor::{RefOf, ReplyTo};
use crate::base::{ActorPath, InvalidPath};

/// How long a search that is beyond the limit of asks waits before it tries again.
const AGAIN: Duration = Duration::from_millis(50);

/// Why no actor was found on another node.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// The path is not one with an address: `supervise://system@host:port/user/name`.
    #[error("{0}")]
    Path(InvalidPath),
    /// The path has no address, and no actor of this node has this path.
    #[error("`{0}` has no address: write `supervise://system@host:port/user/name`")]
    NoAddress(String),
    /// This node has not heard of such a node in time.
    #[error("there is no node `{0}`")]
    NoNode(String),
    /// The node has no such actor.
    #[error("there is no actor at `{0}`")]
    NotFound(String),
    /// The actor has another type.
    #[error("the actor at this path is a `{is}`")]
    OtherType {
        /// The name of its type there.
        is: String,
    },
    /// The node does not serve actors of this type.
    #[error("the node does not serve `{0}`")]
    NotServed(String),
    /// The node did not answer in time, or as many asks as the [`limit`](super::NodeBuilder::limit) allows were under way to it.
    #[error("the node did not answer in time")]
    Timeout,
}

crate::failure::debug_in_one_line!(FindError);

/// The future of [`Node::find`]. Boxed, because rustc would report an `A` that is not remote at each use of an unnamed future.
pub type Finding<'a, A> = Pin<Box<dyn Future<Output = Result<RefOf<A>, FindError>> + Send + 'a>>;

impl Node {
    /// The actor at a path of another node, `supervise://system@host:port/user/name`, or of this one. Waits for the node to appear.
    ///
    /// # Errors
    ///
    /// If the node or the actor does not exist, the actor is not an `A`, or its node does not serve the type.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect.
    pub fn find<A: RemoteActor>(&self, path: impl AsRef<str>) -> Finding<'_, A> {
        let path = path.as_ref().to_owned();
        Box::pin(async move { self.find_at::<A>(&path).await })
    }

    async fn find_at<A: RemoteActor>(&self, text: &str) -> Result<RefOf<A>, FindError> {
        let parsed: ActorPath = text.split('#').next().unwrap_or(text).parse().map_err(FindError::Path)?;
        let Some(address) = parsed.address() else { return Err(FindError::NoAddress(text.to_owned())) };
        let peer = format!("{}@{address}", parsed.system());
        let find = Find { path: parsed.local().to_owned(), actor: A::NAME.to_owned() };
        if peer == **self.0.me.text() {
            return self.read::<A>(text, self.0.found_by(&find, true));
        }
        let limit = self.0.limits.find;
        let answer = async {
            loop {
                let mut news = self.0.news.subscribe();
                let mut is_refused = false;
                if let Some(link) = self.0.link_of(&peer)
                    && let Some((mine, _)) = link.numbers()
                {
                    let (reply, answer) = ReplyTo::<FindAnswer>::asked();
                    let asked = reply.erase().map(|slot| Pending::new(slot, answered::<FindAnswer>));
                    is_refused = asked.is_some_and(|asked| link.ask(mine, 0, bytes(&find).into(), asked).is_err());
                    if !is_refused {
                        link.flush();
                        // A verdict came in between. The next association may begin in time.
                        if let Ok(found) = answer.await {
                            return self.read::<A>(text, found);
                        }
                    }
                }
                let changed = news.changed();
                if is_refused {
                    // Nothing tells this task when there is room for one more ask.
                    let _early = tokio::time::timeout(AGAIN, changed).await;
                } else {
                    let _closed = changed.await;
                }
            }
        };
        match tokio::time::timeout(limit, answer).await {
            Ok(found) => found,
            Err(_) if self.0.link_of(&peer).is_some_and(|link| link.numbers().is_some()) => {
                Err(FindError::Timeout)
            }
            Err(_) => Err(FindError::NoNode(peer)),
        }
    }

    fn read<A: RemoteActor>(&self, path: &str, found: FindAnswer) -> Result<RefOf<A>, FindError> {
        match found {
            FindAnswer::Actor(wire) => Ok(RefOf::<A>::from(self.0.read_ref::<A>(&wire))),
            FindAnswer::Nobody => Err(FindError::NotFound(path.to_owned())),
            FindAnswer::OtherType(is) => Err(FindError::OtherType { is }),
            FindAnswer::NotServed => Err(FindError::NotServed(A::NAME.to_owned())),
        }
    }
}

impl NodeCore {
    /// What a peer that looks for an actor finds.
    pub(in crate::remote) fn found(&self, find: &Find) -> FindAnswer {
        self.found_by(find, !self.is_untrusted)
    }

    /// What somebody finds who may find all actors, or only those that have a name.
    fn found_by(&self, find: &Find, finds_all: bool) -> FindAnswer {
        let Some(kind) = self.served.get(&*find.actor) else { return FindAnswer::NotServed };
        let Some(actor) = self.system.find(&find.path) else { return FindAnswer::Nobody };
        if !finds_all && !self.has_name(actor.uid().into()) {
            return FindAnswer::Nobody;
        }
        if !(kind.reaches)(&actor) {
            return FindAnswer::OtherType(actor.core().description().type_name().to_owned());
        }
        self.export(&actor, Some(*kind));
        FindAnswer::Actor(WireRef {
            node: self.me.to_string(),
            incarnation: self.incarnation,
            uid: actor.uid().into(),
            path: actor.path().local().to_owned(),
            actor: kind.name.to_owned(),
        })
    }
}
