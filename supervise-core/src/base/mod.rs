//! The base that every other room may use: names and paths, time, locks, and the containment of user code. It does not
//! know actors.

#[cfg(any(feature = "durable", feature = "remote"))]
mod depth;
mod log;
mod name;
mod path;
mod room;
mod start_order;
pub(crate) mod sync;
mod timers;
mod unwind;

#[cfg(feature = "durable")]
pub(crate) use self::depth::DEPTH;
#[cfg(any(feature = "durable", feature = "remote"))]
pub(crate) use self::depth::is_shallow;
#[cfg(feature = "tracing")]
pub(crate) use self::log::TARGET;
pub use self::name::ActorName;
pub use self::path::{ActorPath, InvalidName, InvalidPath, Uid};
pub(crate) use self::path::{SCHEME, check_name, check_system_name, is_name_character};
pub(crate) use self::room::{shrink_map, shrink_queue};
pub(crate) use self::start_order::{StartOrder, taken};
pub(crate) use self::timers::{Timers, later};
pub(crate) use self::unwind::{
    Hold, Payload, UserValue, contained, contained_async, contained_silently, drop_contained, drop_pinned,
};
