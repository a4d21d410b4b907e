//! Actors of other machines (feature `remote`): refs, asks and death watch that hold between nodes. Experimental.
//!
//! A ref to an actor of another node is an ordinary [`ActorRef`](crate::ActorRef): `tell`, ask, `send`, `watch`, `death_pact` and `stop` work
//! on it. A system joins with [`Node::builder`], and finds actors with [`Node::find`] and [`Node::listing`]. The page `docs::remote` shows a
//! program, and explains each error, the guarantees, and the security.

// The cell of such a ref is an ordinary cell, but it is run by another future, which writes messages into packets instead of handling them. So
// the path of local messages does not change.
//
// | file | owns |
// |---|---|
// | `association` | greeting, order, window, liveness, verdict between two nodes: pure |
// | `link`, `waiting` | performs the association with one peer; its table of proxies, asks and contracts; who waits for the window |
// | `inbound` | carries out what the peer sent |
// | `holding` | messages of the peer's that wait for room in full mailboxes here |
// | `proxy` | the future of a cell that stands for a remote actor |
// | `node` | [`Node`]: joining, finding, what was handed out; one task per node that listens to the engine and the clock |
// | `names` | the registry |
// | `codec`, `wire` | messages and packets as bytes |
// | `refs` | refs in messages |
// | `remote_actor` | [`RemoteActor`] |
// | `transport`, `inbox`, `memory` | the engine's trait, what it hears, and an engine in memory for tests |

#[doc(hidden)]
pub mod association;
mod codec;
mod holding;
mod inbound;
mod inbox;
mod link;
#[cfg(feature = "testkit")]
pub mod memory;
mod names;
mod node;
mod proxy;
mod refs;
mod remote_actor;
#[cfg(all(test, feature = "testkit"))]
mod tests;
mod transport;
mod waiting;
mod wire;

pub(crate) use self::codec::message_pack;
pub use self::codec::{Arguments, Codec, Outgoing, RemoteHandler, Travels, Undecodable, Unsendable, codec};
pub use self::inbox::Inbox;
pub use self::names::{Listing, RegisterError};
pub use self::node::{FindError, Finding, JoinError, Node, NodeBuilder};
pub use self::remote_actor::RemoteActor;
pub(crate) use self::remote_actor::push;
pub use self::transport::{BoxFuture, NodeId, Transport, TransportError};
