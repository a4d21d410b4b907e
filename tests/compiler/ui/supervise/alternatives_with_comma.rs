//! Alternatives separated by a comma.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
enum FeedError {
    #[error("no answer")]
    Timeout,
    #[error("cut off")]
    Closed,
}

#[actor]
#[supervise(on(FeedError::Timeout, FeedError::Closed) = Restart)]
struct Library;

#[actor]
impl Library {}

fn main() {}
