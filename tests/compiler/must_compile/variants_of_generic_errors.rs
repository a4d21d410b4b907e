//! Rules by variant of an error enum that has a type parameter, with and without a turbofish.

use std::io;

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
enum StoreError<E: std::error::Error + 'static> {
    #[error("the store is busy")]
    Busy,
    #[error("the store is closed")]
    Closed { since: u32 },
    #[error("the store's backend failed")]
    Backend(#[source] E),
}

#[actor]
struct Store;

#[actor]
impl Store {
    #[handler]
    fn insert(&mut self, row: String) -> Result<usize, StoreError<io::Error>> {
        match row.len() {
            0 => Err(StoreError::Backend(io::ErrorKind::InvalidInput.into())),
            1 => Err(StoreError::Closed { since: 1 }),
            2 => Err(StoreError::Busy),
            length => Ok(length),
        }
    }
}

#[actor]
#[supervise(
    one_for_one(max_retries = 3, within = "1m"),
    on(StoreError<io::Error>::Busy) = Resume,
    on(StoreError<io::Error>::Closed { .. }) = Restart,
    on(StoreError<io::Error>::Backend(_)) = Stop,
)]
struct Catalogue {
    #[child(|_| || Store)]
    store: Child<Store>,
}

#[actor]
impl Catalogue {
    #[handler]
    async fn add(&self, row: String) -> Option<usize> {
        self.store.actor().insert(row).await.ok()
    }
}

#[actor]
#[supervise(on(StoreError::<io::Error>::Busy | StoreError::<io::Error>::Backend(_)) = Stop, on(StoreError::<io::Error>::Closed { .. }) = Restart)]
struct Shelf {
    #[child(|_| || Store)]
    store: Child<Store>,
}

#[actor]
impl Shelf {
    #[handler]
    fn store(&self) -> StoreRef {
        self.store.actor()
    }
}

pub(super) fn main() {}
