//! The parent has rules for an error that the children wrap: behind anyhow's alias, and in a box.

use std::error::Error;
use std::io;

use anyhow::Result;
use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn fetch(&mut self) -> Result<u8> {
        Ok(1)
    }
}

#[actor]
struct Store;

#[actor]
impl Store {
    #[handler]
    fn put(&mut self) -> std::result::Result<u8, Box<dyn Error + Send + Sync>> {
        Ok(1)
    }
}

#[actor]
#[supervise(on(io::Error) = Restart)]
struct Parent;

#[actor]
impl Parent {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) {
        let _ = ctx.spawn("feed", || Feed);
        let _ = ctx.spawn("store", || Store);
    }
}

fn main() {}
