//! What every store must do.

use std::collections::HashMap;

use supervise::durable::{MemoryStore, check};

use crate::fixture::{Folder, small};

#[tokio::test]
async fn the_sqlite_store_keeps_the_contract() {
    let folder = Folder::new();
    check(|place| small(folder.path().join(place))).await;
}

#[tokio::test]
async fn the_store_in_memory_keeps_the_contract() {
    let mut places = HashMap::<String, MemoryStore>::new();
    check(|place| places.entry(place.to_owned()).or_default().clone()).await;
}
