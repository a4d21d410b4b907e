//! Files that a store refuses to open, and leaves unchanged.

use std::collections::BTreeMap;
use std::fs;

use supervise::durable::{SqliteStore, StoreErrorKind};
use supervise::prelude::*;
use supervise::{Props, SpawnError};

use crate::fixture::{Desk, Folder, append, small};

/// The files of a folder.
fn files(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder.path()).expect("it can be read").map(|entry| entry.expect("it is there"));
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().expect("it is UTF-8");
            (name, fs::read(entry.path()).expect("it can be read"))
        })
        .collect()
}

/// A store that was closed with one message in it, or whose process died.
async fn written(folder: &Folder, is_closed: bool) {
    let mut desk = Desk::open(folder.store()).await;
    let queue = desk.claim("orders").await.queue;
    desk.commit([append(queue, b"x")]).await;
    if is_closed {
        desk.close().await;
    }
}

fn refused(folder: &Folder) -> (StoreErrorKind, String) {
    let before = files(folder);
    let error = SqliteStore::open(folder.store()).expect_err("it is refused");
    assert!(before == files(folder), "nothing is changed: {error}");
    (error.kind, error.text)
}

#[tokio::test]
async fn dur_31_a_read_only_file_is_refused_and_not_changed() {
    for is_closed in [true, false] {
        let folder = Folder::new();
        written(&folder, is_closed).await;
        let mut permissions = fs::metadata(folder.store()).expect("it is there").permissions();
        permissions.set_readonly(true);
        fs::set_permissions(folder.store(), permissions).expect("it is ours");
        let (kind, text) = refused(&folder);
        assert_eq!(kind, StoreErrorKind::ReadOnly, "{text}");
        assert!(text.contains("read-only"), "{text}");
    }
}

#[tokio::test]
async fn dur_31_a_newer_format_is_refused_and_not_changed() {
    for is_closed in [true, false] {
        let folder = Folder::new();
        written(&folder, is_closed).await;
        // SQLite's `user_version`, in the header of the file.
        let mut bytes = fs::read(folder.store()).expect("it can be read");
        assert_eq!(bytes[60..64], [0, 0, 0, 1]);
        bytes[63] = 2;
        fs::write(folder.store(), bytes).expect("it can be written");
        let (kind, text) = refused(&folder);
        assert_eq!(kind, StoreErrorKind::NewerFormat, "{text}");
        assert!(text.contains("format 2") && text.contains("format 1"), "{text}");
    }
}

#[test]
fn dur_31_the_database_of_another_program_is_refused_and_not_changed() {
    let folder = Folder::new();
    let other = rusqlite::Connection::open(folder.store()).expect("it is new");
    other.execute_batch("CREATE TABLE customer (name TEXT)").expect("it can be written");
    drop(other);
    let (kind, text) = refused(&folder);
    assert_eq!(kind, StoreErrorKind::Refused, "{text}");
    assert!(text.contains("another program"), "{text}");
}

#[test]
fn dur_31_a_file_that_is_no_database_is_refused_and_not_changed() {
    let folder = Folder::new();
    fs::write(folder.store(), "once upon a time ".repeat(1000)).expect("it can be written");
    let (kind, text) = refused(&folder);
    assert_eq!(kind, StoreErrorKind::Damaged, "{text}");
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let folder = Folder::new();
    let path = folder.path().join("nowhere").join("shop.mailbox");
    let error = SqliteStore::open(&path).expect_err("there is no such folder");
    assert!(error.text.contains("nowhere"), "{error}");
}

#[tokio::test]
async fn odd_names_are_names() {
    let folder = Folder::new();
    let path = folder.path().join("a b?c#d%20ü.mailbox");
    for expected in [1, 2] {
        let mut desk = Desk::open(&path).await;
        let queue = desk.claim("orders").await.queue;
        desk.commit([append(queue, b"x")]).await;
        assert_eq!(desk.all(queue).await.len(), expected);
        desk.close().await;
    }
}

#[actor(mailbox = durable(shared))]
struct Worker;

#[actor]
impl Worker {
    #[handler]
    fn work(&mut self, number: u32) -> u32 {
        number
    }
}

/// The same queue, without others.
#[actor(mailbox = durable)]
struct Alone;

#[actor]
impl Alone {
    #[handler]
    fn work(&mut self, number: u32) -> u32 {
        number
    }
}

#[tokio::test]
async fn dur_45_an_actor_that_shares_its_queue_is_refused_and_the_queue_stays_free() {
    let folder = Folder::new();
    let store = small(folder.store());
    let system = ActorSystem::builder("shop").store(store).start().expect("the name is valid");
    for _ in 0..2 {
        let refused =
            system.spawn_with("worker", Props::new(|| Worker).queue("work")).expect_err("it cannot share");
        assert!(matches!(&refused, SpawnError::CannotShare { .. }), "{refused:?}");
        assert!(refused.to_string().contains("work"), "{refused}");
    }
    let alone = system.spawn_with("alone", Props::new(|| Alone).queue("work")).expect("nobody has the queue");
    assert_eq!(alone.work(7).await.expect("it is handled"), 7);
    // One that would share is refused for the same reason, whoever has the queue.
    let refused = system.spawn_with("worker", Props::new(|| Worker).queue("work")).expect_err("it cannot share");
    assert!(matches!(&refused, SpawnError::CannotShare { .. }), "{refused:?}");
    system.terminate().await;
}
