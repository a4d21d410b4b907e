//! What senders, actors and the program hand to the writer of a store.
//!
//! Rule 27.17.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tokio::sync::{Notify, oneshot};
use tokio::task::yield_now;

use super::AcceptError;
use super::outlet::{Copied, DurableMailbox, Late, Outlet, Recipient};
use super::store::{Fate, MessageId, Quarantined, QueueId, QueueRow, Seq, StoreError};
use super::writer::GROUP;
use crate::base::ActorPath;
use crate::failure::Failure;

/// How many bytes of messages may be handed over and not yet stored.
pub(super) const HANDED_OVER_BYTES: usize = 8 << 20;

/// What a message that was handed over takes beside its body: itself, and about as much for the allocations that it points to.
const BESIDE_BODY: usize = size_of::<HandedOver>() + 64;

/// Tells the sender whether the message is durable. The error holds the message.
pub(crate) type Receipt = oneshot::Sender<Result<(), (AcceptError, Box<dyn Copied>)>>;

/// A message in memory, and the sender that is told whether it was stored. Dropping this means that it was not.
pub(crate) struct Held(Option<(Box<dyn Copied>, Option<Receipt>)>);

impl Held {
    pub(crate) fn new(copy: Box<dyn Copied>, receipt: Option<Receipt>) -> Self {
        Self(Some((copy, receipt)))
    }

    /// The message is durable.
    pub(super) fn stored(mut self) -> Option<Box<dyn Copied>> {
        let (copy, receipt) = self.0.take()?;
        if let Some(receipt) = receipt {
            let _gone = receipt.send(Ok(()));
        }
        Some(copy)
    }

    /// The message goes back to its sender.
    pub(crate) fn back(mut self) -> Option<Box<dyn Copied>> {
        self.0.take().map(|(copy, _)| copy)
    }

    /// The message is not stored.
    pub(crate) fn refuse(mut self, why: &AcceptError) {
        self.refused(why);
    }

