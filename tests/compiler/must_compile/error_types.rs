//! Errors behind aliases, boxed errors and `anyhow::Error` are ordinary keys.

use std::error::Error;
use std::io;

use supervise::prelude::*;

type Boxed = Box<dyn Error + Send + Sync>;

#[actor]
struct Child;

#[actor]
impl Child {
    #[handler]
    fn read(&mut self) -> io::Result<u8> {
        Err(io::Error::other("x"))
    }

    #[handler]
    fn write(&mut self) -> io::Result<()> {
        Ok(())
    }

    #[handler]
    async fn boxed(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        Err("x".into())
    }

    #[handler]
    fn any(&mut self) -> anyhow::Result<u8> {
        anyhow::bail!("x")
    }

    #[handler]
    fn text(&mut self) -> Result<u8, String> {
        Err("x".to_owned())
    }
}

#[actor]
#[supervise(
    on(io::Error if |error| error.kind() == io::ErrorKind::TimedOut) = Resume,
    on(io::Error) = Restart,
    on(Boxed if |error| error.is::<io::Error>()) = Resume,
    on(Boxed) = Restart,
    on(anyhow::Error if |error| error.downcast_ref::<io::Error>().is_some()) = Resume,
    on(anyhow::Error | String) = Stop,
)]
struct Parent;

#[actor]
impl Parent {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        ctx.spawn("child", || Child)?;
        Ok(())
    }
}

pub(super) fn main() {}
