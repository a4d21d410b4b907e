//! A cell: its queues, timers and user code.

use std::collections::VecDeque;

use supervise_core::supervision::{Call, ChildId, Protocol, Time, Timer};

use super::{Id, Message};
use crate::fault::Fault;
use crate::invariants::Watchdog;
use crate::model::Model;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Entry {
    Message(u32),
    Terminated(Id),
    Kill,
    Poison,
    Leave,
}

/// User code that waits at an await point.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Parked {
    pub(crate) code: Code,
    pub(crate) hangs: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Code {
    /// With the number of its message, if it was one.
    Handler(Option<u32>),
    Hook(Call<Fault>),
}

#[derive(Debug, Clone, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Cell {
    pub(crate) protocol: Protocol<Id, Fault>,
    pub(crate) parent: Option<Id>,
    pub(crate) child: ChildId,
    pub(crate) is_field: bool,
    pub(crate) role: usize,
    pub(crate) begun: bool,
    pub(crate) system: VecDeque<Message>,
    pub(crate) user: VecDeque<Entry>,
    pub(crate) call: Option<Call<Fault>>,
    pub(crate) parked: Option<Parked>,
    pub(crate) abort: bool,
    pub(crate) timers: Vec<(Time, Timer)>,
    pub(crate) closed: bool,
    pub(crate) watchdog: Watchdog,
    pub(crate) model: Model,
}

impl Cell {
    pub(super) fn has_turn(&self) -> bool {
        if self.closed {
            return false;
        }
        !self.begun
            || self.call.is_some()
            || !self.system.is_empty()
            || self.abort
            || (self.parked.is_none() && !self.user.is_empty() && self.protocol.accepts_messages())
    }

    pub(super) fn may_return(&self, calm: bool) -> bool {
        !self.abort && self.parked.as_ref().is_some_and(|parked| !parked.hangs || calm)
    }
}
