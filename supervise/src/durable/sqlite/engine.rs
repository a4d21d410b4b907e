//! The store while it is open.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Error, ErrorCode, Result};
use supervise_core::durable::{
    Appended, Change, Claim, CommitError, Fate, Group, Marks, MessageId, Quarantined, QueueId, QueueRow, Room,
    Seq, StoreError, StoreErrorKind, Stored,
};

use super::draft::{Draft, KEYS_ARE_SWEPT};
use super::file::Place;
use super::identity::Identity;
use super::marks::MarksFile;
use super::queue::Queue;
use super::reserve::Reserve;
use super::rows::{HIGHEST_QUEUE, HIGHEST_SEQ, MessageRow, message_id, millis, row_number, time};
use super::statements::{Meta, Statements};

/// How many bytes go into the log before it is copied into the database.
const LOG: u64 = 4 << 20;
/// When the disk is full: if a part of a group wrote fewer bytes than this, the next part is larger.
const PART: u64 = 512 << 10;
/// What a group writes beside its messages: the pages of its tables.
const PAGES_OF_A_GROUP: u64 = 4 * 4096;

/// The present time, where keys expire.
pub(super) type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

pub(super) struct Engine<'c> {
    pub(super) place: Place,
    pub(super) identity: Identity,
    pub(super) connection: &'c Connection,
    pub(super) statements: Statements<'c>,
    pub(super) marks: Arc<MarksFile>,
    pub(super) meta: Meta,
    pub(super) queues: BTreeMap<QueueId, Queue>,
    pub(super) reserve: Reserve,
    pub(super) clock: Clock,
    /// Whether the table of keys has rows.
    pub(super) has_keys: bool,
    /// When keys are swept next, in milliseconds since 1970.
    pub(super) sweep_at: i64,
    /// About how many bytes of the log have not been copied.
    pub(super) log: u64,
    /// How many queues have been claimed since the store was opened.
    pub(super) claims: u64,
    /// Why the store must be opened again.
    pub(super) broken: Option<String>,
}

