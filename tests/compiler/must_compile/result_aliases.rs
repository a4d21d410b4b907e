//! A `Result` may hide its error behind an alias.

use supervise::prelude::*;

use std::io;

mod own {
    #[derive(Debug, thiserror::Error)]
    #[error("broken")]
    pub struct Error;

    pub type Result<T = ()> = std::result::Result<T, Error>;
}

#[actor]
struct Child;

#[actor]
impl Child {
    #[handler]
    fn read(&mut self) -> io::Result<Vec<u8>> {
        Ok(Vec::new())
    }

    #[handler]
    async fn own(&mut self) -> own::Result<u8> {
        Ok(1)
    }

    #[handler]
    fn own_unit(&mut self) -> own::Result {
        Ok(())
    }

    #[pre_start]
    fn open(&mut self) -> own::Result {
        Err(own::Error)
    }
}

#[actor]
#[supervise(on(io::Error) = Restart, on(own::Error) = Stop)]
struct Parent;

#[actor]
impl Parent {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) {
        let _ = ctx.spawn("child", || Child);
    }
}

async fn talk(child: ChildRef) -> Result<u8, AskError> {
    let _: Vec<u8> = child.read().await?;
    let () = child.own_unit().await?;
    child.own().await
}

pub(super) fn main() {}
