//! A guard sees the error as its type; a guarded rule covers nothing by itself.

use supervise::prelude::*;

use std::io;

#[derive(Debug, thiserror::Error)]
enum DbError {
    #[error("slow")]
    Slow { millis: u64 },
    #[error("gone")]
    Gone,
}

#[actor]
struct Child;

#[actor]
impl Child {
    #[handler]
    fn query(&mut self) -> Result<(), DbError> {
        Err(if self.failures() > 1 { DbError::Gone } else { DbError::Slow { millis: 1 } })
    }

    #[handler]
    fn read(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn failures(&self) -> u8 {
        0
    }
}

const LIMIT: u64 = 100;

fn is_short(error: &DbError) -> bool {
    matches!(error, DbError::Slow { millis } if *millis < LIMIT)
}

#[actor]
#[supervise(
    on(DbError::Slow { .. } if |error| is_short(error)) = Resume,
    on(DbError if |error| {
        let DbError::Slow { millis } = error else { return false };
        *millis < 10 * LIMIT
    }) = Restart,
    on(DbError) = Stop,
    on(io::Error if |e| e.kind() == io::ErrorKind::TimedOut) = Restart(backoff(min = "1s", max = "2s")),
    on(io::Error if |_| false) = Resume,
    on(_) = Escalate,
)]
struct Parent;

#[actor]
impl Parent {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) {
        let _ = ctx.spawn("child", || Child);
    }
}

pub(super) fn main() {}
