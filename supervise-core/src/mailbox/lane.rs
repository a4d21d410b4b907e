//! The messages and controls that wait in a mailbox, in chunks.
//!
//! ```text
//!   full   [m1 .. m1024]  [m1025 .. m2048]      the cell takes the first chunk, as a whole
//!   last   [m2049 ..]                           a push puts its message here
//! ```
//!
//! A push copies no waiting message, however many wait, and handling messages frees their memory chunk by chunk. Most
//! actors never have more than one chunk, which the cell exchanges for its empty one.

use std::collections::VecDeque;
use std::fmt;

use super::chunk::{CHUNK, Chunk, Entry};
use super::kind::MailboxKind;
use super::senders::Bound;

/// The user lane of a mailbox.
pub(crate) struct Lane<M, C> {
    /// Not empty while there are chunks before it.
    last: Chunk<M, C>,
    /// The state that few lanes need, in one box, so that the other lanes only pay for a pointer.
    rare: Option<Box<Rare<M, C>>>,
}

struct Rare<M, C> {
    /// The chunks before the last one. Each has a message.
    full: VecDeque<Chunk<M, C>>,
    /// How many messages are in them.
    messages: usize,
    bound: Option<Box<Bound>>,
}

impl<M, C> Lane<M, C> {
    #[inline]
    pub(crate) fn new() -> Self {
        Self { last: Chunk::new(), rare: None }
    }

    pub(super) fn of_kind(kind: MailboxKind) -> Self {
        let rare = match kind {
            MailboxKind::Unbounded => None,
            MailboxKind::Bounded { capacity, overflow } => {
                Some(Box::new(Rare::with_bound(Box::new(Bound::new(capacity, overflow)))))
            }
        };
        Self { rare, ..Self::new() }
    }

    pub(super) fn bound(&self) -> Option<&Bound> {
        self.rare.as_ref()?.bound.as_deref()
    }

    pub(super) fn bound_mut(&mut self) -> Option<&mut Bound> {
        self.rare.as_mut()?.bound.as_deref_mut()
    }

    #[inline]
    pub(super) fn take_bound(&mut self) -> Option<Box<Bound>> {
        if self.is_plain() { None } else { self.take_bound_out() }
    }

    #[cold]
    #[inline(never)]
    fn take_bound_out(&mut self) -> Option<Box<Bound>> {
        let bound = self.rare.as_mut()?.bound.take();
        self.tidy();
        bound
    }

    /// Gives an empty lane its bound.
    pub(super) fn give_bound(&mut self, bound: Option<Box<Bound>>) {
        self.rare = bound.map(|bound| Box::new(Rare::with_bound(bound)));
    }

    /// How many messages there are.
    pub(crate) fn messages(&self) -> usize {
        self.last.messages() + self.rare.as_ref().map_or(0, |rare| rare.messages)
    }

    /// How many controls there are.
    #[cfg(all(test, not(supervise_loom)))]
    pub(super) fn controls(&self) -> usize {
        let full = self.rare.iter().flat_map(|rare| &rare.full);
        full.chain([&self.last]).map(Chunk::controls).sum()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    #[inline]
    pub(super) fn push(&mut self, message: M) {
        if !self.last.has_room() {
            self.make_room();
        }
        self.last.push_within(message);
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        if self.last.messages() < CHUNK {
            return self.last.grow();
        }
        self.begin_chunk();
    }

    #[cold]
    #[inline(never)]
    fn begin_chunk(&mut self) {
        let rare = self.rare.get_or_insert_with(Box::default);
        rare.messages += self.last.messages();
        rare.full.push_back(std::mem::replace(&mut self.last, Chunk::with_room()));
    }

    /// The control comes into the same chunk as the message that is pushed next: it may belong to that message.
    #[cold]
    #[inline(never)]
    pub(super) fn push_control(&mut self, control: C) {
        if self.last.messages() >= CHUNK {
            self.begin_chunk();
        }
        self.last.push_control(control);
    }

    /// Puts messages before all others and before all controls.
    pub(super) fn put_back(&mut self, messages: VecDeque<M>) {
        if self.has_one_chunk() && self.messages() + messages.len() <= CHUNK {
            return messages.into_iter().rev().for_each(|message| self.last.push_front(message));
        }
        let rare = self.rare.get_or_insert_with(Box::default);
        rare.messages += messages.len();
        for message in messages.into_iter().rev() {
            if rare.full.front().is_none_or(|first| first.messages() >= CHUNK) {
                rare.full.push_front(Chunk::with_room());
            }
            if let Some(first) = rare.full.front_mut() {
                first.push_front(message);
            }
        }
        self.tidy();
    }

    /// Marks the message that was pushed last.
    pub(super) fn mark_last(&mut self, weight: u32) {
        self.last.mark_last(weight);
    }

    /// Whether there is one chunk, and no bound.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.rare.is_none()
    }

