//! A group on its way into the file: nothing of it counts before it is durable.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use rusqlite::{Error, Result};
use supervise_core::durable::{Append, Appended, Change, Fate, MessageId, QueueId, Seq};

use super::engine::number_of;
use super::queue::Queue;
use super::rows::{HIGHEST_SEQ, MessageRow, encode_failures, row_number};
use super::statements::{Confined, Statements};

/// How often keys are swept, in milliseconds.
pub(super) const KEYS_ARE_SWEPT: i64 = 60 * 1000;
/// How many bytes a message takes in the log in addition to its body.
const BYTES_OF_A_MESSAGE: u64 = 64;

pub(super) struct Draft<'e, 'c> {
    statements: &'e mut Statements<'c>,
    before: &'e BTreeMap<QueueId, Queue>,
    /// The queues that the group changes. `None`: the group discards the queue.
    queues: BTreeMap<QueueId, Option<Queue>>,
    /// Row numbers of handled messages. They are deleted together, because neighbours are cheap.
    handled: Vec<i64>,
    released: Vec<QueueId>,
    has_keys: bool,
    now: i64,
    bytes: u64,
}

/// What a group has changed.
pub(super) struct Done {
    pub(super) queues: BTreeMap<QueueId, Option<Queue>>,
    pub(super) released: Vec<QueueId>,
    pub(super) has_keys: bool,
    /// About how many bytes it put into the log.
    pub(super) bytes: u64,
}

impl<'e, 'c> Draft<'e, 'c> {
    pub(super) fn new(
        statements: &'e mut Statements<'c>,
        before: &'e BTreeMap<QueueId, Queue>,
        has_keys: bool,
        now: i64,
    ) -> Self {
        let (queues, handled, released) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self { statements, before, queues, handled, released, has_keys, now, bytes: 0 }
    }

    /// Makes one change, and answers an append.
    pub(super) fn change(&mut self, change: &Change) -> Result<Option<Appended>> {
        match change {
            Change::Append(append) => return self.append(append).map(Some),
            Change::Handled(id) => self.handled(*id),
            Change::Charged { id, attempts, crashes, failures } => {
                self.charge(*id, *attempts, *crashes, failures)?;
            }
            Change::Quarantine { id, fate, failures } => self.quarantine(*id, *fate, failures)?,
            Change::Retry(id) => self.retry(*id)?,
            Change::Discard(id) => self.discard(*id)?,
            Change::Rename { from, to } => self.rename(from, to)?,
            Change::DiscardQueue(name) => self.discard_queue(name)?,
            Change::Release(id) => self.release(*id),
        }
        Ok(None)
    }

    fn append(&mut self, append: &Append) -> Result<Appended> {
        let id = append.queue;
        // The runtime claims a queue before it appends, so this is a mistake in it; a message must not vanish.
        let Some(queue) = changed(&mut self.queues, self.before, id) else { return Err(Error::InvalidQuery) };
        if queue.is_used_up() {
            return Ok(Appended::Full);
        }
        if let Some(key) = &append.key {
            if self.has_keys && self.statements.knows(id.0, key, self.now)? {
                return Ok(Appended::Known);
            }
            self.statements.remember(id.0, key, None)?;
            self.has_keys = true;
        }
        let seq = queue.append();
        self.statements.append(row_number(id, seq), append)?;
        self.bytes += append.body.len() as u64 + BYTES_OF_A_MESSAGE;
        Ok(Appended::Stored(Seq(seq)))
    }

    fn handled(&mut self, id: MessageId) {
        if let Some(queue) = changed(&mut self.queues, self.before, id.queue)
            && queue.remove(id.seq.0)
        {
            self.handled.push(row_number(id.queue, id.seq.0));
        }
    }

