//! Methods and items of a protocol that cannot be messages.

use supervise::prelude::*;

#[protocol]
#[async_trait]
trait Storage {
    async fn put(&self, key: &str, value: &[u8]) -> Result<(), AskError>;
    async fn get(&self, key: std::borrow::Cow<'_, str>) -> Result<&[u8], AskError>;
    async fn each(&self, visit: impl Fn(u8)) -> Result<(), AskError>;
    async fn find<K: Send>(&self, key: K) -> Result<(), AskError>;
    async fn change(&mut self) -> Result<(), AskError>;
    async fn close(self) -> Result<(), AskError>;
    async fn open() -> Result<(), AskError>;
    async fn sized(&self) -> Result<(), AskError>
    where
        Self: Sized;
    #[cfg(unix)]
    async fn sync(&self) -> Result<(), AskError>;
    async fn pair(&self, (key, value): (u8, u8)) -> Result<(), AskError>;
    async fn clone(&self) -> Result<(), AskError>;
    async fn actor(&self) -> Result<(), AskError>;
}

/// Code that the mistakes do not concern compiles.
fn holds(storage: StorageRef) -> StorageRef {
    storage.clone()
}

fn main() {}