    pub(super) fn has_one_chunk(&self) -> bool {
        self.rare.as_ref().is_none_or(|rare| rare.full.is_empty())
    }

    /// Exchanges the last chunk for `chunk`, which is empty.
    #[inline]
    pub(super) fn swap(&mut self, chunk: &mut Chunk<M, C>) {
        self.last.swap(chunk);
    }

    /// Takes the first of several chunks.
    pub(super) fn take_full(&mut self) -> Option<Chunk<M, C>> {
        let rare = self.rare.as_mut()?;
        let mut first = rare.full.pop_front()?;
        rare.messages -= first.messages();
        self.tidy();
        let mut taken = Chunk::new();
        first.swap(&mut taken);
        Some(taken)
    }

    /// Takes the first message, even if controls are before it.
    pub(super) fn pop_message(&mut self) -> Option<M> {
        let Some(rare) = &mut self.rare else { return self.last.pop_message() };
        let message = match rare.full.front_mut() {
            Some(first) => {
                rare.messages -= 1;
                first.pop_message()
            }
            None => self.last.pop_message(),
        };
        self.tidy();
        message
    }

    /// Takes the first entry.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Entry<M, C>> {
        if self.is_plain() { self.last.pop() } else { self.pop_from_first() }
    }

    #[cold]
    #[inline(never)]
    fn pop_from_first(&mut self) -> Option<Entry<M, C>> {
        let rare = self.rare.as_mut()?;
        let entry = match rare.full.front_mut() {
            Some(first) => {
                let entry = first.pop();
                rare.messages -= usize::from(matches!(entry, Some(Entry::Message(_))));
                entry
            }
            None => self.last.pop(),
        };
        self.tidy();
        entry
    }

    /// Drops the controls for which `gone` returns `true`.
    pub(super) fn forget_controls(&mut self, gone: impl Fn(&C) -> bool) {
        self.rare.iter_mut().flat_map(|rare| &mut rare.full).for_each(|chunk| chunk.forget_controls(&gone));
        self.last.forget_controls(gone);
        self.tidy();
    }

    /// Drops first chunks that have no messages. If the last chunk is empty, the chunk before it becomes the last
    /// one.
    fn tidy(&mut self) {
        let Some(rare) = &mut self.rare else { return };
        while rare.full.front().is_some_and(|first| first.messages() == 0)
            && let Some(first) = rare.full.pop_front()
        {
            rare.full.front_mut().unwrap_or(&mut self.last).put_controls_back(first);
        }
        while self.last.is_empty()
            && let Some(last) = rare.full.pop_back()
        {
            rare.messages -= last.messages();
            self.last = last;
        }
        if rare.full.is_empty() && rare.bound.is_none() {
            self.rare = None;
        }
    }
}

impl<M, C> Rare<M, C> {
    #[cold]
    fn with_bound(bound: Box<Bound>) -> Self {
        Self { bound: Some(bound), ..Self::default() }
    }
}

