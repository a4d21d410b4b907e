//! Traits that cannot be trait objects, so no ref can be made for them.

use supervise::prelude::*;

#[protocol]
#[async_trait]
trait Cloned: Clone + std::fmt::Debug {
    async fn put(&self) -> Result<(), AskError>;
}

#[protocol]
#[async_trait]
trait Borrowing<'a> {
    async fn put(&self, key: &'a str) -> Result<(), AskError>;
}

#[protocol]
#[async_trait]
trait Unbound<K> {
    async fn put(&self, key: K) -> Result<(), AskError>;
}

#[protocol]
#[async_trait]
unsafe trait Unsafe {
    async fn put(&self) -> Result<(), AskError>;
}

#[protocol]
struct Storage;

fn main() {}
