//! The queues, and their names.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hasher};
use std::time::{Instant, SystemTime};

use async_nats::datetime::DateTime;
use async_nats::jetstream::stream::{self, Stream};
use bytes::Bytes;
use supervise_core::durable::lease::Sighting;
use supervise_core::durable::{QueueId, QueueRow, Seq, StoreError, StoreErrorKind};

use super::handled::{Kept, Waiting};
use super::lease::Lease;
use super::open::{Open, is_gone, open_stream};
use super::read::{found, last_messages, last_number, subjects};
use super::record::{self, Charge};
use super::rename::of_fence;
use super::shared::Joined;
use super::tally::{Numbers, Tally};
use super::{KEYS_ARE_KEPT, Result, broken};

pub(super) struct Queue {
    pub(super) name: String,
    pub(super) stream: Stream<()>,
    pub(super) owned: Option<Owned>,
    /// The queue is shared, and this process is one of its owners.
    pub(super) joined: Option<Joined>,
    pub(super) kept: Kept,
}

impl Queue {
    /// What is known about messages that have failed, if this process owns the queue.
    pub(super) fn charges(&mut self) -> Option<&mut HashMap<u64, Charge>> {
        match (&mut self.owned, &mut self.joined) {
            (Some(owned), _) => Some(&mut owned.charges),
            (None, Some(joined)) => Some(&mut joined.charges),
            (None, None) => None,
        }
    }
}

/// What the owner of a queue knows.
pub(super) struct Owned {
    pub(super) lease: Lease,
    /// The number of its name in the owner's record.
    pub(super) record: u64,
    pub(super) tally: Tally,
    pub(super) charges: HashMap<u64, Charge>,
}

/// What this process knows of a queue, even if the server has forgotten the queue.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    pub(super) name: String,
    /// The last number that the server has assigned.
    pub(super) last: u64,
    /// The last number of its stream when this process has last looked at the stream. What has left the queue has no greater number.
    pub(super) looked: u64,
    /// The stream at that time.
    pub(super) sight: Sight,
    /// The first message that this process has put into the stream since then: its number, and what its content is known by.
    pub(super) sent: Option<(u64, u64)>,
    /// The lease of the process that owns the queue.
    pub(super) holder: Option<Sighting<Instant>>,
    /// The same of each process that shares the queue.
    pub(super) members: BTreeMap<String, Sighting<Instant>>,
    /// What has left the queue while this process owned it: everything before a number, and some after it.
    pub(super) left: (u64, Numbers),
    /// What has left the queue while this process shared it, and the record of the queue may still have.
    pub(super) ended: BTreeSet<Seq>,
    /// Accepted messages that somebody has deleted, and of which nobody has been told.
    pub(super) lost: Vec<u64>,
}

/// A stream when it was looked at.
pub(super) struct Looked {
    state: stream::State,
    /// When it was created, in nanoseconds since 1970.
    pub(super) created: u64,
    /// A rename has made it accept no more messages.
    pub(super) is_fenced: bool,
    /// Why it cannot be used.
    pub(super) unfit: Option<&'static str>,
}

impl Looked {
    fn at(info: &stream::Info, subject: &str, fence: &str) -> Self {
        let config = &info.config;
        let is_fenced = config.subjects == [fence];
        let has_subject = config.subjects.iter().any(|one| one == subject || one.contains(['*', '>']));
        let reasons = [
            (config.max_messages_per_subject > 0, "it has a `max_msgs_per_subject`"),
            (!has_subject && !is_fenced, "its `subjects` are others"),
            (config.duplicate_window < KEYS_ARE_KEPT, "its `duplicate_window` is shorter than 10 minutes"),
        ];
        let unfit = unfit(config).or_else(|| first_of(reasons));
        Self { state: info.state.clone(), created: nanos(info.created), is_fenced, unfit }
    }

    fn sight(&self) -> Sight {
        Sight { created: self.created, newest: nanos(self.last_timestamp) }
    }
}

