//! A handler that nobody would call, because the trait has a body.

use supervise::prelude::*;

#[protocol]
#[async_trait]
trait Storage {
    async fn get(&self, key: String) -> Result<u8, AskError>;

    async fn has(&self, key: String) -> Result<bool, AskError> {
        Ok(self.get(key).await? > 0)
    }
}

#[actor]
struct Database;

#[actor(implements(Storage))]
impl Database {
    #[handler]
    fn get(&self, _key: String) -> u8 {
        1
    }

    #[handler]
    fn has(&self, _key: String) -> bool {
        true
    }
}

fn main() {}
