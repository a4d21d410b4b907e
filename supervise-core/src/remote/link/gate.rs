//! Whether the proxies of a peer's actors may write, and what they have written.

use std::sync::atomic::Ordering;
use std::task::Waker;

use super::{Link, State};
use crate::remote::association::{Body, Frame, Number};
use crate::remote::codec::Pending;

/// How many bytes a proxy writes before others may. So many proxies that write at the same time do not exceed the window by much.
const TURN: u64 = 16 << 10;

/// Whether a proxy may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::remote) enum Gate {
    /// So many bytes. It then hands over what it has written, and looks at the gate again.
    Open(u64),
    /// It is woken when the window opens.
    Closed,
    Over,
}

/// What a proxy has written.
pub(in crate::remote) enum Written {
    /// Messages that are told.
    Told {
        count: u32,
        body: Body,
    },
    Asked {
        name: &'static str,
        body: Body,
        asker: Pending,
    },
}

impl Link {
    /// Whether the proxy of an actor of this association may write. If it must wait, `waker` is woken when it may.
    pub(in crate::remote) fn gate(&self, mine: Number, actor: u64, waker: &Waker) -> Gate {
        self.state().gate(mine, actor, waker)
    }

    /// Queues messages for an actor of this association, and looks at its gate as [`gate`](Self::gate) does. Asks beyond the limit stay where
    /// they are, and if the association is over, all messages do.
    pub(in crate::remote) fn write(
        &self,
        mine: Number,
        to: u64,
        messages: &mut Vec<Written>,
        waker: &Waker,
    ) -> Gate {
        let mut state = self.state();
        let State { association, kept, .. } = &mut *state;
        if association.numbers().is_none_or(|numbers| numbers.0 != mine) {
            return Gate::Over;
        }
        let mut refused = Vec::new();
        for message in messages.drain(..) {
            // The association is not over, so it takes what it is given.
            let _taken = match message {
                Written::Told { count, body } => association.send(Frame::Tell { to, count, body }),
                asked @ Written::Asked { .. } if !association.takes_ask() => {
                    refused.push(asked);
                    continue;
                }
                Written::Asked { body, asker, .. } => {
                    let ask = self.asks.fetch_add(1, Ordering::Relaxed);
                    kept.asks.insert(ask, asker);
                    association.send(Frame::Ask { to, ask, body })
                }
            };
        }
        messages.append(&mut refused);
        state.gate(mine, to, waker)
    }
}

impl State {
    fn gate(&mut self, mine: Number, actor: u64, waker: &Waker) -> Gate {
        let Self { association, waiting, paused, .. } = self;
        if association.numbers().is_none_or(|numbers| numbers.0 != mine) {
            return Gate::Over;
        } else if association.is_paused(actor) {
            let waiting = paused.entry(actor).or_default();
            if !waiting.iter().any(|waits| waits.will_wake(waker)) {
                waiting.push(waker.clone());
            }
        } else if association.is_open() {
            return Gate::Open(association.room().min(TURN));
        } else {
            waiting.add(waker);
        }
        Gate::Closed
    }
}
