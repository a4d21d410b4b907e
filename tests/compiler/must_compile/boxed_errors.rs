//! A rule can name a boxed error like any other type; a guard checks which error is inside.

use supervise::prelude::*;

use std::error::Error;

#[actor]
struct Child;

#[actor]
impl Child {
    #[handler]
    async fn read(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        Err("x".into())
    }
}

#[actor]
#[supervise(
    on(Box<dyn Error + Send + Sync> if |error| error.is::<std::fmt::Error>()) = Resume,
    on(Box<dyn Error + Send + Sync>) = Restart,
)]
struct Parent;

#[actor]
impl Parent {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<ChildRef, SpawnError> {
        ctx.spawn("child", || Child)
    }
}

pub(super) fn main() {}
