//! stub facade
#![allow(missing_docs)]
pub use supervise_core::actor::*;
pub use supervise_core::actor_ref::*;
pub use supervise_core::context::*;
pub use supervise_core::death_watch::*;
pub use supervise_core::failure::*;
pub use supervise_core::mailbox::*;
pub use supervise_core::path::*;
pub use supervise_core::request::*;
pub use supervise_core::supervision::*;
#[cfg(feature = "macros")]
pub use supervise_macros::{actor, supervise};
pub mod prelude {
    pub use crate::*;
}
#[doc(hidden)]
pub mod __private {
    pub use supervise_core::generated::*;
}
