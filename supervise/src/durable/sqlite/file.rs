//! The SQLite file: how it is opened, what is refused, and its tables.

use std::fmt::Write;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Error, ErrorCode, OpenFlags};
use supervise_core::durable::{StoreError, StoreErrorKind};

use super::marks::EarlierMarks;
use super::statements::Meta;

/// "svmb" as SQLite's `application_id`, by which programs tell whose a file is.
const APPLICATION: i64 = 0x7376_6d62;
/// SQLite's `user_version`. A release that writes another format raises it.
const FORMAT: i64 = 1;

/// Where a store is: its SQLite file, with two more files beside it.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) path: PathBuf,
}

impl Place {
    pub(super) fn marks(&self) -> PathBuf {
        self.beside("-marks")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.beside("-wal")
    }

    pub(super) fn reserve(&self) -> PathBuf {
        self.beside("-reserve")
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(ending);
        name.into()
    }

    pub(super) fn error(&self, kind: StoreErrorKind, text: impl std::fmt::Display) -> StoreError {
        StoreError::new(kind, format!("the message store {}: {text}", self.path.display()))
    }

    /// Says what an error of SQLite means.
    pub(super) fn failed(&self, error: &Error) -> StoreError {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                let pid = EarlierMarks::read(&self.marks()).ok().flatten().and_then(|marks| marks.pid());
                let who = pid.map_or_else(|| "another process".to_owned(), |pid| format!("the process {pid}"));
                self.error(StoreErrorKind::Locked { pid }, format_args!("{who} has it open"))
            }
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                self.error(StoreErrorKind::ReadOnly, format_args!("it cannot be written: {error}"))
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => self.error(
                StoreErrorKind::Damaged,
                format_args!(
                    "the file is damaged: {error}. Restore it, or save what is left with the command `.recover` of sqlite3"
                ),
            ),
            _ => self.error(StoreErrorKind::Broken, error),
        }
    }

    /// Opens the file, takes its lock, and creates the tables if it is new. A file that is refused stays unchanged.
    pub(super) fn connect(&self, accepts_damage: bool) -> Result<Connection, StoreError> {
        let there = std::fs::metadata(&self.path).ok().filter(|file| file.len() > 0);
        if let Some(file) = &there {
            if file.permissions().readonly() {
                return Err(self.error(StoreErrorKind::ReadOnly, "the file is read-only"));
            }
            self.look()?;
        }
        let connection = self.open().map_err(|error| self.failed(&error))?;
        let is_read_only = connection.is_readonly("main").map_err(|error| self.failed(&error))?;
        if is_read_only {
            return Err(self.error(StoreErrorKind::ReadOnly, "the file cannot be written"));
        }
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))
            .map_err(|error| self.failed(&error))?;
        if tables > 0 {
            self.check(&connection)?;
        } else if self.marks().exists() {
            if !accepts_damage {
                let text = "the file is missing or empty, but its marks are there. Restore it, or open it with \
                            `accept_damage`";
                return Err(self.error(StoreErrorKind::Damaged, text));
            }
            let removed = std::fs::remove_file(self.marks());
            removed.map_err(|error| {
                self.error(StoreErrorKind::Broken, format_args!("its `-marks` file cannot be used: {error}"))
            })?;
        }
        prepare(&connection, tables == 0).map_err(|error| self.failed(&error))?;
        if tables == 0 {
            self.sync_folder().map_err(|error| self.error(StoreErrorKind::Broken, error))?;
        }
        Ok(connection)
    }

    /// Looks at the file's first page, which takes no lock and leaves no other file.
    fn look(&self) -> Result<(), StoreError> {
        if cfg!(windows) {
            // A path of Windows is not a URI, so this check is left out. A file that is refused later then has an
            // empty file of SQLite's beside it.
            return Ok(());
        }
        let mut uri = String::from("file:");
        for &byte in self.path.as_os_str().as_encoded_bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => uri.push(byte.into()),
                _ => drop(write!(uri, "%{byte:02x}")),
            }
        }
        uri.push_str("?immutable=1");
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(uri, flags).map_err(|error| self.failed(&error))?;
        // If a process was killed while it copied the log, the file has fewer pages than its first page says, and
        // the log has all of them. Without this setting, SQLite reports such a file as damaged when it does not
        // read the log.
        let tolerant = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, true);
        tolerant.map_err(|error| self.failed(&error))?;
        self.check(&connection)
    }

    fn check(&self, connection: &Connection) -> Result<(), StoreError> {
        let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let application = number("application_id").map_err(|error| self.failed(&error))?;
        let format = number("user_version").map_err(|error| self.failed(&error))?;
        if application != APPLICATION {
            return Err(self.error(StoreErrorKind::Refused, "the file belongs to another program"));
        }
        if format != FORMAT {
            let text = format!(
                "a newer release of supervise has written it, in format {format}; this release knows format {FORMAT}"
            );
            return Err(self.error(StoreErrorKind::NewerFormat, text));
        }
        Ok(())
    }

    fn open(&self) -> rusqlite::Result<Connection> {
        let flags =
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        // A connection that is dropped writes nothing more: `close` does what is to be done.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.busy_timeout(Duration::ZERO)?;
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        connection.pragma_update(None, "cell_size_check", true)?;
        Ok(connection)
    }

    /// A new file is durable when its folder is.
    pub(super) fn sync_folder(&self) -> std::io::Result<()> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Windows opens no folders, and has nothing to sync here.
        if cfg!(windows) { Ok(()) } else { File::open(folder)?.sync_all() }
    }
}

