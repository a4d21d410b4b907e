//! An actor that cannot be built twice lives under a table that never restarts.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("broken")]
struct Broken;

#[actor]
struct Connection {
    socket: std::sync::mpsc::Receiver<u8>,
}

#[actor]
impl Connection {
    #[handler]
    fn read(&mut self) -> Result<u8, Broken> {
        self.socket.recv().map_err(|_| Broken)
    }
}

#[actor]
#[supervise(on(Broken) = Stop, on(Panic) = Escalate)]
struct Listener;

#[actor]
impl Listener {
    #[handler]
    fn accept(&mut self, socket: std::sync::mpsc::Receiver<u8>, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        ctx.spawn_once("connection", Connection { socket })?;
        Ok(())
    }
}

pub(super) fn main() {}
