//! A protocol with an associated type and a constant.

use supervise::prelude::*;

#[protocol]
#[async_trait]
trait Storage {
    type Key: Send;
    const ROWS: usize;
    async fn put(&self, key: Self::Key) -> Result<(), AskError>;
}

fn main() {}
