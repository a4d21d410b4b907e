//! A hook whose success carries a value.

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[pre_start]
    fn open(&mut self) -> Result<u64, std::io::Error> {
        Ok(1)
    }
}

fn main() {}
