//! An error with a name, as a function's parameter has one.

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
