//! The files are deleted or replaced while the store is open.
//!
//! Rules 27.1 and 27.13.

use std::fs;

use supervise::durable::CommitError;

use crate::fixture::{Desk, Folder, append, handled};

#[tokio::test]
async fn a_file_that_was_deleted_accepts_nothing_more_and_what_it_has_is_handled() {
    for (ending, replaces) in [("", false), ("", true), ("-wal", false)] {
        let folder = Folder::new();
        let mut desk = Desk::open(folder.store()).await;
        let queue = desk.claim("orders").await.queue;
        desk.commit([append(queue, b"x"), append(queue, b"y")]).await;
        if replaces {
            fs::copy(folder.beside(ending), folder.beside("-copy")).expect("there is room");
            fs::rename(folder.beside("-copy"), folder.beside(ending)).expect("it is ours");
        } else {
            fs::remove_file(folder.beside(ending)).expect("it is there");
        }
        let refused = desk.try_commit([append(queue, b"z")]).await;
        let Err(CommitError::Full(text)) = refused else { panic!("{ending:?} {replaces}: {refused:?}") };
        assert!(text.contains("deleted"), "{text}");
        assert_eq!(desk.numbers(queue).await, [1, 2]);
        desk.commit([handled(queue, 1), handled(queue, 2)]).await;
        assert!(desk.numbers(queue).await.is_empty());
    }
}
