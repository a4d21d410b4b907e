//! What a peer sent to actors here whose mailboxes are full: it waits for room as any sender does, in the order in which it came.
//!
//! One task for each full actor leaves the messages in its mailbox, so nobody else waits for that actor. The association tells the
//! peer to pause its ref of the actor, and counts the bytes.
//!
//! Rule 26.11.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use super::association::{Input, Number};
use super::link::{Link, Work};
use super::remote_actor::Delivered;
use super::transport::BoxFuture;
use crate::actor::{AnyActorRef, AskError, dispatch, drop_because};
use crate::observe::{DeadLetterReason, Lost};

/// Something that waits until an actor has room for what came before.
pub(super) enum Held {
    Message(HeldMessage),
    /// News, or the signal that ends the actor. It takes no room.
    Control(Box<dyn FnOnce() + Send>),
}

/// A message that waits for room.
pub(crate) struct HeldMessage {
    pub(super) to: AnyActorRef,
    pub(super) name: &'static str,
    /// Leaves the message in the mailbox when there is room.
    pub(super) deliver: BoxFuture<'static, Delivered>,
}

impl HeldMessage {
    /// The association has ended first.
    fn lose(self) {
        let Self { to, name, deliver } = self;
        let is_asked = drop_because(AskError::MailboxFull, deliver);
        to.core().lost(Lost::new(name, DeadLetterReason::MailboxFull, is_asked));
    }
}

/// The actors of this node for which something of one association waits, by their uid.
#[derive(Default)]
pub(super) struct Holding(HashMap<u64, Queue>);

struct Queue {
    mine: Number,
    items: UnboundedSender<(Held, u64)>,
    /// How many items are not released yet.
    waits: usize,
    /// Dropped at the verdict.
    _lasts: oneshot::Sender<()>,
    /// Resolves when the task has ended.
    ended: oneshot::Receiver<()>,
}

impl Holding {
    /// Whether something waits for this actor, so that what comes now waits too.
    pub(super) fn waits(&self, to: u64) -> bool {
        self.0.contains_key(&to)
    }

    /// Lets something of `bytes` wait for an actor.
    pub(super) fn hold(&mut self, link: &Arc<Link>, mine: Number, to: u64, (held, bytes): (Held, u64)) {
        link.step(Input::Held { mine, to, bytes });
        let queue = self.0.entry(to).or_insert_with(|| Queue::new(link, mine, to));
        queue.waits += 1;
        // The task ends only after the queue.
        let _lasts = queue.items.send((held, bytes));
    }

    /// Something that was held waits no more.
    pub(super) fn released(&mut self, link: &Link, mine: Number, to: u64, bytes: u64) {
        link.step(Input::Released { mine, to, bytes });
        if let Some(queue) = self.0.get_mut(&to)
            && queue.mine == mine
        {
            queue.waits -= 1;
            if queue.waits == 0 {
                self.0.remove(&to);
            }
        }
    }

    /// The association has ended: messages become dead letters, and the rest happens now.
    pub(super) async fn over(&mut self) {
        let queues: Vec<_> = self.0.drain().map(|(_, queue)| queue.ended).collect();
        for ended in queues {
            // An error says that the task has dropped its half.
            let _ended = ended.await;
        }
    }
}

impl Queue {
    fn new(link: &Arc<Link>, mine: Number, to: u64) -> Self {
        let ((items, waiting), (lasts, over), (ends, ended)) =
            (unbounded_channel(), oneshot::channel(), oneshot::channel());
        dispatch::start(link.system().core(), leave(Arc::clone(link), (mine, to), waiting, over, ends));
        Self { mine, items, waits: 0, _lasts: lasts, ended }
    }
}

/// Gives an actor what waits for it, until the queue is dropped and empty.
async fn leave(
    link: Arc<Link>,
    (mine, to): (Number, u64),
    mut waiting: UnboundedReceiver<(Held, u64)>,
    mut over: oneshot::Receiver<()>,
    _ends: oneshot::Sender<()>,
) {
    let mut is_over = false;
    while let Some((next, bytes)) = waiting.recv().await {
        match next {
            Held::Control(act) => act(),
            Held::Message(mut message) => {
                let delivered = poll_fn(|cx| {
                    is_over = is_over || Pin::new(&mut over).poll(cx).is_ready();
                    if is_over { Poll::Ready(None) } else { message.deliver.as_mut().poll(cx).map(Some) }
                });
                match delivered.await {
                    Some(Delivered::Gone) => link.says_gone(mine, to),
                    Some(Delivered::Taken | Delivered::Full(_)) => {}
                    None => message.lose(),
                }
            }
        }
        link.put(Work::Released { mine, to, bytes });
    }
}