/// Turns the log on, and creates the tables of a new file.
fn prepare(connection: &Connection, is_new: bool) -> rusqlite::Result<()> {
    connection.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;
         PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 0;",
    )?;
    if is_new {
        // Before the log is turned on, so that the first page of the file says what it is from the first moment.
        connection.execute_batch(&format!(
            "BEGIN EXCLUSIVE; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT}; {TABLES}"
        ))?;
        Meta::fresh(connection, None)?.create(connection)?;
        connection.execute_batch("COMMIT")?;
    }
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode.eq_ignore_ascii_case("wal") { Ok(()) } else { Err(Error::InvalidQuery) }
}

/// `sum` is a checksum over the other columns. Of `gone`, see `queue.rs`. A row of `quarantine` has a `place` beside its `id`, so that
/// SQLite notices a damaged row number: nobody knows which numbers should be there.
pub(super) const TABLES: &str = "
CREATE TABLE meta (
    id INTEGER PRIMARY KEY, store INTEGER NOT NULL, epoch INTEGER NOT NULL, last_commit INTEGER NOT NULL,
    next_queue INTEGER NOT NULL, is_open INTEGER NOT NULL, boot TEXT NOT NULL, sum INTEGER NOT NULL
);
CREATE TABLE queue (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, first INTEGER NOT NULL, next INTEGER NOT NULL, gone BLOB NOT NULL,
    begun INTEGER, may_have_begun INTEGER NOT NULL, sum INTEGER NOT NULL
);
CREATE TABLE message (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, accepted_at INTEGER NOT NULL, key TEXT, attempts INTEGER NOT NULL,
    crashes INTEGER NOT NULL, failures BLOB, sum INTEGER NOT NULL, body BLOB NOT NULL
);
CREATE TABLE quarantine (
    place INTEGER PRIMARY KEY, fate INTEGER NOT NULL, since INTEGER NOT NULL, fate_sum INTEGER NOT NULL,
    id INTEGER NOT NULL UNIQUE, kind TEXT NOT NULL, accepted_at INTEGER NOT NULL, key TEXT, attempts INTEGER NOT NULL,
    crashes INTEGER NOT NULL, failures BLOB, sum INTEGER NOT NULL, body BLOB NOT NULL
);
CREATE TABLE key (
    queue INTEGER NOT NULL, key TEXT NOT NULL, until INTEGER, sum INTEGER NOT NULL, PRIMARY KEY (queue, key)
) WITHOUT ROWID;
CREATE INDEX key_until ON key (until) WHERE until IS NOT NULL;
";
