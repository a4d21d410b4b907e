//! `anyhow::Error` is a key like any other; a guard downcasts.

use supervise::prelude::*;

use anyhow::Context as _;

#[actor]
struct Child;

#[actor]
impl Child {
    #[handler]
    fn parse(&mut self, text: String) -> anyhow::Result<u8> {
        text.parse().context("not a number")
    }

    #[pre_start]
    async fn open(&mut self, ctx: &mut Context<Self>) -> anyhow::Result<()> {
        self.name(ctx).parse::<u8>().map(drop).with_context(|| "no number")
    }

    fn name(&self, context: &Context<Self>) -> String {
        context.path().name().to_owned()
    }
}

#[actor]
#[supervise(
    on(anyhow::Error if |error| error.is::<std::num::ParseIntError>()) = Resume,
    on(anyhow::Error) = Restart,
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
