//! What implements a protocol is shared between threads.

use std::cell::RefCell;

use supervise::prelude::*;

#[protocol]
#[async_trait]
trait Archive {
    async fn put(&self) -> Result<(), AskError>;
}

struct Fake(RefCell<u8>);

#[async_trait]
impl Archive for Fake {
    async fn put(&self) -> Result<(), AskError> {
        *self.0.borrow_mut() += 1;
        Ok(())
    }
}

fn main() {}
