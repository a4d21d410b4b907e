//! Checks that the paths of an open store still lead to the files it opened. If somebody replaces a file, SQLite keeps writing to the old
//! one, which nobody can open any more.

use std::path::PathBuf;

use super::file::Place;

/// The store's file and its log, as they were when the store was opened.
pub(super) struct Identity([(PathBuf, Option<u128>); 2]);

impl Identity {
    pub(super) fn of(place: &Place) -> Self {
        Self([place.path.clone(), place.log()].map(|path| {
            let number = number(&path);
            (path, number)
        }))
    }

    /// The path whose file was replaced or deleted.
    pub(super) fn missing(&self) -> Option<&PathBuf> {
        let missing = self.0.iter().find(|(path, was)| was.is_some() && number(path) != *was);
        missing.map(|(path, _)| path)
    }
}

/// Names a file on this machine. `None` where files that are open cannot be deleted.
#[cfg(unix)]
fn number(path: &PathBuf) -> Option<u128> {
    use std::os::unix::fs::MetadataExt;
    let file = std::fs::metadata(path).ok()?;
    Some(u128::from(file.dev()) << 64 | u128::from(file.ino()))
}

#[cfg(not(unix))]
fn number(_: &PathBuf) -> Option<u128> {
    None
}
