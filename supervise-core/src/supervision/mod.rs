//! The supervision protocol: what happens when an actor fails, restarts or ends, and which actors are told. It is pure.
//!
//! Nothing in here uses a runtime, a clock, a lock or user code. [`Protocol`] is one actor's part as a state machine;
//! the actor's cell carries out its effects on tokio, the simulator in the tests carries them out in plain code.
//!
//! | file | owns |
//! |---|---|
//! | `strategy` | which children a directive reaches: one-for-one, all-for-one, rest-for-one |
//! | `settings`, `directive`, `child_spec` | the settings of a strategy, the answers of a table, the settings of a field: data |
//! | `vocabulary` | inputs, effects, system messages: data |
//! | `protocol` | the state machine; `protocol/fault` failures and decisions, `protocol/restarts` carrying a restart out, `protocol/lifecycle` creation, restart, stop, `protocol/declared` children that are fields, `protocol/interface` what the performer may ask and command |
//! | `children` | the children in start order; `schedule` their delayed restarts |
//! | `fields` | the declared children: what each is to do next |
//! | `watch` | both sides of death watch |
//! | `restart_window`, `backoff`, `streak` | the arithmetic of limits, delays, and failures in a row |

mod backoff;
mod child_spec;
mod children;
mod directive;
mod fields;
mod protocol;
mod restart_window;
mod schedule;
mod settings;
mod strategy;
mod streak;
mod vocabulary;
mod watch;

pub use backoff::{Attempt, Backoff, BackoffCount, Growth, Reset};
pub use child_spec::{ChildSpec, RestartType};
pub(crate) use children::Marked;
pub use directive::{ChildInfo, Directive, Terms, default_decider, stopping_decider};
pub(crate) use protocol::CREATION_BACKOFF;
pub use protocol::{Protocol, SpawnRefusal};
pub use restart_window::{Permit, RestartStatistics, Standing};
pub use settings::{AutoShutdown, Count, Limit, Log, LogLevel, OnLimit, Scope, Strategy, Window};
pub use vocabulary::{
    Call, Cause, ChildId, Effect, Hook, HowEnded, Input, Note, Outcome, Returned, Ruling, SystemMessage, Timer,
};
pub use watch::WatchKind;

/// A moment, as the time since the actor system began.
pub type Time = std::time::Duration;
