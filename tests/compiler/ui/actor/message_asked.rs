//! A message passed to the ref, as in kameo or actix.

use std::io;

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {
    #[handler]
    fn next_line(&mut self) -> Result<u32, io::Error> {
        Ok(1)
    }
}

async fn read(reader: &ReaderRef) {
    reader.ask(NextLine).await.unwrap();
    reader.send(NextLine).await.unwrap();
}

fn main() {}
