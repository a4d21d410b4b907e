//! An error type with parameters; each of its types is a key of its own.

use supervise::prelude::*;

use std::fmt::Debug;

#[derive(Debug, thiserror::Error)]
#[error("failed at {0:?}")]
struct FailedAt<T: Debug>(T);

#[actor]
struct Child;

#[actor]
impl Child {
    #[handler]
    fn by_number(&mut self) -> Result<(), FailedAt<u8>> {
        Err(FailedAt(1))
    }

    #[handler]
    fn by_name(&mut self) -> Result<(), FailedAt<String>> {
        Err(FailedAt(String::new()))
    }
}

#[actor]
#[supervise(on(FailedAt<u8>) = Restart, on(FailedAt<String> if |error| error.0.is_empty()) = Resume, on(FailedAt<String>) = Stop)]
struct Parent;

#[actor]
impl Parent {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) {
        let _ = ctx.spawn("child", || Child);
    }
}

pub(super) fn main() {}
