//! Actors behind protocols: traits whose refs hide the actor's type.

use std::collections::HashMap;

use supervise::SendErrorReason;
use supervise::prelude::*;
use supervise::testkit::TestSystem;

#[derive(Debug, Clone, thiserror::Error)]
enum PutError {
    #[error("no room")]
    Full,
    #[error(transparent)]
    NoAnswer(#[from] AskError),
}

#[protocol]
#[async_trait]
trait Storage {
    async fn put(&self, key: String, value: Vec<u8>) -> Result<(), PutError>;
    async fn get(&self, key: String) -> Result<Option<Vec<u8>>, AskError>;
    fn forget(&self, key: String) -> Result<(), SendErrorReason>;
}

#[actor]
struct Database {
    rows: HashMap<String, Vec<u8>>,
}

#[actor(implements(Storage))]
impl Database {
    #[handler]
    fn put(&mut self, key: String, value: Vec<u8>) -> Result<(), PutError> {
        if self.rows.len() == 2 {
            return Err(PutError::Full);
        }
        self.rows.insert(key, value);
        Ok(())
    }

    #[handler]
    fn get(&self, key: String) -> Option<Vec<u8>> {
        self.rows.get(&key).cloned()
    }

    #[handler]
    fn forget(&mut self, key: String) {
        self.rows.remove(&key);
    }

    #[handler]
    fn rows(&self) -> usize {
        self.rows.len()
    }
}

fn database() -> Database {
    Database { rows: HashMap::new() }
}

/// Rules 20.1, 20.4.
#[supervise::test]
async fn a_protocol_ref_reaches_the_actor(system: &TestSystem) {
    let database = system.spawn("database", database).unwrap();
    let storage = StorageRef::from(database.clone());
    storage.put("a".to_owned(), vec![1]).await.unwrap();
    assert_eq!(storage.get("a".to_owned()).await.unwrap(), Some(vec![1]));
    storage.forget("a".to_owned()).unwrap();
    assert_eq!(database.rows().await.unwrap(), 0);
    assert_eq!(storage.to_string(), database.to_string());
    assert_eq!(storage.actor(), Some(&database.actor_ref().to_any()));
}