impl<M, C> Default for Rare<M, C> {
    fn default() -> Self {
        Self { full: VecDeque::new(), messages: 0, bound: None }
    }
}

impl<M, C> fmt::Debug for Lane<M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane").field("messages", &self.messages()).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(supervise_loom)))]
mod tests {
    use super::super::Overflow;
    use super::*;

    /// Messages are numbers, controls letters.
    type Plain = Lane<usize, char>;

    /// Counts up from `first`. A control stands behind each message whose number can be divided by 500.
    fn push(lane: &mut Plain, numbers: std::ops::Range<usize>) {
        for number in numbers {
            lane.push(number);
            if number % 500 == 0 {
                lane.push_control('c');
            }
        }
    }

    /// Takes everything, in chunks. Returns the messages, and behind which messages the controls stood.
    fn taken(lane: &mut Plain) -> (Vec<usize>, Vec<usize>) {
        let (mut messages, mut controls) = (Vec::new(), Vec::new());
        while !lane.is_empty() {
            let mut chunk = next(lane);
            assert!(chunk.messages() <= CHUNK);
            while let Some(entry) = chunk.pop() {
                match entry {
                    Entry::Message(message) => messages.push(message),
                    Entry::Control(_) => controls.push(*messages.last().expect("a message is before it")),
                }
            }
        }
        assert_eq!(lane.messages(), 0);
        (messages, controls)
    }

    fn next(lane: &mut Plain) -> Chunk<usize, char> {
        lane.take_full().unwrap_or_else(|| {
            let mut chunk = Chunk::new();
            lane.swap(&mut chunk);
            chunk
        })
    }

    fn by_500(numbers: std::ops::Range<usize>) -> Vec<usize> {
        numbers.filter(|number| number % 500 == 0).collect()
    }