impl Engine<'_> {
    pub(super) fn claim(&mut self, name: &str) -> Result<Claim, StoreError> {
        self.refuse_if_broken()?;
        let queue = match self.by_name(name) {
            Some(queue) if self.queues[&queue].is_claimed => {
                let text = format!("the queue {name} has an owner");
                return Err(self.place.error(StoreErrorKind::Claimed, text));
            }
            Some(queue) => queue,
            None => self.create(name)?,
        };
        self.claims += 1;
        let fence = (self.meta.epoch << 32) | self.claims;
        let found = self.queues.entry(queue).or_insert_with(|| Queue::new(queue, name.to_owned()));
        found.is_claimed = true;
        let (begun, may_have_begun) = (found.begun.map(Seq), Seq(found.may_have_begun));
        let (last, handled) = (Seq(found.next - 1), Seq(found.first - 1));
        Ok(Claim { queue, waiting: found.waiting(), last, handled, begun, may_have_begun, fence, was_ours: true })
    }

    /// The queue becomes durable with the next group. Nobody knows its number before that.
    fn create(&mut self, name: &str) -> Result<QueueId, StoreError> {
        let queue = QueueId(self.meta.next_queue);
        if queue.0 > HIGHEST_QUEUE {
            return Err(self.place.error(StoreErrorKind::Refused, "it has no more numbers for queues"));
        }
        let grown = self.marks.grow(queue);
        grown.map_err(|error| {
            self.place.error(StoreErrorKind::Broken, format_args!("its marks cannot grow: {error}"))
        })?;
        // An earlier queue that never became durable may have had this number.
        self.marks.clear(queue);
        self.meta.next_queue += 1;
        self.queues.insert(queue, Queue::new(queue, name.to_owned()));
        Ok(queue)
    }

    fn by_name(&self, name: &str) -> Option<QueueId> {
        self.queues.values().find(|queue| queue.name == name).map(|queue| queue.id)
    }

    pub(super) fn commit(&mut self, group: &Group) -> Result<Vec<Appended>, CommitError> {
        self.refuse_if_broken().map_err(|error| CommitError::Unknown(error.text))?;
        let adds = group.changes.iter().any(|change| matches!(change, Change::Append(_)));
        if adds && !self.make_room() {
            return Err(self.full());
        }
        // Messages that were accepted before are handled as long as this process lives.
        if adds && let Some(missing) = self.identity.missing() {
            let text =
                format!("{} was deleted or replaced while it was open: end this process", missing.display());
            return Err(CommitError::Full(text));
        }
        let written = if adds || self.reserve.is_there() {
            self.try_commit(&group.changes)
        } else {
            self.commit_in_parts(&group.changes)
        };
        match written {
            Err(error) if is_full(&error) => {
                // The reserve is kept for groups that add no message.
                self.spend();
                if adds {
                    return Err(self.full());
                }
                self.commit_in_parts(&group.changes).map_err(|error| self.failed(&error))
            }
            other => other.map_err(|error| self.failed(&error)),
        }
    }

    /// Stores changes that add no message, in parts that need less room than the reserve had: some changes are
    /// written with the message's body, so all changes of a failed batch together may need more room. If a part
    /// fails, the whole group is stored again later, which changes nothing about the parts that are already
    /// stored.
    fn commit_in_parts(&mut self, mut changes: &[Change]) -> Result<Vec<Appended>> {
        let mut most = 1;
        while !changes.is_empty() {
            let mut heavy = changes.iter().enumerate().filter(|(_, change)| !matches!(change, Change::Handled(_)));
            let (part, rest) = changes.split_at(heavy.nth(most).map_or(changes.len(), |(at, _)| at));
            let before = self.log;
            self.try_commit(part)?;
            most = if self.log - before < PART { most * 2 } else { 1 };
            if !rest.is_empty() {
                // If the log cannot be copied, the next part is appended to it.
                let _is_copied = self.copy_log();
            }
            changes = rest;
        }
        Ok(Vec::new())
    }

    fn try_commit(&mut self, changes: &[Change]) -> Result<Vec<Appended>> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let written = self.write(changes);
        if written.is_err() && !self.connection.is_autocommit() {
            // It fails only if there is nothing to roll back.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        written
    }

    fn write(&mut self, changes: &[Change]) -> Result<Vec<Appended>> {
        let now = millis((self.clock)());
        let mut draft = Draft::new(&mut self.statements, &self.queues, self.has_keys, now);
        let mut answers = Vec::new();
        for change in changes {
            answers.extend(draft.change(change)?);
        }
        if now >= self.sweep_at {
            self.connection.execute("DELETE FROM key WHERE until <= ?", [now])?;
        }
        let done = draft.finish()?;
        let meta = Meta { last_commit: self.meta.last_commit + 1, ..self.meta.clone() };
        self.statements.put_meta(&meta)?;
        self.connection.execute_batch("COMMIT")?;

        self.meta = meta;
        self.marks.committed(self.meta.last_commit);
        for (id, queue) in done.queues {
            let next = queue.as_ref().map_or(1, |queue| queue.next);
            if self.queues.get(&id).is_none_or(|before| before.next != next) {
                self.marks.appended(id, next);
            }
            match queue {
                Some(queue) => drop(self.queues.insert(id, queue)),
                None => drop(self.queues.remove(&id)),
            }
        }
        for id in done.released {
            if let Some(queue) = self.queues.get(&id) {
                self.marks.idle(id, Seq(queue.first - 1));
            }
        }
        self.has_keys = done.has_keys;
        if now >= self.sweep_at {
            self.sweep_at = now.saturating_add(KEYS_ARE_SWEPT);
        }
        self.log += done.bytes + PAGES_OF_A_GROUP;
        if self.marks.has_failed() {
            self.broken = Some("its marks cannot be written".to_owned());
        }
        Ok(answers)
    }

    /// Does the work that can wait until the caller has its answer: copies the log into the database.
    pub(super) fn tidy(&mut self) {
        if self.broken.is_none() && self.log >= LOG {
            self.copy_log();
        }
    }

    /// Copies the log into the database, so that it is written from its beginning again. Returns whether that worked.
    fn copy_log(&mut self) -> bool {
        match checkpoint(self.connection, "PASSIVE") {
            Ok(()) => self.log = 0,
            Err(error) if is_full(&error) && self.reserve.is_there() => {
                self.reserve.spend();
                return self.copy_log();
            }
            Err(error) if is_full(&error) => return false,
            Err(error) => {
                self.failed(&error);
                return false;
            }
        }
        true
    }

    /// Gives up the reserve, and uses it to write the log from its beginning again.
    fn spend(&mut self) {
        self.reserve.spend();
        self.copy_log();
    }

    /// Makes room for more messages if necessary. Returns whether there is room, apart from that for groups that add no message.
    #[must_use]
    fn make_room(&mut self) -> bool {
        if self.reserve.is_there() {
            return true;
        }
        let can_copy = self.log < LOG || self.copy_log();
        // Room within the file is as good as room on the disk.
        can_copy && (self.free_bytes().is_ok_and(|free| free >= self.reserve.bytes()) || self.reserve.fill())
    }

    /// How much of the file is not used.
    fn free_bytes(&self) -> Result<u64> {
        let number = |name| self.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        Ok((number("freelist_count")? * number("page_size")?).cast_unsigned())
    }

    fn full(&self) -> CommitError {
        let error = self.place.error(StoreErrorKind::Broken, "the disk is full");
        CommitError::Full(error.text)
    }

    fn failed(&mut self, error: &Error) -> CommitError {
        let text = self.place.failed(error).text;
        self.broken = Some(text.clone());
        CommitError::Unknown(text)
    }

    fn refuse_if_broken(&self) -> Result<(), StoreError> {
        match &self.broken {
            Some(text) => Err(StoreError::new(StoreErrorKind::Broken, text.clone())),
            None => Ok(()),
        }
    }

    pub(super) fn page(&mut self, id: QueueId, after: Seq, room: Room) -> Result<Vec<Stored>, StoreError> {
        self.refuse_if_broken()?;
        let Some(queue) = self.queues.get(&id) else { return Ok(Vec::new()) };
        let first = queue.first.max(after.0.saturating_add(1));
        if first >= queue.next {
            return Ok(Vec::new());
        }
        let mut page = Page { messages: Vec::new(), bytes: 0, room };
        let mut expected = first;
        let mut has_room = true;
        let read = self.statements.page(row_number(id, first), row_number(id, queue.next - 1), |row| {
            let seq = message_id(row.id).seq.0;
            has_room = page.take_missing(queue, expected..seq) && page.has_room(row.body.len());
            if has_room && queue.holds(seq) {
                page.take(row);
            }
            expected = seq + 1;
            has_room
        });
        read.map_err(|error| self.place.failed(&error))?;
        if has_room {
            page.take_missing(queue, expected..queue.next);
        }
        Ok(page.messages)
    }

    pub(super) fn queues(&mut self) -> Result<Vec<QueueRow>, StoreError> {
        self.refuse_if_broken()?;
        let mut rows = Vec::new();
        for queue in self.queues.values() {
            let (first, last) = (row_number(queue.id, queue.first), row_number(queue.id, HIGHEST_SEQ));
            let oldest = self.statements.oldest(first, last);
            let quarantined = self.statements.confined_count(row_number(queue.id, 0), last);
            rows.push(QueueRow {
                queue: queue.id,
                name: queue.name.clone(),
                owner: None,
                waiting: queue.waiting(),
                oldest: oldest.map_err(|error| self.place.failed(&error))?.map(time),
                quarantined: quarantined.map_err(|error| self.place.failed(&error))?,
            });
        }
        Ok(rows)
    }

    pub(super) fn quarantined(
        &mut self,
        name: &str,
        after: Seq,
        room: Room,
    ) -> Result<Vec<Quarantined>, StoreError> {
        self.refuse_if_broken()?;
        let Some(queue) = self.by_name(name) else {
            return Err(self.place.error(StoreErrorKind::Refused, format_args!("there is no queue {name}")));
        };
        if after.0 >= HIGHEST_SEQ {
            return Ok(Vec::new());
        }
        let (mut page, mut bytes) = (Vec::new(), 0_usize);
        let rest = (row_number(queue, after.0 + 1), row_number(queue, HIGHEST_SEQ));
        let read = self.statements.confined(rest.0, rest.1, |confined| {
            bytes = bytes.saturating_add(confined.message.body.len());
            if page.len() >= room.messages || (bytes > room.bytes && !page.is_empty()) {
                return false;
            }
            page.push(Quarantined {
                id: MessageId { queue, seq: message_id(confined.message.id).seq },
                fate: fate_of(confined.fate),
                since: time(confined.since),
                message: confined.message.into_stored(),
            });
            true
        });
        read.map_err(|error| self.place.failed(&error))?;
        Ok(page)
    }

    /// Ends cleanly.
    pub(super) fn close(&mut self) -> Result<(), StoreError> {
        self.refuse_if_broken()?;
        let meta = Meta { is_open: false, last_commit: self.meta.last_commit + 1, ..self.meta.clone() };
        let closed = self.connection.execute_batch("BEGIN IMMEDIATE").and_then(|()| {
            self.statements.put_meta(&meta)?;
            self.connection.execute_batch("COMMIT")?;
            checkpoint(self.connection, "TRUNCATE")?;
            // Closing removes the empty log, so that the file may be moved alone.
            self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).map(drop)
        });
        closed.map_err(|error| self.place.failed(&error))?;
        self.marks.committed(meta.last_commit);
        let synced = self.marks.sync();
        synced.map_err(|error| {
            self.place.error(StoreErrorKind::Broken, format_args!("its `-marks` file cannot be used: {error}"))
        })
    }
}

