//! A protocol, whose feature is off.

use supervise::prelude::*;

#[protocol]
trait Clock {
    async fn now(&self) -> Result<u64, AskError>;
}

#[actor]
struct WallClock;

#[actor(implements(Clock))]
impl WallClock {
    #[handler]
    fn now(&self) -> u64 {
        std::time::UNIX_EPOCH.elapsed().map_or(0, |age| age.as_secs())
    }
}

fn main() {}
