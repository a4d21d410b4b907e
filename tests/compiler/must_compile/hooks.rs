//! Hooks take what they need, in any order, and may fail.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("x")]
struct Broken;

#[actor]
struct All;

#[actor]
impl All {
    #[handler]
    fn go(&mut self, ctx: &mut Context<Self>, step: u8) {
        let _ = (ctx, step);
    }

    #[handler]
    async fn went(&self, steps: u8, ctx: &mut Context<Self>) -> u8 {
        let _ = ctx;
        steps
    }

    #[pre_start]
    async fn pre_start(&mut self) -> Result<(), Broken> {
        Err(Broken)
    }

    #[post_stop]
    fn post_stop(&self) {}

    #[pre_restart]
    async fn before(&mut self, message: Option<AllMessage>, cause: &Failure, ctx: &mut Context<Self>) {
        let _ = (message, cause, ctx);
    }

    #[post_restart]
    fn after(&mut self, cause: &Failure) -> Result<(), Broken> {
        let _ = cause;
        Ok(())
    }

    fn handle(&mut self) {}

    /// An ordinary method.
    pub fn ordinary<T>(&self, value: impl Into<T>) -> T {
        value.into()
    }

    const ORDINARY: u8 = 1;
}

#[actor]
struct Some;

#[actor]
impl Some {
    #[pre_restart]
    fn before(&mut self, cause: &Failure) {
        let _ = cause;
    }

    #[post_restart]
    async fn after(&mut self, ctx: &mut Context<Self>) {
        let _ = ctx;
    }
}

pub(super) fn main() {
    let mut all = All;
    All::handle(&mut all);
    let _: u64 = all.ordinary(All::ORDINARY);
}
