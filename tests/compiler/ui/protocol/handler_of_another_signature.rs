//! Handlers whose arguments and replies are not those of the protocol.

use supervise::prelude::*;

#[protocol]
#[async_trait]
trait Storage {
    async fn put(&self, key: String, value: Vec<u8>) -> Result<(), AskError>;
    async fn rows(&self) -> Result<usize, AskError>;
}

#[actor]
struct Database;

#[actor(implements(Storage))]
impl Database {
    #[handler]
    fn put(&mut self, _key: &'static str, _value: Vec<u8>) {}

    #[handler]
    fn rows(&self) -> u8 {
        0
    }
}

fn main() {}
