//! What both benchmarks need.

use std::path::Path;

use rusqlite::Connection;

/// A bare table in a file, whose transactions survive a power cut.
pub(crate) fn bare(path: &Path) -> Connection {
    let connection = Connection::open(path).expect("it can be written");
    connection
        .execute_batch(
            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE message (id INTEGER PRIMARY KEY, body BLOB NOT NULL);",
        )
        .expect("it is new");
    connection
}

pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
