//! Structs of every shape, enums, visibilities, derives and other attributes.

use supervise::prelude::*;

#[actor]
struct Unit;

#[actor]
impl Unit {}

#[derive(Debug, Default)]
#[actor]
pub(crate) struct Tuple(u8, pub(crate) String);

#[actor]
impl Tuple {
    #[handler]
    fn take(&mut self) -> String {
        self.0 += 1;
        std::mem::take(&mut self.1)
    }
}

/// With documentation.
#[actor]
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Door {
    /// Nobody passes.
    Closed,
    Open { wide: bool },
}

#[actor]
impl Door {
    #[handler]
    fn open(&mut self) -> bool {
        std::mem::replace(self, Self::Open { wide: true }) == Self::Closed
    }
}

#[actor]
struct Empty {}

#[actor]
impl Empty {
    pub const LIMIT: usize = 3;

    pub fn new() -> Self {
        Self {}
    }

    #[handler]
    fn limit(&self) -> usize {
        Self::LIMIT
    }
}

// An ordinary block beside it.
impl Empty {
    fn ordinary(&self) {}
}

pub(super) fn main() {
    Empty::new().ordinary();
    let _ = (Tuple::default(), Door::Closed);
}
