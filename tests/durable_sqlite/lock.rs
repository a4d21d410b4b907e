//! One process at a time.

use supervise::durable::{SqliteStore, StoreErrorKind};

use crate::child::Child;
use crate::fixture::{Desk, Folder, append, small};

#[tokio::test]
async fn dur_24_a_second_process_is_locked_out_at_once_until_the_first_is_killed() {
    let folder = Folder::new();
    let mut child = Child::start("hold", &folder.store());
    assert_eq!(child.line().as_deref(), Some("open"));
    let error = SqliteStore::open(folder.store()).expect_err("the child has it");
    assert_eq!(error.kind, StoreErrorKind::Locked { pid: Some(child.pid()) }, "{error}");
    assert!(error.text.contains(&child.pid().to_string()), "{error}");
    child.kill();
    let mut desk = Desk::open(folder.store()).await;
    let queue = desk.claim("orders").await.queue;
    assert_eq!(desk.all(queue).await.len(), 1, "what the child had accepted is there");
}

#[tokio::test]
async fn dur_24_a_second_store_of_the_same_process_is_locked_out_too() {
    let folder = Folder::new();
    let first = SqliteStore::open(folder.store()).expect("the file is new");
    for _ in 0..2 {
        let error = SqliteStore::open(folder.store()).expect_err("the first has it");
        assert_eq!(error.kind, StoreErrorKind::Locked { pid: Some(std::process::id()) }, "{error}");
    }
    // The attempts have not taken the lock from the first one.
    let error = Child::start("hold", &folder.store()).line();
    assert_eq!(error.as_deref(), Some("locked"));
    drop(first);
    SqliteStore::open(folder.store()).expect("the first is gone");
}

/// The child: opens the store and waits.
pub(crate) async fn hold(path: &std::path::Path) {
    let opened = Desk::try_open(small(path)).await;
    let mut desk = match opened {
        Err(error) if matches!(error.kind, StoreErrorKind::Locked { .. }) => {
            crate::child::say("locked");
            return;
        }
        opened => opened.expect("the file is new"),
    };
    let queue = desk.claim("orders").await.queue;
    desk.commit([append(queue, b"x")]).await;
    crate::child::say("open");
    std::future::pending::<()>().await;
}