/// Copies the log into the database.
pub(super) fn checkpoint(connection: &Connection, how: &str) -> Result<()> {
    let sql = format!("PRAGMA wal_checkpoint({how})");
    let (busy, log, copied) = connection.query_row(&sql, (), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let (busy, log, copied): (i64, i64, i64) = (busy, log, copied);
    if busy == 0 && log == copied { Ok(()) } else { Err(Error::InvalidQuery) }
}

fn is_full(error: &Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
}

struct Page {
    messages: Vec<Stored>,
    bytes: usize,
    room: Room,
}

impl Page {
    fn has_room(&self, bytes: usize) -> bool {
        let fits = self.messages.len() < self.room.messages && self.bytes.saturating_add(bytes) <= self.room.bytes;
        fits || self.messages.is_empty()
    }

    fn take(&mut self, row: MessageRow) {
        self.bytes += row.body.len();
        self.messages.push(row.into_stored());
    }

    /// Puts a damaged message in place of each that should be there and is not. Returns whether there was room.
    fn take_missing(&mut self, queue: &Queue, numbers: std::ops::Range<u64>) -> bool {
        for seq in numbers.filter(|seq| !queue.gone.contains(seq)) {
            if !self.has_room(0) {
                return false;
            }
            self.take(MessageRow::lost(row_number(queue.id, seq)));
        }
        true
    }
}

/// The number of a fate in the table `quarantine`.
pub(super) fn number_of(fate: Fate) -> i64 {
    match fate {
        Fate::Failed => 1,
        Fate::Undecodable => 2,
        Fate::CrashedTheProcess => 4,
        // A fate that this release does not know is written as damage.
        _ => 3,
    }
}

fn fate_of(number: i64) -> Fate {
    match number {
        1 => Fate::Failed,
        2 => Fate::Undecodable,
        4 => Fate::CrashedTheProcess,
        _ => Fate::Damaged,
    }
}
