//! Each level decides some failures and hands others on.

use supervise::prelude::*;

use std::io;

#[derive(Debug, thiserror::Error)]
#[error("x")]
enum DbError {
    Timeout,
    Gone,
}

#[actor]
struct Leaf;

#[actor]
impl Leaf {
    #[handler]
    fn query(&mut self, gone: bool) -> Result<(), DbError> {
        Err(if gone { DbError::Gone } else { DbError::Timeout })
    }

    #[handler]
    fn read(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[actor]
#[supervise(on(DbError::Timeout) = Restart, on(DbError::Gone) = Escalate, on(io::Error) = Escalate)]
struct Pool;

#[actor]
impl Pool {
    #[pre_start]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        ctx.spawn("leaf", || Leaf).map(drop)
    }
}

#[actor]
#[supervise(on(io::Error) = Restart, on(DbError) = Escalate, on(SpawnError) = Stop)]
struct Database;

#[actor]
impl Database {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) {
        let _ = ctx.spawn("pool", || Pool);
    }
}

#[actor]
#[supervise(on(DbError) = Stop)]
struct Server;

#[actor]
impl Server {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) {
        let _ = ctx.spawn("database", || Database);
    }
}

pub(super) fn main() {}
