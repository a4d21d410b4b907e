//! What a store finds when it is opened, and how it goes on from there.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Result};
use supervise_core::durable::{Ended, Opened, QueueId, Seq, StoreError, StoreErrorKind};

use super::engine::{Clock, Engine, checkpoint};
use super::file::Place;
use super::identity::Identity;
use super::marks::{EarlierMarks, MarksFile};
use super::queue::Queue;
use super::reserve::Reserve;
use super::rows::{HIGHEST_SEQ, decode_numbers, message_id, millis, row_number};
use super::statements::{Meta, Statements};

/// How a store is opened.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) accepts_damage: bool,
    pub(super) reserve: u64,
    pub(super) clock: Clock,
    /// Names the time since the machine was started. Empty where that is not known: then each unclean end counts as the
    /// machine's, but the message under way is charged.
    pub(super) boot: String,
}

/// The file, and the marks beside it, as the last process left them.
struct Inventory<'a> {
    place: &'a Place,
    accepts_damage: bool,
    /// As in [`Settings`].
    boot: &'a str,
    meta: Meta,
    queues: BTreeMap<QueueId, Queue>,
    ended: Ended,
    found: Option<EarlierMarks>,
    missing: Vec<(QueueId, Seq)>,
}

pub(super) fn recover<'c>(
    place: &Place,
    settings: &Settings,
    connection: &'c Connection,
) -> Result<(Engine<'c>, Opened), StoreError> {
    let sqlite = |error| place.failed(&error);
    let found = EarlierMarks::read(&place.marks());
    let found = found.map_err(|error| {
        place.error(StoreErrorKind::Broken, format_args!("its `-marks` file cannot be used: {error}"))
    })?;
    let mut inventory = Inventory::take(place, settings.accepts_damage, connection, found, &settings.boot)?;
    inventory.compare_commits()?;
    inventory.apply_deliveries()?;
    inventory.note_doubts();

    let Inventory { mut meta, queues, ended, found, missing, .. } = inventory;
    let marks_failed =
        |error| place.error(StoreErrorKind::Broken, format_args!("its `-marks` file cannot be used: {error}"));
    if found.is_none() {
        // Once the file says that it is open, it is incomplete without its marks.
        let marks = MarksFile::open(&place.marks(), meta.epoch + 1);
        let begun = marks.and_then(|marks| marks.begin(meta.store, meta.last_commit));
        begun.and_then(|()| place.sync_folder()).map_err(marks_failed)?;
    }
    meta.epoch += 1;
    meta.last_commit += 1;
    meta.is_open = true;
    meta.boot.clone_from(&settings.boot);
    let mut statements = Statements::prepare(connection).map_err(sqlite)?;
    let now = millis((settings.clock)());
    write(connection, &mut statements, &meta, &queues, now).map_err(sqlite)?;
    // The file itself now says that it is open, and what came from the log is written and synced anew: after a failed sync
    // the log may be in the machine's memory only.
    checkpoint(connection, "TRUNCATE").map_err(sqlite)?;

    let marks = begin_marks(place, &meta, &queues, found.as_ref());
    let marks = Arc::new(marks.map_err(marks_failed)?);
    let has_keys =
        connection.query_row("SELECT EXISTS (SELECT 1 FROM key)", (), |row| row.get(0)).map_err(sqlite)?;
    let mut reserve = Reserve::new(place.reserve(), settings.reserve);
    reserve.fill();
    let opened = Opened { ended, marks: marks.clone(), missing };
    let engine = Engine {
        place: place.clone(),
        identity: Identity::of(place),
        connection,
        statements,
        marks,
        meta,
        queues,
        reserve,
        clock: settings.clock.clone(),
        has_keys,
        sweep_at: 0,
        log: 0,
        claims: 0,
        broken: None,
    };
    Ok((engine, opened))
}

impl<'a> Inventory<'a> {
    fn take(
        place: &'a Place,
        accepts_damage: bool,
        connection: &Connection,
        found: Option<EarlierMarks>,
        boot: &'a str,
    ) -> Result<Self, StoreError> {
        let sqlite = |error| place.failed(&error);
        let meta = Meta::read(connection).map_err(sqlite)?;
        let is_damaged = meta.is_none();
        let meta = match meta {
            Some(meta) => meta,
            None => Meta::fresh(connection, found.as_ref()).map_err(sqlite)?,
        };
        let ended = if !is_damaged && !meta.is_open {
            Ended::Cleanly
        } else if !is_damaged && !boot.is_empty() && meta.boot == boot {
            Ended::ProcessDied
        } else {
            Ended::MachineStopped
        };
        let queues = BTreeMap::new();
        let mut inventory = Self { place, accepts_damage, boot, meta, queues, ended, found, missing: Vec::new() };
        if is_damaged {
            inventory.damaged("the row that describes it is damaged")?;
        }
        inventory.read_queues(connection)?;
        Ok(inventory)
    }

