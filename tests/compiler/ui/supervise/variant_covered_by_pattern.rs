//! A pattern that an earlier one covers.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("x")]
enum DbError {
    Timeout,
    Query { line: usize },
    Gone,
}

#[actor]
#[supervise(on(DbError::Query { .. }) = Stop, on(DbError::Query { line: 1 }) = Restart, on(_) = Restart)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