/// How far the names of queues were read, so that the next reader brings only those that have changed.
#[derive(Default)]
pub(super) struct NamesRead {
    /// The server, and when the stream of the names was created. If one of them is another, somebody may have made the stream anew.
    from: (String, u64),
    /// The last number of that stream.
    last: u64,
    /// The highest number of a queue.
    highest: Option<u32>,
}

/// What tells the messages of a stream from those of one that was made anew under its name. Times are the server's, in nanoseconds since 1970.
///
/// Two streams of one name were created at different times. But one stream may also have two times: if somebody configures it anew,
/// nats-server 2.9.10 says from its next start on that the stream was created when the server was started before. Then the time of the
/// last message decides. In another stream, the message with its number has another time, also if somebody has set the server's clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sight {
    /// When the stream was created. 0 if that is not known.
    pub(super) created: u64,
    /// When the last message arrived that the stream had.
    pub(super) newest: u64,
}

impl Sight {
    /// Whether the stream is certainly the one that is there now, and that was `created` then.
    pub(super) fn is_of(self, created: u64) -> bool {
        self.created == 0 || created == 0 || self.created == created
    }

    /// Whether a message is the one that was the last. It has the same number, and it `arrived` then. If nobody knows when the last one had
    /// arrived, the time at which the stream was `created` decides.
    pub(super) fn had_last(self, created: u64, arrived: DateTime) -> bool {
        !self.is_not_last(arrived) && (self.newest > 0 || self.is_of(created))
    }

    /// Whether a message with the number of the last one, which `arrived` then, is certainly another one.
    pub(super) fn is_not_last(self, arrived: DateTime) -> bool {
        self.newest > 0 && nanos(arrived) != self.newest
    }
}

/// Why a stream with this configuration cannot be used: it may lose what it has acknowledged, or messages cannot leave it.
pub(super) fn unfit(config: &stream::Config) -> Option<&'static str> {
    let has_limit = config.max_messages > 0 || config.max_bytes > 0;
    let reasons = [
        (config.retention != stream::RetentionPolicy::Limits, "its `retention` is not `limits`"),
        (config.storage != stream::StorageType::File, "its `storage` is not `file`"),
        (!config.max_age.is_zero(), "it has a `max_age`"),
        (has_limit && config.discard == stream::DiscardPolicy::Old, "it has a limit, and `discard` is `old`"),
        (config.no_ack, "it has `no_ack`"),
        (config.sealed || config.deny_delete, "it has `sealed` or `deny_delete`"),
    ];
    first_of(reasons)
}

