//! Nothing that is generated trips a lint that a careful crate denies.
#![forbid(unsafe_code)]
#![deny(
    warnings,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    rust_2018_idioms,
    unused,
    let_underscore_drop
)]
#![deny(clippy::all, clippy::pedantic, clippy::nursery)]
#![allow(dead_code, reason = "the program shows what compiles")]

use supervise::prelude::*;

/// Is documented.
#[actor]
#[supervise(one_for_one(max_retries = 1, within = "1s"), on(std::io::Error) = Restart, on(Panic) = Resume)]
#[derive(Debug)]
pub struct Careful<T> {
    value: T,
}

#[actor]
impl<T: Send + std::fmt::Debug + Clone + 'static> Careful<T> {
    #[pre_start]
    async fn start(&mut self) -> Result<(), std::io::Error> {
        std::future::ready(()).await;
        Ok(())
    }

    #[handler(redeliver = 2)]
    async fn put(&mut self, value: T, b: Vec<u8>) -> Result<Vec<u8>, std::io::Error> {
        std::future::ready(()).await;
        self.value = value;
        Ok(b)
    }

    #[handler]
    fn get(&self) -> Reply<T> {
        Reply(self.value.clone())
    }

    #[watch]
    fn gone(&mut self, gone: Terminated<Self>, ctx: &mut Context<Self>) {
        drop((gone, ctx.path()));
    }
}

fn main() {}
