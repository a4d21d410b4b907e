//! `#[supervise]` may stand above or below `#[actor]`, and both may be written with their paths.

use supervise::prelude::*;

#[supervise(all_for_one, on(_) = Restart)]
#[actor(stop_timeout = 2s)]
#[derive(Debug)]
struct Above;

#[actor]
#[derive(Debug)]
#[supervise(rest_for_one, on(_) = Restart)]
struct Below;

#[::supervise::actor]
#[::supervise::supervise(on(_) = Stop)]
enum Bare {
    On,
    Off,
}

#[actor]
impl Above {}
#[actor]
impl Below {}
#[::supervise::actor]
impl Bare {
    #[handler]
    fn toggle(&mut self) {
        *self = match self {
            Self::On => Self::Off,
            Self::Off => Self::On,
        };
    }
}

pub(super) fn main() {
    let _ = (Above, Below, Bare::On);
}