    /// Refuses the store, unless it was told to accept damage.
    fn damaged(&self, what: impl std::fmt::Display) -> Result<(), StoreError> {
        if self.accepts_damage {
            return Ok(());
        }
        let text = format!("{what}. Restore the file and those beside it, or open it with `accept_damage`");
        Err(self.place.error(StoreErrorKind::Damaged, text))
    }

    fn read_queues(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let sqlite = |error| self.place.failed(&error);
        let mut rows = Vec::new();
        let mut select = connection
            .prepare("SELECT id, name, first, next, gone, begun, may_have_begun, sum FROM queue")
            .map_err(sqlite)?;
        let mut found = select.query(()).map_err(sqlite)?;
        while let Some(row) = found.next().map_err(sqlite)? {
            let queue: Result<Option<Queue>> = (|| {
                let number = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
                let (first, next) = (number(2)?, number(3)?);
                let begun = row.get::<_, Option<i64>>(5)?.map(i64::cast_unsigned);
                let may_have_begun = number(6)?;
                let named = Queue::new(QueueId(row.get(0)?), row.get(1)?);
                let mut queue = Queue { first, next, begun, may_have_begun, ..named };
                let gone: Vec<u8> = row.get(4)?;
                let sum: i64 = row.get(7)?;
                // Only whole numbers are decoded: damaged runs might be endless.
                let is_whole = queue.sum_with(&gone) == sum;
                if is_whole {
                    queue.gone = decode_numbers(&gone);
                }
                Ok(Some(queue).filter(|_| is_whole))
            })();
            rows.push((row.get::<_, u32>(0).unwrap_or_default(), queue.unwrap_or_default()));
        }
        drop(found);
        for (id, queue) in rows {
            let id = QueueId(id);
            let queue = match queue {
                Some(queue) => queue,
                None => self.salvage(connection, id)?,
            };
            self.queues.insert(id, queue);
        }
        // Messages of a queue that is not there. One look for each queue, because rows stand together.
        let mut next_row = 0;
        loop {
            let sql = "SELECT id FROM message WHERE id >= ? ORDER BY id LIMIT 1";
            let row: Option<i64> =
                connection.query_row(sql, [next_row], |row| row.get(0)).optional().map_err(sqlite)?;
            let Some(row) = row else { break };
            let id = message_id(row).queue;
            if !self.queues.contains_key(&id) {
                let queue = self.salvage(connection, id)?;
                self.queues.insert(id, queue);
            }
            let Some(after) = row_number(id, HIGHEST_SEQ).checked_add(1) else { break };
            next_row = after;
        }
        self.meta.next_queue = self.queues.keys().map(|id| id.0 + 1).fold(self.meta.next_queue, u32::max);
        Ok(())
    }

    /// Makes up the row of a queue from its messages.
    fn salvage(&self, connection: &Connection, id: QueueId) -> Result<Queue, StoreError> {
        self.damaged(format_args!("the row that describes the queue {} is damaged", id.0))?;
        let sqlite = |error| self.place.failed(&error);
        let range = [row_number(id, 1), row_number(id, HIGHEST_SEQ)];
        let sql = "SELECT min(id), max(id) FROM message WHERE id BETWEEN ? AND ?";
        let ends = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let ends: (Option<i64>, Option<i64>) = connection.query_row(sql, range, ends).map_err(sqlite)?;
        let name = connection.query_row("SELECT name FROM queue WHERE id = ?", [id.0], |row| row.get(0));
        let name = name.unwrap_or_else(|_| format!("queue-{}", id.0));
        let first = ends.0.map_or(1, |row| message_id(row).seq.0);
        let next = ends.1.map_or(first, |row| message_id(row).seq.0 + 1);
        Ok(Queue { first, next, may_have_begun: next - 1, ..Queue::new(id, name) })
    }

    /// Compares the last commit of the file with the one that the marks know.
    fn compare_commits(&mut self) -> Result<(), StoreError> {
        let Some(found) = &self.found else {
            // A file that was closed may have been moved without its marks.
            return match self.ended {
                Ended::ProcessDied => self.damaged("its marks are missing"),
                Ended::Cleanly | Ended::MachineStopped => Ok(()),
            };
        };
        let (Some(store), Some((commit, _))) = (found.store(), found.commit()) else {
            // Marks are not synced, so they may suffer when the machine stops.
            return match self.ended {
                Ended::MachineStopped => {
                    self.found = None;
                    Ok(())
                }
                Ended::Cleanly | Ended::ProcessDied => {
                    self.damaged("its marks are damaged: what was being handled is not known")?;
                    self.found = None;
                    Ok(())
                }
            };
        };
        if store != self.meta.store {
            self.damaged("the marks beside it belong to another store")?;
            self.found = None;
        } else if commit > self.meta.last_commit {
            self.find_missing();
            self.damaged(format_args!(
                "its end is missing: the last commit in the file is {}, but {commit} was durable. {}",
                self.meta.last_commit,
                self.describe_missing()
            ))?;
            self.meta.last_commit = commit;
            self.ended = Ended::MachineStopped;
        }
        Ok(())
    }