    fn charge(&mut self, id: MessageId, attempts: u32, crashes: u32, failures: &[String]) -> Result<()> {
        let Some(queue) = changed(&mut self.queues, self.before, id.queue).filter(|queue| queue.holds(id.seq.0))
        else {
            return Ok(());
        };
        queue.charged(id.seq.0);
        if let Some(row) = self.statements.find(row_number(id.queue, id.seq.0))? {
            let failures = encode_failures(failures);
            self.bytes += row.body.len() as u64;
            self.statements.charge(&MessageRow { attempts, crashes, failures, ..row })?;
        }
        Ok(())
    }

    fn quarantine(&mut self, id: MessageId, fate: Fate, failures: &[String]) -> Result<()> {
        let removed = changed(&mut self.queues, self.before, id.queue).is_some_and(|queue| queue.remove(id.seq.0));
        if !removed {
            return Ok(());
        }
        let row = row_number(id.queue, id.seq.0);
        let found = self.statements.find(row)?.unwrap_or_else(|| MessageRow::lost(row));
        self.bytes += found.body.len() as u64;
        let message = MessageRow { failures: encode_failures(failures), ..found };
        self.statements.confine(&Confined { fate: number_of(fate), since: self.now, message })?;
        self.statements.delete(row, row).map(drop)
    }

    fn retry(&mut self, id: MessageId) -> Result<()> {
        // A queue without further numbers has no place for it, so it stays in quarantine.
        let queue = changed(&mut self.queues, self.before, id.queue);
        if queue.is_none_or(|queue| queue.is_used_up()) {
            return Ok(());
        }
        let Some(confined) = self.take_confined(id)? else { return Ok(()) };
        let Some(queue) = changed(&mut self.queues, self.before, id.queue) else { return Ok(()) };
        let row = row_number(id.queue, queue.append());
        self.bytes += confined.message.body.len() as u64 + BYTES_OF_A_MESSAGE;
        let message = MessageRow { id: row, attempts: 0, crashes: 0, failures: None, ..confined.message };
        self.statements.insert(&message)
    }

    fn discard(&mut self, id: MessageId) -> Result<()> {
        if let Some(confined) = self.take_confined(id)?
            && let Some(key) = confined.message.key
        {
            self.forget_later(id.queue, &key)?;
        }
        Ok(())
    }

    fn take_confined(&mut self, id: MessageId) -> Result<Option<Confined>> {
        let row = row_number(id.queue, id.seq.0);
        let mut found = None;
        self.statements.confined(row, row, |confined| {
            found = Some(confined);
            true
        })?;
        if found.is_some() {
            self.statements.release(row, row)?;
        }
        Ok(found)
    }

