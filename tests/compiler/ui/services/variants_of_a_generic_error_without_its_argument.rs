//! Rules by variant of an error enum that has a type parameter.

use std::io;

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
enum StoreError<E: std::error::Error + 'static> {
    #[error("the store is busy")]
    Busy,
    #[error("the store is closed")]
    Closed,
    #[error("the store's backend failed")]
    Backend(#[source] E),
}

#[actor]
struct Store {
    open: bool,
    rows: Vec<String>,
}

#[actor]
impl Store {
    #[handler]
    fn insert(&mut self, row: String) -> Result<usize, StoreError<io::Error>> {
        if !self.open {
            return Err(StoreError::Closed);
        }
        if row.is_empty() {
            return Err(StoreError::Backend(io::ErrorKind::InvalidInput.into()));
        }
        if self.rows.len() == 1000 {
            return Err(StoreError::Busy);
        }
        self.rows.push(row);
        Ok(self.rows.len())
    }
}

#[actor]
#[supervise(
    one_for_one(max_retries = 3, within = "1m"),
    on(StoreError::Busy) = Resume,
    on(StoreError::Closed) = Restart,
    on(StoreError::Backend(_)) = Stop,
)]
struct Catalogue {
    #[child(|_| || Store { open: true, rows: Vec::new() })]
    store: Child<Store>,
}

#[actor]
impl Catalogue {
    #[handler]
    async fn add(&self, row: String) -> Option<usize> {
        self.store.actor().insert(row).await.ok()
    }
}

fn main() {}
