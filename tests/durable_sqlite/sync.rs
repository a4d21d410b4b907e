//! A disk that fails when it is asked to keep what was written.

use std::path::Path;
use std::process::Command;

use supervise::durable::{Appended, CommitError, MessageStore, Opened, Owner, SqliteStore};

use crate::child::{Child, say};
use crate::fixture::{Desk, Folder, keyed, small};

/// How many groups the child stores.
const GROUPS: u64 = 12;

/// Injects the error into the `when`th sync of each kind.
fn child(path: &Path, when: usize) -> Child {
    let role = Child::command("sync", path);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e"]);
    command.arg(format!("inject=fsync,fdatasync:error=EIO:when={when}"));
    command.arg(role.get_program()).args(role.get_args());
    for (name, value) in role.get_envs() {
        command.env(name, value.expect("it is set"));
    }
    Child::spawn(&mut command)
}

#[tokio::test]
async fn dur_28_a_failed_sync_is_not_repeated_and_the_same_key_is_stored_once() {
    if !Command::new("strace").arg("-V").output().is_ok_and(|version| version.status.success()) {
        println!("skipped: strace is not installed, so no sync can be made to fail");
        return;
    }
    let (mut unknown, mut refused) = (0, 0);
    for when in 1..30 {
        let folder = Folder::new();
        let mut child = child(&folder.store(), when);
        let mut last = None;
        while let Some(line) = child.line() {
            match &*line {
                "unknown" => unknown += 1,
                _ if line.starts_with("refused") => refused += 1,
                _ => last = Some(line),
            }
        }
        assert!(child.ended_well(), "sync {when}");
        assert_eq!(last.as_deref(), Some("done"), "sync {when}");
        let mut desk = Desk::open(folder.store()).await;
        let queue = desk.claim("orders").await.queue;
        let bodies: Vec<_> = desk.all(queue).await.iter().map(|message| u64::from(message.body[0])).collect();
        let expected: Vec<_> = (0..GROUPS).collect();
        assert_eq!(bodies, expected, "sync {when}: each once, and in order");
    }
    assert!(unknown > 5 && refused > 0, "{unknown} groups were unknown, {refused} times it did not open");
}

/// The child: stores groups, and stores a group again if its outcome is not known.
pub(crate) async fn work(path: &Path) {
    let mut desk = open(path).await;
    let mut queue = desk.claim("orders").await.queue;
    for group in 0..GROUPS {
        let mut is_again = false;
        loop {
            let key = group.to_string();
            let body = [u8::try_from(group).expect("there are few")];
            let committed = desk.try_commit([keyed(queue, &body, Some(&key))]).await;
            match committed {
                Ok(answers) => {
                    assert!(is_again || matches!(answers[..], [Appended::Stored(_)]), "{answers:?}");
                    break;
                }
                Err(CommitError::Unknown(_)) => {
                    say("unknown");
                    is_again = true;
                    // The store is broken until it is opened again.
                    let still = desk.try_commit([]).await;
                    assert!(matches!(still, Err(CommitError::Unknown(_))), "{still:?}");
                    desk.opened = reopen(&mut desk.store).await;
                    queue = desk.claim("orders").await.queue;
                }
                // The reserve could not be synced. It is tried again in a moment.
                Err(CommitError::Full(_)) => {}
            }
        }
    }
    if Box::new(desk.store).close().await.is_err() {
        say("unknown");
    }
    say("done");
}

/// Opens the store, again in the same thread: strace counts the calls of each.
async fn reopen(store: &mut SqliteStore) -> Opened {
    for _ in 0..20 {
        match store.open(&Owner::new("test")).await {
            Ok(opened) => return opened,
            Err(error) => say(format_args!("refused: {error}")),
        }
    }
    panic!("it does not open any more");
}

async fn open(path: &Path) -> Desk {
    let mut store = small(path);
    let opened = reopen(&mut store).await;
    Desk { store, opened }
}
