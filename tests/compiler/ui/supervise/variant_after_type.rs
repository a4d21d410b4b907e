//! A variant after its type.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("x")]
enum DbError {
    Timeout,
    Query { line: usize },
    Gone,
}

#[actor]
#[supervise(on(DbError) = Stop, on(DbError::Timeout) = Restart)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