    /// Notes the messages that the marks know and the file does not. Their numbers are not given again.
    fn find_missing(&mut self) {
        let appended: Vec<_> = self.found.iter().flat_map(EarlierMarks::appended).collect();
        for (id, next) in appended {
            let known = self.queues.get(&id).map_or(1, |queue| queue.next);
            self.missing.extend((known..next).map(|seq| (id, Seq(seq))));
            if next > known {
                let queue = self.queues.entry(id).or_insert_with(|| Queue::new(id, format!("queue-{}", id.0)));
                queue.skip_to(next);
                self.meta.next_queue = self.meta.next_queue.max(id.0 + 1);
            }
        }
    }

    fn describe_missing(&self) -> String {
        let runs = self.missing.chunk_by(|left, right| left.0 == right.0);
        let described = runs.filter_map(|run| {
            let ((id, first), (_, last)) = (run.first()?, run.last()?);
            let name = self.queues.get(id).map_or_else(|| id.0.to_string(), |queue| queue.name.clone());
            Some(format!("{} to {} of the queue {name}", first.0, last.0))
        });
        let described: Vec<_> = described.collect();
        if described.is_empty() {
            "No message is missing, but some may be handled again".to_owned()
        } else {
            format!("Missing are the messages {}", described.join(", "))
        }
    }

    /// Takes from the marks which messages were handled or under way.
    fn apply_deliveries(&mut self) -> Result<(), StoreError> {
        let Some(found) = &self.found else { return Ok(()) };
        if self.ended == Ended::Cleanly {
            return Ok(());
        }
        let mut is_damaged = false;
        for (id, queue) in &mut self.queues {
            match found.delivery(*id) {
                Ok(Some(delivery)) => {
                    queue.remove_to(delivery.handled);
                    // Where the boot is not known, it is more likely that the process has died than the machine.
                    let is_believed = self.ended == Ended::ProcessDied || self.boot.is_empty();
                    let is_true = is_believed && delivery.epoch == self.meta.epoch;
                    if is_true {
                        queue.may_have_begun = queue.may_have_begun.max(delivery.begun.min(queue.next - 1));
                        if queue.holds(delivery.begun) {
                            queue.begun = Some(delivery.begun);
                        }
                    }
                }
                Ok(None) => {}
                Err(()) => is_damaged = true,
            }
        }
        if is_damaged && self.ended == Ended::ProcessDied {
            self.damaged("its marks are damaged: what was being handled is not known")?;
            self.ended = Ended::MachineStopped;
        }
        Ok(())
    }

    /// If the marks may be older than the messages, any message may have been begun.
    fn note_doubts(&mut self) {
        if self.ended == Ended::MachineStopped {
            self.queues.values_mut().for_each(|queue| queue.may_have_begun = queue.next - 1);
        }
    }
}

/// Writes the result of the recovery, and deletes rows that belong to no queue: handled messages, and damaged row
/// numbers. The keys of handled messages are forgotten later.
fn write(
    connection: &Connection,
    statements: &mut Statements<'_>,
    meta: &Meta,
    queues: &BTreeMap<QueueId, Queue>,
    now: i64,
) -> Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    for queue in queues.values() {
        let handled = (row_number(queue.id, 0), row_number(queue.id, queue.first - 1));
        for key in statements.keys_between(handled.0, handled.1)? {
            statements.forget_later(queue.id.0, &key, now)?;
        }
        statements.delete(handled.0, handled.1)?;
        if queue.next <= HIGHEST_SEQ {
            statements.delete(row_number(queue.id, queue.next), row_number(queue.id, HIGHEST_SEQ))?;
        }
        statements.put_queue(queue)?;
    }
    statements.put_meta(meta)?;
    connection.execute_batch("COMMIT")
}

fn begin_marks(
    place: &Place,
    meta: &Meta,
    queues: &BTreeMap<QueueId, Queue>,
    found: Option<&EarlierMarks>,
) -> std::io::Result<MarksFile> {
    let marks = MarksFile::open(&place.marks(), meta.epoch)?;
    marks.begin(meta.store, meta.last_commit)?;
    for queue in queues.values() {
        marks.grow(queue.id)?;
        if found.is_none_or(|found| found.delivery(queue.id).is_err()) {
            marks.clear(queue.id);
        }
        marks.appended(queue.id, queue.next);
    }
    Ok(marks)
}

/// The boot of this machine, where Linux tells it.
pub(super) fn this_boot() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    boot.trim().to_owned()
}
