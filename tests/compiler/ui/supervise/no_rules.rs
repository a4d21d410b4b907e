//! The strategies are there, but nothing says what happens when a child fails.

use std::io::Error as IoError;

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {
    #[handler]
    fn read(&mut self) -> Result<u32, IoError> {
        Ok(1)
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 10, within = "60s"))]
struct Library {
    #[child(|_| || Reader)]
    reader: Child<Reader>,
}

#[actor]
impl Library {}

#[supervise(all_for_one)]
struct Storage;

#[actor]
#[supervise()]
struct Shop;

#[actor]
impl Shop {}

fn main() {
    let _ = (Library { reader: Child::default() }, Storage, Shop);
}
