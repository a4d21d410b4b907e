//! What the store asks of SQLite, prepared once.

use rusqlite::{Connection, OptionalExtension, Result, Row, Statement};
use supervise_core::durable::{Append, KEYS_ARE_KEPT};

use super::marks::EarlierMarks;
use super::queue::Queue;
use super::rows::{COLUMNS, MessageRow, Sum, encode_numbers, millis, sum_of_message};

pub(super) struct Statements<'c> {
    insert: Statement<'c>,
    find: Statement<'c>,
    charge: Statement<'c>,
    delete: Statement<'c>,
    oldest: Statement<'c>,
    keys_between: Statement<'c>,
    page: Statement<'c>,
    confine: Statement<'c>,
    release: Statement<'c>,
    confined: Statement<'c>,
    confined_count: Statement<'c>,
    key: Statement<'c>,
    put_key: Statement<'c>,
    put_queue: Statement<'c>,
    delete_keys: Statement<'c>,
    delete_queue: Statement<'c>,
    put_meta: Statement<'c>,
}

/// The one row of the table `meta`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Meta {
    /// A random number that tells the store from others.
    pub(super) store: u64,
    /// Grows whenever the store is opened.
    pub(super) epoch: u64,
    pub(super) last_commit: u64,
    pub(super) next_queue: u32,
    /// Whether a process has the store open, or died with it open.
    pub(super) is_open: bool,
    /// The boot of the machine in which it was opened last, empty where that is not known.
    pub(super) boot: String,
}

/// A row of the table `quarantine`.
pub(super) struct Confined {
    pub(super) fate: i64,
    pub(super) since: i64,
    pub(super) message: MessageRow,
}

