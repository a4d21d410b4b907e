//! A rule names the error like a parameter of a function: `error: Type`.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
enum FeedError {
    #[error("no answer")]
    Timeout,
    #[error("cut off")]
    Closed,
}

#[actor]
#[supervise(on(error: FeedError) = Restart)]
struct Library;

#[actor]
impl Library {}

fn main() {}
