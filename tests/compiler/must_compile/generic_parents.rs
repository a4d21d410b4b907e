//! A generic parent decides by type parameter, or for all.

use supervise::prelude::*;

use std::error::Error;

trait Source: Send + Clone + 'static {
    type Error: Error + Send + Sync + 'static;

    fn read(&mut self) -> Result<u8, Self::Error>;
}

#[actor]
struct Reader<S>(S);

#[actor]
impl<S: Source> Reader<S> {
    #[handler]
    fn read(&mut self) -> Result<u8, S::Error> {
        self.0.read()
    }

    #[handler]
    fn count(&mut self) -> std::io::Result<u8> {
        Ok(1)
    }
}

#[actor]
#[supervise(on(S::Error) = Restart, on(std::io::Error) = Stop, on(_) = Escalate)]
struct Mixed<S: Source>(S);

#[actor]
impl<S: Source> Mixed<S> {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) {
        let source = self.0.clone();
        let _ = ctx.spawn("reader", move || Reader(source.clone()));
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 1, on_limit = Escalate), on(_) = Restart)]
struct Everything<S: Source>(S);

#[actor]
impl<S: Source> Everything<S> {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<MixedRef<S>, SpawnError> {
        let source = self.0.clone();
        ctx.spawn("mixed", move || Mixed(source.clone()))
    }
}

pub(super) fn main() {}
