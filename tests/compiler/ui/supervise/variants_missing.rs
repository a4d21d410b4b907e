//! Some variants have no rule.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("x")]
enum DbError {
    Timeout,
    Query { line: usize },
    Gone,
}

#[actor]
#[supervise(on(DbError::Timeout) = Restart, on(DbError::Query { .. }) = Stop)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