    #[test]
    fn messages_and_controls_keep_their_order_over_many_chunks() {
        for count in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 10_000] {
            let mut lane = Plain::new();
            push(&mut lane, 0..count);
            assert_eq!(lane.messages(), count);
            assert_eq!(taken(&mut lane), ((0..count).collect(), by_500(0..count)));
        }
    }

    #[test]
    fn what_comes_while_chunks_are_taken_comes_last() {
        let mut lane = Plain::new();
        push(&mut lane, 0..3000);
        assert_eq!((next(&mut lane).messages(), lane.messages()), (CHUNK, 3000 - CHUNK));
        push(&mut lane, 3000..5000);
        assert_eq!(taken(&mut lane), ((CHUNK..5000).collect(), by_500(CHUNK..5000)));
    }

    #[test]
    fn entries_come_out_one_by_one_too() {
        let mut lane = Plain::new();
        push(&mut lane, 1..5001);
        for number in 1..=5000 {
            assert!(matches!(lane.pop(), Some(Entry::Message(message)) if message == number));
            if number % 500 == 0 {
                assert!(matches!(lane.pop(), Some(Entry::Control('c'))));
            }
            assert_eq!(lane.messages(), 5000 - number);
        }
        assert!(lane.pop().is_none() && lane.is_empty());
    }

    /// The controls stay, also those in chunks whose messages are all displaced.
    #[test]
    fn the_oldest_message_is_displaced_over_controls_and_chunks() {
        let mut lane = Plain::new();
        push(&mut lane, 0..5000);
        for number in 0..5000 {
            assert_eq!(lane.pop_message(), Some(number));
        }
        assert_eq!((lane.pop_message(), lane.messages(), lane.controls()), (None, 0, 10));
        assert!(!lane.is_empty());
        lane.forget_controls(|_| true);
        assert!(lane.is_empty() && lane.pop().is_none());
    }

    #[test]
    fn messages_that_are_put_back_come_first() {
        for waiting in [0, 5, 3000] {
            let mut lane = Plain::new();
            push(&mut lane, 4000..4000 + waiting);
            lane.put_back((20..4000).collect());
            lane.put_back((0..20).collect());
            assert_eq!(lane.messages(), 4000 + waiting);
            assert_eq!(taken(&mut lane), ((0..4000 + waiting).collect(), by_500(4000..4000 + waiting)));
        }
    }

    /// Where messages are taken one by one, the chunks before the last one may hold few.
    #[test]
    fn messages_that_are_put_back_come_first_after_single_ones_were_taken() {
        for popped in [0, 1, 500, CHUNK - 1, CHUNK, CHUNK + 1] {
            for back in [1, 20, CHUNK - 6, CHUNK, 3000] {
                let mut lane = Plain::new();
                let end = 10_000 + CHUNK + 6;
                push(&mut lane, 10_000..end);
                for _ in 0..popped {
                    lane.pop_message();
                }
                lane.put_back((10_000 + popped - back..10_000 + popped).collect());
                let all: Vec<usize> = (10_000 + popped - back..end).collect();
                assert_eq!(lane.messages(), all.len());
                assert!(std::iter::from_fn(|| lane.pop_message()).eq(all), "{popped} taken, {back} put back");
            }
        }
    }

    /// Otherwise each such chunk kept its memory, and the next displacement looked into all of them.
    #[test]
    fn controls_whose_messages_are_displaced_keep_no_chunks() {
        let mut lane = Lane::<usize, usize>::new();
        for number in 0..100 * CHUNK {
            lane.push(number);
            if number % 500 == 0 {
                lane.push_control(number);
            }
            if number >= 3000 {
                assert_eq!(lane.pop_message(), Some(number - 3000));
            }
            assert!(lane.rare.as_ref().map_or(0, |rare| rare.full.len()) <= 3000 / CHUNK + 1);
        }
        let first = 100 * CHUNK - 3000;
        let mut due = (0..100 * CHUNK).filter(|number| number % 500 == 0).peekable();
        for number in first..100 * CHUNK {
            while due.peek().is_some_and(|control| *control < number) {
                let control = due.next();
                assert!(matches!(lane.pop(), Some(Entry::Control(number)) if Some(number) == control));
            }
            assert!(matches!(lane.pop(), Some(Entry::Message(message)) if message == number));
        }
        assert_eq!((due.count(), lane.controls()), (0, 0));
    }

    /// A control may belong to the message that is pushed right after it.
    #[test]
    fn a_message_is_in_the_chunk_of_the_control_before_it() {
        let mut lane = Plain::new();
        for number in 0..3 * CHUNK {
            lane.push_control('c');
            lane.push(number);
        }
        let mut messages = 0;
        while !lane.is_empty() {
            let mut chunk = next(&mut lane);
            while let Some(entry) = chunk.pop() {
                assert!(matches!(entry, Entry::Control(_)));
                assert!(matches!(chunk.pop(), Some(Entry::Message(message)) if message == messages));
                messages += 1;
            }
        }
        assert_eq!(messages, 3 * CHUNK);
    }

    /// The entries of a lane in their order, and those that were taken as a chunk, in one plain queue.
    #[derive(Default)]
    struct Model {
        lane: VecDeque<Result<usize, usize>>,
        chunk: VecDeque<Result<usize, usize>>,
    }

    impl Model {
        fn messages(of: &VecDeque<Result<usize, usize>>) -> usize {
            of.iter().filter(|entry| entry.is_ok()).count()
        }

        fn pop_message(&mut self) -> Option<usize> {
            let at = self.lane.iter().position(Result::is_ok)?;
            self.lane.remove(at)?.ok()
        }
    }

    fn plain(entry: Entry<usize, usize>) -> Result<usize, usize> {
        match entry {
            Entry::Message(message) => Ok(message),
            Entry::Control(control) => Err(control),
        }
    }

    /// Compares random operations with those on one plain queue.
    fn random_operations(seed: u64) {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut lane, mut chunk, mut model) = (Lane::<usize, usize>::new(), Chunk::new(), Model::default());
        if random.bool() {
            lane.give_bound(Some(Box::new(Bound::new(CHUNK, Overflow::DropOldest))));
        }
        let few = random.usize(1..40);
        let mut next = 0;
        for _ in 0..150 {
            let count = [few, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK][random.usize(..6)];
            match random.u32(..10) {
                0..3 => {
                    for _ in 0..count {
                        if random.u8(..8) == 0 {
                            lane.push_control(next);
                            model.lane.push_back(Err(next));
                            next += 1;
                        }
                        lane.push(next);
                        model.lane.push_back(Ok(next));
                        next += 1;
                    }
                }
                3 => {
                    for _ in 0..random.usize(..4) {
                        lane.push_control(next);
                        model.lane.push_back(Err(next));
                        next += 1;
                    }
                }
                4 => {
                    for _ in 0..count {
                        assert_eq!(lane.pop().map(plain), model.lane.pop_front(), "seed {seed}");
                    }
                }
                5 => {
                    for _ in 0..count {
                        assert_eq!(lane.pop_message(), model.pop_message(), "seed {seed}");
                    }
                }
                6 => {
                    let back: VecDeque<usize> = (next..next + count).collect();
                    next += count;
                    back.iter().rev().for_each(|message| model.lane.push_front(Ok(*message)));
                    lane.put_back(back);
                }
                7 => {
                    lane.forget_controls(|control| control % 3 == 0);
                    model.lane.retain(|entry| entry.err().is_none_or(|control| control % 3 != 0));
                }
                _ if chunk.is_empty() => {
                    match lane.take_full() {
                        Some(full) => chunk = full,
                        None => lane.swap(&mut chunk),
                    }
                    // How many are taken is up to the lane.
                    while model.chunk.len() < chunk.messages() + chunk.controls()
                        && let Some(entry) = model.lane.pop_front()
                    {
                        model.chunk.push_back(entry);
                    }
                }
                _ => {
                    for _ in 0..count {
                        let entry = chunk.pop().map(plain);
                        assert_eq!(entry, model.chunk.pop_front(), "seed {seed}");
                        if let Some(Ok(message)) = entry
                            && random.u8(..4) == 0
                        {
                            chunk.push_front(message);
                            model.chunk.push_front(Ok(message));
                        }
                    }
                }
            }
            assert_eq!(lane.messages(), Model::messages(&model.lane), "seed {seed}");
            assert_eq!(lane.is_empty(), model.lane.is_empty(), "seed {seed}");
            let chunks = lane.rare.iter().flat_map(|rare| &rare.full);
            assert!(chunks.map(Chunk::messages).all(|messages| (1..=CHUNK).contains(&messages)), "seed {seed}");
        }
        while let Some(entry) = lane.pop() {
            assert_eq!(Some(plain(entry)), model.lane.pop_front(), "seed {seed}");
        }
        assert!(model.lane.is_empty(), "seed {seed}");
    }

    #[test]
    fn a_lane_does_what_one_plain_queue_does() {
        (0..10).for_each(random_operations);
    }

    #[test]
    fn a_bound_stays_when_the_chunks_have_gone() {
        let mut lane = Plain::of_kind(MailboxKind::Bounded { capacity: 9, overflow: Overflow::Fail });
        push(&mut lane, 0..5000);
        assert_eq!(taken(&mut lane).0.len(), 5000);
        assert_eq!(lane.take_bound().map(|bound| bound.capacity), Some(9));
        assert!(lane.is_plain());
    }

    #[test]
    fn a_lane_has_one_chunk_when_a_storm_is_over() {
        let mut lane = Plain::new();
        push(&mut lane, 0..100_000);
        assert!(!lane.is_plain());
        assert_eq!(taken(&mut lane).0.len(), 100_000);
        assert!(lane.is_plain() && !lane.last.has_much_room());
    }
}
