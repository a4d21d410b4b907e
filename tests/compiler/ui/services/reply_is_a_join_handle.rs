//! A handler replies with the handle of the task that does the work.

use supervise::prelude::*;
use tokio::task::JoinHandle;

#[derive(Debug, thiserror::Error)]
#[error("the archive is broken")]
struct BrokenArchive;

#[actor]
struct Unpacker;

#[actor]
impl Unpacker {
    #[handler]
    fn unpack(&mut self, archive: Vec<u8>) -> JoinHandle<Result<usize, BrokenArchive>> {
        tokio::spawn(async move { if archive.is_empty() { Err(BrokenArchive) } else { Ok(archive.len()) } })
    }
}

#[actor]
#[supervise(one_for_one, on(BrokenArchive) = Restart)]
struct Importer {
    #[child(|_| || Unpacker)]
    unpacker: Child<Unpacker>,
}

#[actor]
impl Importer {
    #[handler]
    async fn import(&self, archive: Vec<u8>) -> Result<bool, AskError> {
        Ok(self.unpacker.actor().unpack(archive).await?.await.is_ok())
    }
}

fn main() {}
