//! A ref is made from a value that does not implement the protocol.

use supervise::prelude::*;

#[protocol]
#[async_trait]
trait Storage {
    async fn put(&self) -> Result<(), AskError>;
}

#[actor]
struct Database;

#[actor]
impl Database {
    #[handler]
    fn put(&self) {}
}

fn shared(database: DatabaseRef) -> StorageRef {
    database.into()
}

fn made(database: DatabaseRef) -> StorageRef {
    StorageRef::new(database)
}

fn main() {}
