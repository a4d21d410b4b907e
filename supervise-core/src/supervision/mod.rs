//! The supervision protocol: who is told what when an actor fails, restarts or ends. A pure island.
//!
//! Nothing in here knows a runtime, a clock, a lock or user code. [`Protocol`] is one actor's part as a state machine;
//! `cell` performs its effects on tokio, the simulator in the tests performs them in plain code.
//!
//! | file | owns |
//! |---|---|
//! | `vocabulary` | inputs, effects, system messages: data |
//! | `protocol` | the state machine; `protocol/fault` failures and decisions, `protocol/lifecycle` creation, restart, stop, `protocol/declared` children that are fields |
//! | `child_spec` | what a field says about its child |
//! | `children` | the children in start order; `start_order` the table they stand in |
//! | `watch` | both sides of death watch |
//! | `directive`, `strategy` | what a table may say, and to whom it applies |
//! | `restart_window`, `backoff` | the arithmetic of limits and delays |

mod backoff;
mod child_spec;
mod children;
mod directive;
mod protocol;
mod restart_window;
mod start_order;
mod strategy;
mod vocabulary;
mod watch;

pub use backoff::{Backoff, BackoffCount, Growth, Reset};
pub use child_spec::{ChildSpec, RestartType};
pub use directive::{ChildInfo, Directive, default_decider, stopping_decider};
pub(crate) use protocol::CREATION_BACKOFF;
pub use protocol::{Protocol, SpawnRefusal};
pub use restart_window::RestartStatistics;
pub use strategy::{AutoShutdown, Count, Limit, Log, LogLevel, OnLimit, Scope, Strategy, Window};
pub use vocabulary::{
    Call, Cause, ChildId, Effect, Hook, HowEnded, Input, Note, Outcome, Returned, Ruling, SystemMessage, Timer,
};
pub use watch::WatchKind;

/// A moment, as the time since the actor system began.
pub type Time = std::time::Duration;