    fn forget_later(&mut self, queue: QueueId, key: &str) -> Result<()> {
        self.statements.forget_later(queue.0, key, self.now)
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<()> {
        let (Some(from), taken) = (self.by_name(from), self.by_name(to)) else { return Ok(()) };
        if let Some(taken) = taken {
            let (first, last) = all_of(taken);
            let is_used = changed(&mut self.queues, self.before, taken)
                .is_some_and(|queue| queue.is_claimed || queue.waiting() > 0);
            if taken == from || is_used || self.statements.confined_count(first, last)? > 0 {
                return Ok(());
            }
            self.forget_queue(taken)?;
        }
        if let Some(queue) = changed(&mut self.queues, self.before, from) {
            to.clone_into(&mut queue.name);
        }
        Ok(())
    }

    fn discard_queue(&mut self, name: &str) -> Result<()> {
        let Some(id) = self.by_name(name) else { return Ok(()) };
        let (first, last) = all_of(id);
        self.statements.delete(first, last)?;
        self.statements.release(first, last)?;
        match changed(&mut self.queues, self.before, id) {
            // Its actor continues to count from the same number.
            Some(queue) if queue.is_claimed => queue.remove_to(HIGHEST_SEQ),
            _ => self.forget_queue(id)?,
        }
        Ok(())
    }

    /// Forgets a queue without messages.
    fn forget_queue(&mut self, id: QueueId) -> Result<()> {
        self.statements.delete_queue(id.0)?;
        self.queues.insert(id, None);
        Ok(())
    }

    fn release(&mut self, id: QueueId) {
        if let Some(queue) = changed(&mut self.queues, self.before, id) {
            queue.is_claimed = false;
            queue.begun = None;
            self.released.push(id);
        }
    }

    fn by_name(&self, name: &str) -> Option<QueueId> {
        let drafted = self.queues.values().flatten();
        let others = self.before.values().filter(|queue| !self.queues.contains_key(&queue.id));
        drafted.chain(others).find(|queue| queue.name == name).map(|queue| queue.id)
    }

    /// Writes what was gathered.
    pub(super) fn finish(mut self) -> Result<Done> {
        self.handled.sort_unstable();
        for run in std::mem::take(&mut self.handled).chunk_by(|left, right| left + 1 == *right) {
            let (Some(&first), Some(&last)) = (run.first(), run.last()) else { continue };
            if self.has_keys {
                let queue = super::rows::message_id(first).queue;
                for key in self.statements.keys_between(first, last)? {
                    self.forget_later(queue, &key)?;
                }
            }
            self.statements.delete(first, last)?;
        }
        for queue in self.queues.values().flatten() {
            self.statements.put_queue(queue)?;
        }
        Ok(Done { queues: self.queues, released: self.released, has_keys: self.has_keys, bytes: self.bytes })
    }
}

/// The draft of a queue, `None` if there is no such queue.
fn changed<'d>(
    drafts: &'d mut BTreeMap<QueueId, Option<Queue>>,
    before: &BTreeMap<QueueId, Queue>,
    id: QueueId,
) -> Option<&'d mut Queue> {
    match drafts.entry(id) {
        Entry::Occupied(draft) => draft.into_mut().as_mut(),
        Entry::Vacant(place) => place.insert(Some(before.get(&id)?.clone())).as_mut(),
    }
}

/// The first and the last row that a queue may have.
fn all_of(queue: QueueId) -> (i64, i64) {
    (row_number(queue, 0), row_number(queue, HIGHEST_SEQ))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::SystemTime;

    use rusqlite::Connection;

    use super::super::file::TABLES;
    use super::*;

    #[test]
    fn a_queue_whose_numbers_are_used_up_takes_no_more() {
        let connection = Connection::open_in_memory().expect("SQLite works");
        connection.execute_batch(TABLES).expect("the tables can be made");
        let mut statements = Statements::prepare(&connection).expect("the tables are there");
        let id = QueueId(1);
        let next = HIGHEST_SEQ;
        let queue = Queue { first: next, next, ..Queue::new(id, "orders".to_owned()) };
        let before = BTreeMap::from([(id, queue)]);
        let mut draft = Draft::new(&mut statements, &before, false, 0);
        let append = |key: &str| {
            let (body, at) = (Arc::from(*b"x"), SystemTime::UNIX_EPOCH);
            Change::Append(Append {
                queue: id,
                kind: "order".into(),
                body,
                accepted_at: at,
                key: Some(key.to_owned()),
            })
        };
        let answers = ["a", "b", "b"].map(|key| draft.change(&append(key)).expect("it can be written"));
        assert_eq!(answers, [Appended::Stored(Seq(HIGHEST_SEQ)), Appended::Full, Appended::Full].map(Some));
        let last = MessageId { queue: id, seq: Seq(HIGHEST_SEQ) };
        let quarantine = Change::Quarantine { id: last, fate: Fate::Failed, failures: Vec::new() };
        for change in [quarantine, Change::Retry(last)] {
            draft.change(&change).expect("it can be written");
        }
        draft.finish().expect("it can be written");
        let row = row_number(id, HIGHEST_SEQ);
        assert_eq!(statements.confined_count(row, row), Ok(1), "a retry leaves it in quarantine");
    }
}