    fn refused(&mut self, why: &AcceptError) {
        match self.0.take() {
            None => {}
            Some((copy, None)) => copy.refuse(why),
            Some((copy, Some(receipt))) => {
                if let Err(Err((why, copy))) = receipt.send(Err((why.clone(), copy))) {
                    // The sender has gone.
                    copy.refuse(&why);
                }
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.refused(&AcceptError::Stopped);
    }
}

/// A message on its way to the store.
pub(crate) struct HandedOver {
    pub(crate) outlet: Arc<Outlet>,
    /// The owner of the queue, in whose mailbox a sender has taken room.
    pub(crate) owner: Option<Arc<Outlet>>,
    pub(crate) kind: &'static str,
    pub(crate) body: Arc<[u8]>,
    pub(crate) accepted_at: SystemTime,
    pub(crate) key: Option<Box<str>>,
    pub(crate) held: Held,
    /// Nobody waits for the message, so it may wait for the store.
    pub(crate) is_told: bool,
}

impl HandedOver {
    /// About how many bytes it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        BESIDE_BODY + self.body.len() + self.key.as_ref().map_or(0, |key| key.len())
    }

    /// It is stored, or refused.
    pub(super) fn lands(&self) {
        self.outlet.lands();
        self.owner.iter().for_each(|owner| owner.lands());
    }

    /// It is not stored.
    pub(super) fn refuse(self, why: &AcceptError) {
        self.lands();
        self.outlet.give_room();
        self.owner.iter().for_each(|owner| owner.give_room());
        self.held.refuse(why);
    }
}

pub(super) type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// A question or an order of the program.
pub(super) enum Order {
    Queues(Reply<Vec<QueueRow>>),
    /// A page of a quarantine, after this number.
    Quarantined(String, Seq, Reply<Vec<Quarantined>>),
    Retry(MessageId, Reply<()>),
    Discard(MessageId, Reply<()>),
    Rename(String, String, Reply<()>),
    DiscardQueue(String, Reply<()>),
    Ready(Reply<()>),
}

/// An input of the writer. The [term](Outlet::term) of its outlet names a queue.
pub(super) enum Input {
    Claim(Arc<Outlet>, Arc<dyn Recipient>),
    HandOver(HandedOver),
    Handled {
        outlet: u64,
        seq: Seq,
    },
    Charged {
        outlet: u64,
        seq: Seq,
        attempts: u32,
        crashes: u32,
        failures: Vec<Failure>,
    },
    Quarantine {
        outlet: u64,
        seq: Seq,
        kind: Arc<str>,
        fate: Fate,
        failures: Vec<Failure>,
    },
    GivenBack {
        outlet: u64,
        seq: Seq,
    },
    /// The owner has nothing to do, although it has not handled half of what is in memory.
    Hungry {
        outlet: u64,
    },
    Control {
        outlet: u64,
        control: Late,
    },
    Release {
        outlet: u64,
    },
    /// The store has assigned this number in a queue of this process.
    Arrived {
        queue: QueueId,
        last: Seq,
    },
    Order(Order),
    Close(oneshot::Sender<()>),
}

/// Where everything for the writer of a store arrives.
pub(crate) struct Inbox {
    state: Mutex<State>,
    arrived: Notify,
    /// Wakes senders that wait for room for more bytes.
    room: Notify,
    numbers: AtomicU64,
    /// Whether several actors may own a queue of the store.
    can_share: bool,
}

#[derive(Default)]
struct State {
    inputs: VecDeque<Input>,
    /// How many of them did not wake the writer.
    quiet: usize,
    /// The writer waits, and looks for inputs by itself when acknowledgements must be stored.
    looks_by_itself: bool,
    /// The bytes of the messages that were handed over and are not yet stored.
    bytes: usize,
    /// The owners of the queues. Only a shared queue has several.
    owners: HashMap<Arc<str>, Vec<Reservation>>,
    /// Whether the writer is working. For tests.
    is_busy: bool,
    is_closed: bool,
}

/// The name of a queue that an actor has reserved.
struct Reservation {
    number: u64,
    owner: ActorPath,
    shared: bool,
}

/// Why a queue cannot be reserved.
#[derive(Debug)]
pub(crate) enum Unavailable {
    /// Another actor owns it alone, or the new owner wants it alone.
    Taken { owner: ActorPath },
    /// The store cannot share queues.
    NotShared,
}

impl Inbox {
    pub(super) fn new(can_share: bool) -> Self {
        Self {
            state: Mutex::default(),
            arrived: Notify::new(),
            room: Notify::new(),
            numbers: AtomicU64::new(1),
            can_share,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, input: Input) {
        let mut state = self.state();
        if state.is_closed {
            drop(state);
            return refuse(input);
        }
        state.inputs.push_back(input);
        drop(state);
        self.arrived.notify_one();
    }

    /// Hands over an acknowledgement for which nobody waits. It does not wake a writer who looks by itself.
    pub(super) fn put_quietly(&self, input: Input) {
        let mut state = self.state();
        if !state.looks_by_itself || state.inputs.len() >= GROUP {
            drop(state);
            return self.put(input);
        }
        state.inputs.push_back(input);
        state.quiet += 1;
    }

    /// Reserves the name of a queue for a new owner.
    pub(crate) fn reserve(
        self: &Arc<Self>,
        name: Arc<str>,
        owner: ActorPath,
        settings: DurableMailbox,
        has_batches: bool,
    ) -> Result<Arc<Outlet>, Unavailable> {
        let shared = settings.shared;
        if shared && !self.can_share {
            return Err(Unavailable::NotShared);
        }
        let number = self.next_number();
        let mut state = self.state();
        let owners = state.owners.entry(Arc::clone(&name)).or_default();
        if let Some(other) = owners.iter().find(|other| !(shared && other.shared)) {
            return Err(Unavailable::Taken { owner: other.owner.clone() });
        }
        owners.push(Reservation { number, owner: owner.clone(), shared });
        drop(state);
        let outlet = Outlet::new(number, name, owner, settings, Arc::clone(self));
        Ok(Arc::new(outlet.with_batches(has_batches)))
    }

    /// Whether an actor of this process has reserved the queue.
    pub(super) fn is_reserved(&self, queue: &str) -> bool {
        self.state().owners.contains_key(queue)
    }

    /// The outlet of a sender that does not own the queue.
    pub(crate) fn sender(self: &Arc<Self>, queue: Arc<str>, settings: DurableMailbox) -> Arc<Outlet> {
        Arc::new(
            Outlet::new(self.next_number(), queue, ActorPath::elsewhere("a sender"), settings, Arc::clone(self))
                .of_sender(),
        )
    }

    /// A number that no outlet and no term has.
    pub(super) fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// Frees the name of a queue whose owner has left or was never made.
    pub(crate) fn release_name(&self, outlet: &Outlet) {
        let mut state = self.state();
        if let Some(owners) = state.owners.get_mut(&outlet.name) {
            owners.retain(|owner| owner.number != outlet.number);
            if owners.is_empty() {
                state.owners.remove(&outlet.name);
            }
        }
    }

    /// Sets the owner of a reserved queue, which can now be reached.
    pub(crate) fn claim(&self, outlet: Arc<Outlet>, recipient: Arc<dyn Recipient>) {
        self.put(Input::Claim(outlet, recipient));
    }

    /// Hands a message over. Gives it back if there is no room.
    pub(crate) fn hand_over(&self, message: HandedOver) -> Result<(), HandedOver> {
        let bytes = message.bytes();
        let mut state = self.state();
        // A message that is larger than all the room is let in alone. The place in the queue is taken last: to give it back would
        // wake the senders who wait for one, and this sender may be among them.
        if (state.bytes > 0 && state.bytes + bytes > HANDED_OVER_BYTES) || !message.outlet.take_room() {
            return Err(message);
        }
        if state.is_closed {
            drop(state);
            message.refuse(&AcceptError::Stopped);
            return Ok(());
        }
        state.bytes += bytes;
        state.inputs.push_back(Input::HandOver(message));
        drop(state);
        self.arrived.notify_one();
        Ok(())
    }

    /// Completes when there may be room for more bytes.
    pub(crate) fn has_room(&self) -> tokio::sync::futures::Notified<'_> {
        self.room.notified()
    }

