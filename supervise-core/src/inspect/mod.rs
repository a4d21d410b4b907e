//! Looking at a running system: the map of its tree, and finding actors by path. Only
//! [`ActorSystem::intervene`](crate::ActorSystem::intervene) changes something.

mod intervene;
mod look;
mod selection;
mod still_stopping;
mod tree;

pub use self::intervene::InterventionRefused;
pub use self::look::Glimpse;
pub use self::selection::{InvalidSelection, Selection, SelectionOf};
pub(crate) use self::still_stopping::StillStopping;
#[cfg(feature = "testkit")]
pub(crate) use self::tree::short;
pub use self::tree::{NodeState, Tree, TreeNode};
