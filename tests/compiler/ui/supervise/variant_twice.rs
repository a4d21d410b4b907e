//! The same variant twice.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("x")]
enum DbError {
    Timeout,
    Query { line: usize },
    Gone,
}

#[actor]
#[supervise(on(DbError::Timeout) = Stop, on(DbError::Timeout) = Restart, on(_) = Restart)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
