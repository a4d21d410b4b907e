//! Arguments and types may have names that generated code might use too.
#![allow(clippy::non_minimal_cfg, reason = "`all()` holds on every machine")]
#![allow(dead_code)]

use std::io;

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the desk is closed")]
struct Failure0;

#[actor]
struct Desk;

#[actor]
impl Desk {
    #[handler]
    fn file(&mut self, f: fn(u8) -> u8, message: u8) -> Result<u8, io::Error> {
        Ok(f(message))
    }

    #[handler(redeliver = 2)]
    fn again(&mut self, copy: u8, error: u8, never: u8, reply: u8, value: u8) -> u8 {
        copy + error + never + reply + value
    }

    #[handler]
    async fn later(&mut self, actor: u8, ctx: u8, failure: u8, gone: u8, name: u8) -> u8 {
        actor + ctx + failure + gone + name
    }

    #[cfg(all())]
    #[handler]
    fn close(&mut self) -> Result<(), Failure0> {
        Err(Failure0)
    }

    #[handler]
    fn fields(&mut self, fields: u8, r#fn: u8, handle: u8, result: u8, to: u8) -> u8 {
        fields + r#fn + handle + result + to
    }
}

pub(super) fn main() {
    let shown = format!("{:?}", DeskMessage::Fields { fields: 1, r#fn: 2, handle: 3, result: 4, to: 5 });
    assert_eq!(shown, "Fields { fields: 1, fn: 2, handle: 3, result: 4, to: 5 }");
}
