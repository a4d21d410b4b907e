//! Why a cell failed.

use supervise_core::supervision::Cause;

use crate::world::Id;

/// Why a cell failed: where it began, and how it was wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Fault {
    pub(crate) origin: Id,
    pub(crate) wrapping: Wrapping,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Wrapping {
    Bare,
    Initialization,
    Restart,
    /// A permanent child ended by itself.
    Ended,
    /// Nothing failed: somebody asked for the restart.
    ByHand,
}

impl Cause for Fault {
    fn at_initialization(self) -> Self {
        Self { wrapping: Wrapping::Initialization, ..self }
    }

    fn at_restart(self, _: Self) -> Self {
        Self { wrapping: Wrapping::Restart, ..self }
    }

    fn is_initialization(&self) -> bool {
        matches!(self.wrapping, Wrapping::Initialization | Wrapping::Restart)
    }

    fn is_final(&self) -> bool {
        false
    }

    fn end_of_permanent() -> Self {
        Self { origin: Id::MAX, wrapping: Wrapping::Ended }
    }
}