    /// Messages were stored or refused.
    pub(super) fn give_room(&self, bytes: usize) {
        if bytes > 0 {
            let mut state = self.state();
            state.bytes -= bytes;
            drop(state);
            self.room.notify_waiters();
        }
    }

    /// Puts a control behind everything that was handed over.
    pub(crate) fn control(&self, outlet: &Outlet, control: Late) {
        self.put(Input::Control { outlet: outlet.term(), control });
    }

    pub(super) fn put_close(&self, closed: oneshot::Sender<()>) {
        self.put(Input::Close(closed));
    }

    pub(super) fn order(&self, order: Order) {
        self.put(Input::Order(order));
    }

    // ---- the writer ----------------------------------------------------------------------------------------------

    /// Takes what has arrived, at most `most` inputs.
    pub(super) fn take(&self, most: usize) -> VecDeque<Input> {
        let mut state = self.state();
        let inputs = if state.inputs.len() <= most {
            std::mem::take(&mut state.inputs)
        } else {
            state.inputs.drain(..most).collect()
        };
        state.is_busy = true;
        state.looks_by_itself = false;
        state.quiet = 0;
        inputs
    }

    /// Lets the tasks run that are ready, and takes what they hand over. Goes on only as long as the inputs become twice as many, so that a
    /// few messages do not wait for many tasks.
    pub(super) async fn take_more(&self, inputs: &mut VecDeque<Input>, most: usize) {
        let mut before = 0;
        while inputs.len() > 2 * before && inputs.len() < most {
            before = inputs.len();
            yield_now().await;
            inputs.append(&mut self.take(most - before));
        }
    }

    /// Whether something has arrived that the writer must hear of.
    pub(super) fn has_news(&self) -> bool {
        let state = self.state();
        state.inputs.len() > state.quiet
    }

    /// Waits for an input. Until then, the writer has nothing to do. `looks_by_itself` says that it does not wait longer than acknowledgements
    /// may.
    pub(super) async fn arrived(&self, looks_by_itself: bool) {
        {
            let mut state = self.state();
            state.is_busy = false;
            state.looks_by_itself = looks_by_itself;
        }
        self.arrived.notified().await;
    }

    /// Whether the writer has work that does not wait for a time.
    #[cfg(feature = "testkit")]
    pub(crate) fn is_busy(&self) -> bool {
        let state = self.state();
        state.is_busy || state.inputs.len() > state.quiet
    }

    /// Refuses all further inputs, including those that already wait.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.is_busy = false;
        let late = std::mem::take(&mut state.inputs);
        drop(state);
        late.into_iter().for_each(refuse);
        self.room.notify_waiters();
    }
}

/// Refuses an input, because the store is closed.
fn refuse(input: Input) {
    match input {
        Input::HandOver(message) => message.refuse(&AcceptError::Stopped),
        // Dropping the input drops its sender, which tells the waiter.
        Input::Order(_)
        | Input::Close(_)
        | Input::Claim(..)
        | Input::Handled { .. }
        | Input::Charged { .. }
        | Input::Quarantine { .. }
        | Input::GivenBack { .. }
        | Input::Hungry { .. }
        | Input::Release { .. }
        | Input::Arrived { .. }
        | Input::Control { .. } => drop(input),
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    fn handled(seq: u64) -> Input {
        Input::Handled { outlet: 1, seq: Seq(seq) }
    }

    /// Whether the wait for an input is over after `hand_over`.
    fn wakes(inbox: &Inbox, looks_by_itself: bool, hand_over: impl FnOnce()) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        let mut arrived = pin!(inbox.arrived(looks_by_itself));
        assert!(arrived.as_mut().poll(&mut cx).is_pending(), "nothing has arrived");
        hand_over();
        arrived.poll(&mut cx).is_ready()
    }

    #[test]
    fn an_acknowledgement_does_not_wake_a_writer_that_looks_by_itself() {
        let inbox = Inbox::new(false);
        assert!(wakes(&inbox, false, || inbox.put_quietly(handled(1))), "it would not look");
        assert_eq!(inbox.take(GROUP).len(), 1);
        assert!(!wakes(&inbox, true, || inbox.put_quietly(handled(2))));
        assert!(wakes(&inbox, true, || inbox.put(handled(3))), "somebody waits for this one");
        assert_eq!(inbox.take(GROUP).len(), 2, "it takes both");
        let many = || (0..=GROUP as u64).for_each(|seq| inbox.put_quietly(handled(seq)));
        assert!(wakes(&inbox, true, many), "a group is full");
    }
}
