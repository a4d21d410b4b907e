//! A handler that takes more than the protocol gives.

use supervise::prelude::*;

#[protocol]
#[async_trait]
trait Storage {
    async fn get(&self, key: String) -> Result<Option<Vec<u8>>, AskError>;
}

#[actor]
struct Database;

#[actor(implements(Storage))]
impl Database {
    #[handler]
    fn get(&self, _key: String, _default: u8) -> Option<Vec<u8>> {
        None
    }
}

fn main() {}
