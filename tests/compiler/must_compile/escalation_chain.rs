//! A grandparent decides what a child escalates.

use std::fmt;
use std::io;

use supervise::prelude::*;

#[actor]
struct Leaf;

#[actor]
impl Leaf {
    #[handler]
    fn fail(&mut self) -> Result<(), io::Error> {
        Ok(())
    }

    #[handler]
    fn misprint(&mut self) -> Result<(), fmt::Error> {
        Ok(())
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 1, on_limit = Escalate), on(io::Error) = Escalate, on(fmt::Error) = Restart)]
struct Branch;

#[actor]
impl Branch {
    #[handler]
    fn grow(&mut self, ctx: &mut Context<Self>) {
        let _ = ctx.spawn("leaf", || Leaf);
    }
}

#[actor]
#[supervise(on(io::Error | fmt::Error) = Stop)]
struct Trunk;

#[actor]
impl Trunk {
    #[handler]
    fn grow(&mut self, ctx: &mut Context<Self>) {
        let _ = ctx.spawn("branch", || Branch);
        let _ = ctx.spawn_once("branch-2", Branch);
    }
}

#[actor]
#[supervise(on(_) = Escalate)]
struct Passes;

#[actor]
impl Passes {}

#[actor]
struct Root;

#[actor]
impl Root {
    #[handler]
    fn grow(&mut self, ctx: &mut Context<Self>) {
        let _ = ctx.spawn("trunk", || Trunk);
        let _ = ctx.spawn("passes", || -> Result<Passes, io::Error> { Ok(Passes) });
        let _ = ctx.spawn("root", || Root);
    }
}

pub(super) fn main() {}
