//! A protocol's method without a handler.

use supervise::prelude::*;

#[protocol]
#[async_trait]
trait Storage {
    async fn put(&self, key: String, value: Vec<u8>) -> Result<(), AskError>;
    async fn get(&self, key: String) -> Result<Option<Vec<u8>>, AskError>;
    fn forget(&self, key: String) -> Result<(), supervise::SendErrorReason>;
}

#[actor]
struct Database;

#[actor(implements(Storage))]
impl Database {
    #[handler]
    fn put(&mut self, _key: String, _value: Vec<u8>) {}
}

fn main() {}
