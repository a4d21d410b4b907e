//! A factory returns the actor or a `Result` of it, and is called for each life.

use supervise::prelude::*;

use std::io;

#[actor]
struct Log;

#[actor]
impl Log {
    fn open(path: &str) -> io::Result<Self> {
        if path.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(Self) }
    }
}

#[actor]
#[supervise(on(io::Error) = Restart(backoff(min = "1s", max = "1m")))]
struct Parent {
    path: String,
}

#[actor]
impl Parent {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<LogRef, SpawnError> {
        let path = self.path.clone();
        ctx.spawn("log", move || Log::open(&path))
    }

    #[handler]
    fn open_more(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        for number in 0..3 {
            ctx.spawn(format!("log-{number}"), || Log)?;
        }
        let mut lives = 0;
        ctx.spawn_anonymous(move || {
            lives += 1;
            Log::open(&lives.to_string())
        })?;
        Ok(())
    }
}

pub(super) fn main() {}
