//! One alternative of a rule never matches, and the others do.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("x")]
enum DbError {
    Timeout,
    Gone,
}

#[actor]
#[supervise(on(Killed | Panic) = Stop, on(Panic) = Restart)]
struct First;

#[actor]
impl First {}

#[actor]
#[supervise(on(Panic | Killed) = Stop, on(DeathPact | Killed) = Restart)]
struct Both;

#[actor]
impl Both {}

#[actor]
#[supervise(on(Panic | Killed | Panic) = Stop)]
struct Same;

#[actor]
impl Same {}

#[actor]
#[supervise(on(DbError) = Stop, on(Panic | DbError::Gone) = Restart)]
struct Late;

#[actor]
impl Late {}

#[actor]
#[supervise(on(DbError) = Stop, on(DbError if |error| matches!(error, DbError::Timeout)) = Restart)]
struct Guarded;

#[actor]
impl Guarded {}

fn main() {}
