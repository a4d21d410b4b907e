//! Actors of other machines: refs, asks and death watch that hold between nodes.

#[doc(hidden)]
pub mod association;