impl<'c> Statements<'c> {
    pub(super) fn prepare(on: &'c Connection) -> Result<Self> {
        let of_quarantine = format!("SELECT fate, since, fate_sum, {COLUMNS} FROM quarantine");
        Ok(Self {
            insert: on.prepare(&format!("INSERT INTO message ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"))?,
            find: on.prepare(&format!("SELECT {COLUMNS} FROM message WHERE id = ?"))?,
            charge: on
                .prepare("UPDATE message SET attempts = ?, crashes = ?, failures = ?, sum = ? WHERE id = ?")?,
            delete: on.prepare("DELETE FROM message WHERE id BETWEEN ? AND ?")?,
            oldest: on.prepare("SELECT accepted_at FROM message WHERE id BETWEEN ? AND ? ORDER BY id LIMIT 1")?,
            keys_between: on.prepare("SELECT key FROM message WHERE id BETWEEN ? AND ? AND key IS NOT NULL")?,
            page: on.prepare(&format!("SELECT {COLUMNS} FROM message WHERE id BETWEEN ? AND ? ORDER BY id"))?,
            confine: on.prepare(&format!(
                "INSERT OR REPLACE INTO quarantine (fate, since, fate_sum, {COLUMNS})
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            ))?,
            release: on.prepare("DELETE FROM quarantine WHERE id BETWEEN ? AND ?")?,
            confined: on.prepare(&format!("{of_quarantine} WHERE id BETWEEN ? AND ? ORDER BY id"))?,
            confined_count: on.prepare("SELECT count(*) FROM quarantine WHERE id BETWEEN ? AND ?")?,
            key: on.prepare("SELECT until, sum FROM key WHERE queue = ? AND key = ?")?,
            put_key: on.prepare("INSERT OR REPLACE INTO key (queue, key, until, sum) VALUES (?, ?, ?, ?)")?,
            put_queue: on.prepare(
                "INSERT OR REPLACE INTO queue (id, name, first, next, gone, begun, may_have_begun, sum)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            )?,
            delete_keys: on.prepare("DELETE FROM key WHERE queue = ?")?,
            delete_queue: on.prepare("DELETE FROM queue WHERE id = ?")?,
            put_meta: on.prepare(Meta::PUT)?,
        })
    }

    pub(super) fn append(&mut self, id: i64, append: &Append) -> Result<()> {
        let (kind, key, body) = (&*append.kind, append.key.as_deref(), &*append.body);
        let at = millis(append.accepted_at);
        let sum = sum_of_message(id, kind, at, key, (0, 0), None, body);
        self.insert.execute((id, kind, at, key, 0, 0, None::<&[u8]>, sum, body)).map(drop)
    }

    pub(super) fn insert(&mut self, row: &MessageRow) -> Result<()> {
        let (kind, key, failures) = (row.kind.as_str(), row.key.as_deref(), row.failures.as_deref());
        let values =
            (row.id, kind, row.accepted_at, key, row.attempts, row.crashes, failures, row.sum(), &row.body);
        self.insert.execute(values).map(drop)
    }

    pub(super) fn find(&mut self, id: i64) -> Result<Option<MessageRow>> {
        self.find.query_row([id], |row| MessageRow::read(row, 0)).optional()
    }

    pub(super) fn charge(&mut self, row: &MessageRow) -> Result<()> {
        let failures = row.failures.as_deref();
        self.charge.execute((row.attempts, row.crashes, failures, row.sum(), row.id)).map(drop)
    }

    pub(super) fn delete(&mut self, first: i64, last: i64) -> Result<usize> {
        self.delete.execute([first, last])
    }

    pub(super) fn oldest(&mut self, first: i64, last: i64) -> Result<Option<i64>> {
        self.oldest.query_row([first, last], |row| row.get(0)).optional()
    }

    pub(super) fn keys_between(&mut self, first: i64, last: i64) -> Result<Vec<String>> {
        // A damaged key does not count.
        let keys = self.keys_between.query_map([first, last], |row| Ok(row.get(0).ok()))?;
        keys.filter_map(Result::transpose).collect()
    }

    /// Calls `take` with each row until it returns false.
    pub(super) fn page(&mut self, first: i64, last: i64, mut take: impl FnMut(MessageRow) -> bool) -> Result<()> {
        let mut rows = self.page.query([first, last])?;
        while let Some(row) = rows.next()? {
            if !take(MessageRow::read(row, 0)?) {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn confine(&mut self, confined: &Confined) -> Result<()> {
        let row = &confined.message;
        let (kind, key, failures) = (row.kind.as_str(), row.key.as_deref(), row.failures.as_deref());
        let values = (
            confined.fate,
            confined.since,
            sum_of_fate(confined.fate, confined.since),
            row.id,
            kind,
            row.accepted_at,
            key,
            row.attempts,
            row.crashes,
            failures,
            row.sum(),
            &row.body,
        );
        self.confine.execute(values).map(drop)
    }

    /// Calls `take` with each quarantined message of these numbers until it returns false.
    pub(super) fn confined(
        &mut self,
        first: i64,
        last: i64,
        mut take: impl FnMut(Confined) -> bool,
    ) -> Result<()> {
        let mut rows = self.confined.query([first, last])?;
        while let Some(row) = rows.next()? {
            if !take(read_confined(row)?) {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn confined_count(&mut self, first: i64, last: i64) -> Result<u64> {
        self.confined_count.query_row([first, last], |row| row.get(0).map(i64::cast_unsigned))
    }

    pub(super) fn release(&mut self, first: i64, last: i64) -> Result<usize> {
        self.release.execute([first, last])
    }

    /// Whether a key is known at `now`. A damaged row is not: a message that is stored twice is better than a lost one.
    pub(super) fn knows(&mut self, queue: u32, key: &str, now: i64) -> Result<bool> {
        let found = self.key.query_row((queue, key), |row| Ok((row.get(0)?, row.get::<_, i64>(1)?))).optional()?;
        Ok(found.is_some_and(|(until, sum): (Option<i64>, i64)| {
            sum == sum_of_key(queue, key, until) && until.is_none_or(|until| until > now)
        }))
    }

    /// Remembers a key, until a time or for as long as its message is in the store.
    pub(super) fn remember(&mut self, queue: u32, key: &str, until: Option<i64>) -> Result<()> {
        self.put_key.execute((queue, key, until, sum_of_key(queue, key, until))).map(drop)
    }

    /// The message of a key has left the store, so the key is forgotten later.
    pub(super) fn forget_later(&mut self, queue: u32, key: &str, now: i64) -> Result<()> {
        let kept = i64::try_from(KEYS_ARE_KEPT.as_millis()).unwrap_or(i64::MAX);
        self.remember(queue, key, Some(now.saturating_add(kept)))
    }

    pub(super) fn put_queue(&mut self, queue: &Queue) -> Result<()> {
        let (first, next) = (queue.first.cast_signed(), queue.next.cast_signed());
        let begun = queue.begun.map(u64::cast_signed);
        let (gone, may_have_begun) = (encode_numbers(&queue.gone), queue.may_have_begun.cast_signed());
        let values = (queue.id.0, &queue.name, first, next, gone, begun, may_have_begun, queue.sum());
        self.put_queue.execute(values).map(drop)
    }

    /// Deletes the row of a queue, and its keys.
    pub(super) fn delete_queue(&mut self, queue: u32) -> Result<()> {
        self.delete_keys.execute([queue])?;
        self.delete_queue.execute([queue]).map(drop)
    }

    pub(super) fn put_meta(&mut self, meta: &Meta) -> Result<()> {
        meta.put(&mut self.put_meta)
    }
}

impl Meta {
    /// The row of a new store, or of a store whose row is lost.
    pub(super) fn fresh(on: &Connection, marks: Option<&EarlierMarks>) -> Result<Self> {
        let store: i64 = on.query_row("SELECT random()", (), |row| row.get(0))?;
        let store = marks.and_then(EarlierMarks::store).unwrap_or(store.cast_unsigned());
        let (last_commit, epoch) = marks.and_then(EarlierMarks::commit).unwrap_or_default();
        Ok(Self { store, epoch, last_commit, next_queue: 1, is_open: false, boot: String::new() })
    }

    const PUT: &str = "INSERT OR REPLACE INTO meta (id, store, epoch, last_commit, next_queue, is_open, boot, sum)
        VALUES (1, ?, ?, ?, ?, ?, ?, ?)";

    /// Writes the row of a new store.
    pub(super) fn create(&self, on: &Connection) -> Result<()> {
        self.put(&mut on.prepare(Self::PUT)?)
    }

    fn put(&self, statement: &mut Statement<'_>) -> Result<()> {
        let (store, epoch) = (self.store.cast_signed(), self.epoch.cast_signed());
        let commit = self.last_commit.cast_signed();
        let values = (store, epoch, commit, self.next_queue, self.is_open, &self.boot, self.sum());
        statement.execute(values).map(drop)
    }

    /// Reads the row. `None` if it is not there or damaged.
    pub(super) fn read(on: &Connection) -> Result<Option<Self>> {
        let sql = "SELECT store, epoch, last_commit, next_queue, is_open, boot, sum FROM meta WHERE id = 1";
        let found = on.query_row(sql, (), |row| {
            let number = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
            let (store, epoch, last_commit) = (number(0)?, number(1)?, number(2)?);
            let (next_queue, is_open, boot) = (row.get(3)?, row.get(4)?, row.get(5)?);
            Ok((Self { store, epoch, last_commit, next_queue, is_open, boot }, row.get::<_, i64>(6)?))
        });
        match found {
            Ok((meta, sum)) => Ok(Some(meta).filter(|meta| meta.sum() == sum)),
            Err(error) if error.sqlite_error_code().is_none() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn sum(&self) -> i64 {
        Sum::default()
            .number(self.store.cast_signed())
            .number(self.epoch.cast_signed())
            .number(self.last_commit.cast_signed())
            .number(self.next_queue.into())
            .number(self.is_open.into())
            .bytes(self.boot.as_bytes())
            .end()
    }
}

fn read_confined(row: &Row<'_>) -> Result<Confined> {
    let message = MessageRow::read(row, 3)?;
    let (fate, since, sum) = (row.get(0).unwrap_or(-1), row.get(1).unwrap_or(0), row.get(2).unwrap_or(-1));
    let is_damaged = message.is_damaged || sum != sum_of_fate(fate, since);
    Ok(Confined { fate, since, message: MessageRow { is_damaged, ..message } })
}

fn sum_of_fate(fate: i64, since: i64) -> i64 {
    Sum::default().number(fate).number(since).end()
}

fn sum_of_key(queue: u32, key: &str, until: Option<i64>) -> i64 {
    Sum::default().number(queue.into()).bytes(key.as_bytes()).number(until.unwrap_or(-1)).end()
}
