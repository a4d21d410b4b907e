//! The code that the error messages propose compiles.

#![expect(unused_parens, reason = "rustc puts them around the types that it prints")]

use std::io;

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {}

// child/on_enum
#[actor]
enum Library {
    Closed,
    Open { reader: Option<ReaderRef> },
}

#[actor]
impl Library {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        if let Self::Open { reader } = self {
            *reader = Some(ctx.spawn("reader", || Reader)?);
        }
        Ok(())
    }
}

// services/anyhow_under_a_rule_for_io
#[actor]
struct Loader;

#[actor]
impl Loader {
    #[handler]
    fn load(&mut self, name: String) -> anyhow::Result<usize> {
        Ok(std::fs::read_to_string(name)?.len())
    }
}

#[actor]
#[supervise(on(anyhow::Error if |error| error.is::<io::Error>()) = Resume, on(anyhow::Error) = Restart)]
struct Assets;

#[actor]
impl Assets {
    #[handler]
    fn load(&mut self, ctx: &mut Context<Self>) -> Result<LoaderRef, SpawnError> {
        ctx.spawn("loader", || Loader)
    }
}

// parent/undecided_wrappers
#[actor]
struct Store;

#[actor]
impl Store {
    #[handler]
    fn put(&mut self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Ok(())
    }
}

#[actor]
#[supervise(
    on(Box<(dyn std::error::Error + std::marker::Send + Sync + 'static)> if |error| error.is::<std::io::Error>()) = Resume,
    on(Box<(dyn std::error::Error + std::marker::Send + Sync + 'static)>) = Restart,
)]
struct Stores;

#[actor]
impl Stores {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<StoreRef, SpawnError> {
        ctx.spawn("store", || Store)
    }
}

// services/factory_moves_a_socket
struct Socket;

#[actor]
struct Connection {
    _socket: Socket,
}

#[actor]
impl Connection {
    #[handler]
    fn send(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[actor]
#[supervise(on(io::Error) = Stop)]
struct Server;

#[actor]
impl Server {
    #[handler]
    fn accept(&mut self, ctx: &mut Context<Self>) -> Result<ConnectionRef, SpawnError> {
        let socket = Socket;
        ctx.spawn_once("connection", Connection { _socket: socket })
    }
}

// supervise/variants_missing
#[derive(Debug, thiserror::Error)]
#[error("x")]
enum DbError {
    Timeout,
    Gone,
}

#[supervise(on(DbError::Timeout) = Restart, on(DbError) = Stop)]
struct Storage;

// supervise/settings_of_another_actor
#[actor]
#[supervise(one_for_one(max_retries = self.retries), on(_) = Restart)]
struct Branch {
    retries: u32,
}

#[actor]
impl Branch {}

pub(super) fn main() {
    let _ = (Library::Closed, Library::Open { reader: None }, Assets, Stores, Server, Branch { retries: 3 });
    let _ = (DbError::Timeout, DbError::Gone, Storage);
}
