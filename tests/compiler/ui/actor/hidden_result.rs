//! A `Result` under another name.

use supervise::prelude::*;

type Fetched = Result<u64, std::io::Error>;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn fetch(&mut self, id: u64) -> Fetched {
        Ok(id)
    }
}

fn main() {}
