//! Errors of other crates, several in one rule.

use supervise::prelude::*;

use std::num::{ParseFloatError, ParseIntError};
use std::str::Utf8Error;

#[actor]
struct Child;

#[actor]
impl Child {
    #[handler]
    fn int(&mut self, text: String) -> Result<i32, ParseIntError> {
        text.parse()
    }

    #[handler]
    fn float(&mut self, text: String) -> Result<f32, ParseFloatError> {
        text.parse()
    }

    #[handler]
    async fn join(&mut self) -> Result<(), tokio::task::JoinError> {
        Ok(())
    }

    #[handler]
    fn text(&mut self, bytes: Vec<u8>) -> Result<String, Utf8Error> {
        std::str::from_utf8(&bytes).map(str::to_owned)
    }
}

#[actor]
#[supervise(on(ParseIntError | ParseFloatError | Utf8Error) = Resume, on(tokio::task::JoinError) = Escalate)]
struct Parent;

#[actor]
impl Parent {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) {
        let _ = ctx.spawn("child", || Child);
    }
}

pub(super) fn main() {}
