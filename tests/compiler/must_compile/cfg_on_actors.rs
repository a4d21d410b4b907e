//! An actor, its table and its hooks may be there in some builds only.

use supervise::prelude::*;

#[cfg(any(unix, windows))]
#[actor]
#[supervise(on(_) = Stop)]
struct There {
    #[cfg(unix)]
    only_here: u8,
    #[cfg(windows)]
    only_there: u8,
}

#[cfg(any(unix, windows))]
#[actor]
impl There {
    #[cfg(unix)]
    #[pre_start]
    fn open(&mut self) {
        self.only_here = 1;
    }

    #[cfg(windows)]
    #[pre_start]
    fn open(&mut self) {
        self.only_there = 1;
    }

    #[cfg(windows)]
    #[watch]
    fn gone(&mut self, _gone: Terminated) {}

    #[cfg(windows)]
    #[handler(not_influencing, redeliver = 2)]
    fn nowhere(&mut self, unknown: WindowsOnly) {}

    #[cfg_attr(unix, doc = "Somewhere.")]
    #[handler]
    fn somewhere(&mut self) {}
}

#[actor]
#[cfg(not(any(unix, windows)))]
struct Nowhere(Unknown);

#[actor]
#[cfg(not(any(unix, windows)))]
impl Nowhere {
    #[handler]
    fn unknown(&mut self, unknown: Unknown) {}
}

pub(super) fn main() {}