pub(super) fn first_of<const N: usize>(reasons: [(bool, &'static str); N]) -> Option<&'static str> {
    reasons.into_iter().find_map(|(holds, why)| holds.then_some(why))
}

/// A number by which the content of a message is known, in this process.
pub(super) fn content_of(payload: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(payload);
    hasher.finish()
}

fn nanos(time: DateTime) -> u64 {
    let since = SystemTime::from(time).duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or_default()
}

impl std::ops::Deref for Looked {
    type Target = stream::State;

    fn deref(&self) -> &stream::State {
        &self.state
    }
}

/// How many lost messages are named at most.
pub(super) const NAMED: usize = 1000;

/// Where the messages of a queue are published.
pub(super) fn of_queue(id: QueueId) -> String {
    format!("q.{}", id.0)
}

/// Where the name of a queue stands.
pub(super) fn of_name(id: QueueId) -> String {
    format!("state.queue.{}", id.0)
}

/// Where the failures of a message stand.
pub(super) fn of_charge(id: QueueId, number: u64) -> String {
    format!("state.charge.{}.{number}", id.0)
}

/// The stream of a queue.
pub(super) fn stream_name(system: &str, id: QueueId) -> String {
    format!("SV_{system}_Q{}", id.0)
}

impl Open {
    /// Learns which queues there are, and returns their highest number. Other nodes create queues too.
    pub(super) async fn read_names(&mut self) -> Result<Option<u32>> {
        let info = self.state.get_info().await.map_err(broken)?;
        let from = (self.client.server_info().server_id, nanos(info.created));
        let last = info.state.last_sequence;
        let has_read = if self.names.from == from && self.names.last <= last { self.names.last } else { 0 };
        if has_read < last {
            let names = last_messages(&self.state, self.subject("state.queue.*"), has_read + 1).await?;
            for (subject, payload, _) in names {
                let Some(number) = last_number(&subject).and_then(|number| u32::try_from(number).ok()) else {
                    continue;
                };
                self.names.highest = self.names.highest.max(Some(number));
                self.named(QueueId(number), &payload).await?;
            }
        }
        (self.names.from, self.names.last) = (from, last);
        Ok(self.names.highest)
    }

    /// Notes that a queue has this name.
    async fn named(&mut self, id: QueueId, name: &[u8]) -> Result<()> {
        let name = String::from_utf8_lossy(name).into_owned();
        match self.queues.get_mut(&id) {
            // A discarded queue has no name, but its number stays in use.
            _ if name.is_empty() => {
                self.queues.remove(&id);
                self.known.remove(&id);
            }
            Some(queue) => queue.name = name,
            None => {
                let stream = self.context.get_stream_no_info(self.stream_name(id)).await.map_err(broken)?;
                self.queues.insert(id, Queue { name, stream, owned: None, joined: None, kept: Kept::default() });
            }
        }
        Ok(())
    }

    pub(super) fn stream_name(&self, id: QueueId) -> String {
        stream_name(&self.system, id)
    }

    /// The state of a queue's stream. If the server does not have the first message that it counts, this makes it count from the next one.
    ///
    /// When messages have left a queue before their turn, and nats-server 2.9.10 is killed before the next one arrives, it may count some of them
    /// again although it has deleted them. If one of them becomes the first of its stream, the server does not find those behind it any more.
    pub(super) async fn stream_state(&self, id: QueueId) -> Result<Looked> {
        let (stream, mut looked) = self.look(id).await?;
        while looked.messages > 0
            // The next message to arrive is not deleted.
            && looked.first_sequence <= looked.last_sequence
            && nanos(looked.first_timestamp) == 0
            && found(&stream, Seq(looked.first_sequence)).await?.is_none()
        {
            // This deletes no message that the server has. But nats-server 2.9.10 rewrites a file of more than 2 MB in its place if more than half of
            // it is deleted, and loses the rest if it is killed meanwhile. It does not step over the message for a purge with a filter, nor for a
            // deletion of that message.
            stream.purge().sequence(looked.first_sequence + 1).await.map_err(broken)?;
            let (_, now) = self.look(id).await?;
            let is_better = now.first_sequence > looked.first_sequence;
            looked = now;
            if !is_better {
                break;
            }
        }
        Ok(looked)
    }

    pub(super) async fn look(&self, id: QueueId) -> Result<(Stream, Looked)> {
        let name = self.stream_name(id);
        match self.context.get_stream(&name).await {
            Ok(stream) => {
                let looked =
                    Looked::at(stream.cached_info(), &self.subject(&of_queue(id)), &self.subject(&of_fence(id)));
                Ok((stream, looked))
            }
            Err(error) if is_gone(&error) => {
                let text = format!(
                    "the stream {name} is gone. If somebody is discarding its queue, or giving the queue's name to another one, wait until that is done, and repeat it if it was interrupted. Otherwise all messages of the queue are lost: restore the stream, or discard the queue"
                );
                Err(StoreError::new(StoreErrorKind::Damaged, text))
            }
            Err(error) => Err(broken(error)),
        }
    }

    /// Makes the stream of a new queue, unless there is one. Returns whether the stream has ever had messages.
    async fn make_stream(&self, id: QueueId) -> Result<bool> {
        let config = stream::Config {
            name: self.stream_name(id),
            subjects: vec![self.subject(&of_queue(id))],
            duplicate_window: KEYS_ARE_KEPT,
            discard: stream::DiscardPolicy::New,
            num_replicas: self.settings.replicas,
            ..stream::Config::default()
        };
        let stream = open_stream(&self.context, config).await?;
        Ok(stream.cached_info().state.last_sequence > 0)
    }

    pub(super) fn by_name(&self, name: &str) -> Option<QueueId> {
        self.queues.iter().find(|(_, queue)| queue.name == name).map(|(id, _)| *id)
    }

    /// The queue of this name, if this process knows it and nobody has renamed or discarded it.
    async fn still_named(&self, name: &str) -> Result<Option<QueueId>> {
        let Some(id) = self.by_name(name) else { return Ok(None) };
        let now = self.last(&self.state, &of_name(id)).await?;
        Ok(now.is_some_and(|(now, _)| now == name.as_bytes()).then_some(id))
    }

    /// The queue of this name. It is created if there is none.
    pub(super) async fn queue_named(&mut self, name: &str) -> Result<QueueId> {
        if name.is_empty() {
            // The record of a discarded queue has an empty name.
            let text =
                "the message store on NATS cannot have a queue whose name is empty: name it with `Props::queue`";
            return Err(StoreError::new(StoreErrorKind::Refused, text));
        }
        self.check_known(name).await?;
        if let Some(id) = self.still_named(name).await? {
            return Ok(id);
        }
        loop {
            let highest = self.read_names().await?;
            if let Some(id) = self.by_name(name) {
                return Ok(id);
            }
            let next = self.next_number(highest)?;
            if self.make_stream(next).await? {
                self.check_unnamed(next).await?;
            }
            // The first node that takes the number makes the queue.
            let text = Bytes::copy_from_slice(name.as_bytes());
            if self.put_after(&of_name(next), text, 0).await?.is_some() {
                self.read_names().await?;
                // Another process may have given the name to an older queue in the meantime. A process that reads both takes
                // the older one.
                let is_older = self.by_name(name).is_some_and(|id| id != next);
                if is_older && !self.discard_unused(next).await? {
                    return Ok(next);
                }
            }
        }
    }

    /// The number of a new queue.
    fn next_number(&self, highest: Option<u32>) -> Result<QueueId> {
        let next = highest.map_or(Some(self.base), |highest| highest.checked_add(1));
        next.map(QueueId).ok_or_else(|| {
            let text = format!(
                "the system {} can have no new queue, because the stream SV_{}_STATE has the name of a queue with the highest number: delete the message of the subject {}",
                self.system,
                self.system,
                self.subject(&of_name(QueueId(u32::MAX)))
            );
            StoreError::new(StoreErrorKind::Refused, text)
        })
    }

    /// The stream of a new queue has had messages. The error if nobody knows the name of their queue.
    async fn check_unnamed(&self, id: QueueId) -> Result<()> {
        if self.last(&self.state, &of_name(id)).await?.is_some() {
            // Another process was faster.
            return Ok(());
        }
        let name = self.stream_name(id);
        let text = format!(
            "the stream {name} has had messages, and the stream SV_{}_STATE does not know the name of their queue: restore the newest SV_{}_STATE, or delete {name} to go on without them",
            self.system, self.system
        );
        Err(StoreError::new(StoreErrorKind::Damaged, text))
    }

    /// The error if the server no longer knows a queue of this name.
    async fn check_known(&mut self, name: &str) -> Result<()> {
        let known: Vec<QueueId> =
            self.known.iter().filter(|(_, known)| known.name == name).map(|(id, _)| *id).collect();
        for id in known {
            let Some((now, _)) = self.last(&self.state, &of_name(id)).await? else {
                let text = format!(
                    "the server has lost the queue {name}, with all messages that it had: restore its disk, or end this process to go on without them"
                );
                return Err(StoreError::new(StoreErrorKind::Damaged, text));
            };
            // Somebody has discarded the queue, or renamed it. Or the server's disk is an older one, and another queue has got the number.
            if !now.is_empty() && now != name.as_bytes() {
                self.read_names().await?;
                match self.stream_state(id).await {
                    Ok(state) => self.check_complete(id, &state).await?,
                    // The claim of the queue that has the number says so.
                    Err(error) if error.kind == StoreErrorKind::Damaged => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Notes that the server has assigned a number to a message with this content. Returns an error if the server has assigned that number before.
    pub(super) fn note_assigned(&mut self, id: QueueId, seq: u64, content: u64) -> Result<()> {
        let Some(queue) = self.queues.get(&id) else { return Ok(()) };
        let known = self.known.entry(id).or_default();
        if seq <= known.last {
            return Err(broken(format!(
                "the server's disk is older than what it has acknowledged: it assigns the number {seq} in the queue {} again",
                known.name
            )));
        }
        known.name.clone_from(&queue.name);
        known.last = seq;
        known.sent.get_or_insert((seq, content));
        Ok(())
    }

    /// The error if somebody has configured the stream of a queue so that it cannot be used.
    pub(super) fn check_fit(&self, id: QueueId, state: &Looked) -> Result<()> {
        let text = match state.unfit {
            Some(why) => {
                format!("the stream {} cannot be used, because {why}: configure it anew", self.stream_name(id))
            }
            None if state.is_fenced => {
                let name = self.queues.get(&id).map_or("", |queue| queue.name.as_str());
                format!(
                    "the queue {name} accepts no messages, because a rename is giving its name to another queue. If that rename was interrupted, repeat it, or discard the queue; if the queue has messages, start its actor"
                )
            }
            None => return Ok(()),
        };
        Err(StoreError::new(StoreErrorKind::Refused, text))
    }

    /// The same for a process that has the queue already. The store is opened again, and the claim says why the queue cannot be used.
    pub(super) fn check_still_fit(&self, id: QueueId, state: &Looked) -> Result<()> {
        self.check_fit(id, state).map_err(|error| broken(error.text))
    }

    /// The error if a queue has fewer messages than the server has acknowledged.
    pub(super) async fn check_complete(&mut self, id: QueueId, state: &Looked) -> Result<()> {
        self.check_same(id, state).await?;
        let Some(queue) = self.queues.get(&id) else { return Ok(()) };
        let known = self.known.entry(id).or_default();
        if state.last_sequence < known.last {
            let text = format!(
                "the server has an older disk: the queue {} had the messages {} to {}, which it has lost. Restore its disk, or end this process to go on without them",
                known.name,
                state.last_sequence + 1,
                known.last
            );
            return Err(StoreError::new(StoreErrorKind::Damaged, text));
        }
        // If the queue has lost messages, it keeps the name that it had.
        known.name.clone_from(&queue.name);
        known.last = state.last_sequence;
        known.looked = state.last_sequence;
        known.sight = state.sight();
        known.sent = None;
        Ok(())
    }

    /// The error if somebody has made the stream of a queue anew, or has restored an older one. Its messages have the numbers of others, which
    /// this process may have handled.
    async fn check_same(&self, id: QueueId, state: &Looked) -> Result<()> {
        let (Some(known), Some(queue)) = (self.known.get(&id), self.queues.get(&id)) else { return Ok(()) };
        if state.messages == 0 || (state.last_sequence == known.looked && state.sight() == known.sight) {
            return Ok(());
        }
        let Sight { newest, .. } = known.sight;
        let has_what_was_sent = match known.sent {
            Some((number, content)) if number >= state.first_sequence => {
                // If it is not there, it has left the queue.
                found(&queue.stream, Seq(number)).await?.is_none_or(|sent| content_of(&sent.payload) == content)
            }
            _ => true,
        };
        let has_what_was_there = if state.first_sequence > known.looked {
            true
        } else {
            match found(&queue.stream, Seq(known.looked)).await? {
                Some(last) => !known.sight.is_not_last(last.time),
                // It has left the queue, and an earlier message has not. If it had left before the server was started, nobody knows when it
                // arrived.
                None => known.sight.is_of(state.created) || newest == 0 || nanos(state.first_timestamp) <= newest,
            }
        };
        if has_what_was_sent && has_what_was_there {
            return Ok(());
        }
        let text = format!(
            "somebody has deleted the stream of the queue {} with messages that it had, and made it anew or restored an older one. Restore the newest one, or end this process to go on without them",
            known.name
        );
        Err(StoreError::new(StoreErrorKind::Damaged, text))
    }

    /// The error if somebody has deleted messages of a queue that this process owns.
    pub(super) async fn check_untouched(&mut self, id: QueueId) -> Result<()> {
        let state = self.stream_state(id).await?;
        self.check_still_fit(id, &state)?;
        self.check_complete(id, &state).await?;
        let now = self.waiting_in(id, &state).await?;
        let Some(owned) = self.queues.get_mut(&id).and_then(|queue| queue.owned.as_mut()) else { return Ok(()) };
        match owned.tally.lost(now) {
            0 => {
                owned.tally.count(now);
                Ok(())
            }
            lost => {
                let numbers = owned.tally.missing(now).take(NAMED).collect();
                Err(self.note_lost(id, lost, numbers))
            }
        }
    }

    /// Somebody has deleted accepted messages. The event of rule 27.14 names these numbers when the store is open again.
    pub(super) fn note_lost(&mut self, id: QueueId, lost: u64, numbers: Vec<u64>) -> StoreError {
        let known = self.known.entry(id).or_default();
        known.lost = numbers;
        let name = self.queues.get(&id).map_or("", |queue| queue.name.as_str());
        broken(format!("somebody has deleted {lost} accepted messages of the queue {name} from its stream"))
    }

    /// Whoever asks for one queue sends to it, so this fails as the claim of the queue does.
    pub(super) async fn row_named(&mut self, name: &str) -> Result<Option<QueueRow>> {
        let known = self.still_named(name).await?;
        if known.is_none() {
            self.read_names().await?;
        }
        let Some(id) = known.or_else(|| self.by_name(name)) else { return Ok(None) };
        let state = self.stream_state(id).await?;
        self.check_fit(id, &state)?;
        self.check_complete(id, &state).await?;
        self.row(id).await
    }

    pub(super) async fn row(&mut self, id: QueueId) -> Result<Option<QueueRow>> {
        self.read_kept(id).await?;
        let Some(queue) = self.queues.get(&id) else { return Ok(None) };
        let waiting = match self.stream_state(id).await {
            Ok(state) => self.waiting_in(id, &state).await?,
            // Its claim says so.
            Err(error) if error.kind == StoreErrorKind::Damaged => Waiting::default(),
            Err(error) => return Err(error),
        };
        let oldest = match queue.stream.get_raw_message(waiting.first.0).await {
            Ok(found) => {
                let message = record::decode(0, &found.payload, Charge::default());
                Some(if message.is_damaged { found.time.into() } else { message.accepted_at })
            }
            Err(_) => None,
        };
        let quarantined = self.confined_subjects(&format!("quarantine.{}.*", id.0)).await?.len() as u64;
        let holder = self.last(&self.lease, &format!("lease.{}", id.0)).await?;
        let elsewhere = holder.filter(|(owner, _)| !owner.is_empty() && owner != self.settings.token.as_bytes());
        let owner = match (elsewhere, self.sharers(id).await?) {
            (Some((owner, _)), _) => Some(format!("the process {}", String::from_utf8_lossy(&owner))),
            (None, 0) => None,
            (None, 1) => Some("another process, which shares it".to_owned()),
            (None, sharers) => Some(format!("{sharers} other processes, which share it")),
        };
        Ok(Some(QueueRow {
            queue: id,
            name: queue.name.clone(),
            owner,
            waiting: waiting.messages,
            oldest,
            quarantined,
        }))
    }

    /// The subjects of messages in quarantine.
    pub(super) async fn confined_subjects(&self, of: &str) -> Result<Vec<String>> {
        subjects(&self.quarantine, self.subject(of)).await
    }

    pub(super) async fn rows(&mut self) -> Result<Vec<QueueRow>> {
        self.read_names().await?;
        let mut rows = Vec::new();
        let queues: Vec<QueueId> = self.queues.keys().copied().collect();
        for id in queues {
            rows.extend(self.row(id).await?);
        }
        Ok(rows)
    }
}
