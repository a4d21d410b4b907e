//! Typed watch methods, an untyped one beside them, and death pacts.

use supervise::prelude::*;

#[actor]
struct A;
#[actor]
impl A {}

#[actor]
struct B;
#[actor]
impl B {}

#[derive(Debug, thiserror::Error)]
#[error("x")]
struct Lost;

#[actor]
struct Typed;

#[actor]
impl Typed {
    #[handler]
    fn look(&mut self, ctx: &mut Context<Self>, a: ARef, b: BRef, other: TypedRef) {
        ctx.watch(&a);
        ctx.watch(&b);
        ctx.death_pact(&other);
    }

    #[watch]
    async fn a_gone(&mut self, gone: Terminated<A>) -> Result<(), Lost> {
        let _: ARef = gone.actor();
        Err(Lost)
    }

    #[watch]
    fn b_gone(&self, ctx: &mut Context<Self>, gone: Terminated<B>) {
        let _ = (ctx, gone);
    }
}

#[actor]
struct Untyped;

#[actor]
impl Untyped {
    #[handler]
    fn look(&mut self, ctx: &mut Context<Self>, a: ARef, b: BRef) {
        ctx.watch(&a);
        ctx.watch(&b);
    }

    #[watch]
    fn a_gone(&mut self, _gone: Terminated<A>, _ctx: &mut Context<Self>) {}

    #[watch]
    fn gone(&mut self, gone: Terminated) -> Result<(), Lost> {
        let _ = gone;
        Ok(())
    }
}

pub(super) fn main() {}
