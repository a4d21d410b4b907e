//! Methods whose return type cannot say that no answer came.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("no room")]
struct Full;

#[protocol]
#[async_trait]
trait Storage {
    async fn get(&self, key: String) -> Option<Vec<u8>>;
    async fn put(&self, key: String) -> Result<(), Full>;
    async fn clear(&self);
    fn forget(&self, key: String);
    fn drop(&self, key: String) -> Result<u8, supervise::SendErrorReason>;
    fn remove(&self, key: String) -> Result<(), Full>;
}

fn main() {}
