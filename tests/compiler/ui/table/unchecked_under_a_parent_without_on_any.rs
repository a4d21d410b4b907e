//! A decider that is chosen at run time may escalate anything, but the parent has no `on(_)`.

use supervise::prelude::*;
use supervise::{Directive, Props, Strategy};

#[derive(Debug, thiserror::Error)]
#[error("the disk is full")]
struct DiskFull;

#[actor]
struct Writer;

#[actor]
impl Writer {
    #[handler]
    fn write(&mut self) -> Result<(), DiskFull> {
        Err(DiskFull)
    }
}

#[actor]
#[supervise(on(std::io::Error) = Stop)]
struct Parent;

#[actor]
impl Parent {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) {
        let keeper =
            Props::new(|| Keeper).supervision_unchecked(Strategy::one_for_one(), |_, _| Ok(Directive::Escalate));
        let _keeper = ctx.spawn_with("keeper", keeper);
    }
}

#[actor]
struct Keeper;

#[actor]
impl Keeper {}

fn main() {}
