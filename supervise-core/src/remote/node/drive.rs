//! The task of a node, and how the node leaves.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use super::super::association::{Input, Packet};
use super::super::inbox::{Heard, News};
use super::super::link::{Link, Work};
use super::super::wire::{decode, encode};
use super::NodeCore;

/// The shortest time between two ticks, because each tick goes through all peers.
const BETWEEN_TICKS: Duration = Duration::from_millis(10);

impl NodeCore {
    fn heard(self: &Arc<Self>, heard: Heard) {
        let (peer, input) = match heard {
            Heard::Appeared(peer, incarnation) => (peer, Input::Appeared(incarnation)),
            Heard::Vanished(peer, incarnation) => (peer, Input::Vanished(incarnation)),
            Heard::Flooded(peer) => (peer, Input::Broke),
            Heard::Packet(peer, packet) if packet.len() as u64 > self.max_packet() => (peer, Input::Broke),
            // Noise is ignored: if a packet is missing, the next one shows it.
            Heard::Packet(peer, packet) => match decode(&packet, self.max_packet()) {
                Some(packet) => (peer, Input::Received(packet)),
                None => return,
            },
        };
        let link = match (self.link_of(peer.text()), &input) {
            (Some(link), _) => link,
            (None, Input::Appeared(_) | Input::Received(Packet::Hello { .. })) => self.link(&peer),
            (None, Input::Received(Packet::Frames { to, from, .. })) => {
                // If the engine takes no more packets, the peer ends the association itself, after its `patience`.
                let _full = self.transport.send(&peer, encode(&Packet::Goodbye { to: *from, from: *to }));
                return;
            }
            (None, _) => return,
        };
        link.step(input);
        if link.is_gone() {
            self.forget(&link);
        }
    }

    /// Forgets the peers that are gone. Only the task of the node does so, because only this task hears from a peer that comes back.
    fn forget_gone(&self) {
        for link in self.all_links() {
            if link.is_gone() {
                self.forget(&link);
            }
        }
    }

    fn forget(&self, link: &Link) {
        self.links().remove(&**link.peer.text());
        link.put(Work::Close);
    }

    /// Ticks each link. After that, it is known when they want their next tick.
    fn tick(&self) {
        self.soonest.store(u64::MAX, Ordering::SeqCst);
        for link in self.all_links() {
            link.tick();
        }
        self.forget_gone();
    }

    /// Sends what is queued for at most two seconds, says goodbye, and closes the engine.
    pub(super) async fn leave(self: &Arc<Self>) {
        const FLUSH: Duration = Duration::from_secs(2);
        let deadline = self.now() + FLUSH;
        loop {
            let links = self.all_links();
            for link in &links {
                link.flush();
            }
            if links.iter().all(|link| link.is_idle()) || self.now() >= deadline {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.left.send_replace(true);
        for link in self.all_links() {
            link.step(Input::Leave);
            link.pump();
            link.put(Work::Close);
        }
        self.transport.close().await;
    }

    /// No task of the system runs any more.
    pub(super) fn shut(&self) {
        self.left.send_replace(true);
        let links: Vec<_> = self.links().drain().map(|(_, link)| link).collect();
        for link in links {
            link.shut();
        }
    }
}

/// The task of a node: it listens to the engine and the clock.
pub(super) async fn drive(node: Arc<NodeCore>, mut heard: News) {
    enum Next {
        Heard(Option<Heard>),
        Tick,
        Again,
    }
    let (mut left, mut ticked) = (node.left.subscribe(), Duration::ZERO);
    // It is set only when the next tick is due at another time, which is rare.
    let (mut sleep, mut sleeps_until) = (pin!(tokio::time::sleep(Duration::ZERO)), None);
    while !*left.borrow_and_update() {
        let soonest = node.soonest.load(Ordering::SeqCst);
        let due = (soonest < u64::MAX).then(|| Duration::from_micros(soonest).max(ticked + BETWEEN_TICKS));
        let pause = due.map(|due| due.saturating_sub(node.now()));
        let is_due = pause.is_some_and(|pause| pause.is_zero());
        if let Some(pause) = pause
            && due != sleeps_until
        {
            sleep.as_mut().reset(tokio::time::Instant::now() + pause);
            sleeps_until = due;
        }
        let next = {
            let (mut nudged, mut leaves) = (pin!(node.nudge.notified()), pin!(left.changed()));
            poll_fn(|cx| {
                // This happens however much the engine delivers.
                if is_due {
                    return Poll::Ready(Next::Tick);
                }
                if let Poll::Ready(next) = heard.poll_recv(cx) {
                    return Poll::Ready(Next::Heard(next));
                }
                if due.is_some() && sleep.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Next::Tick);
                }
                if nudged.as_mut().poll(cx).is_ready() || leaves.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Next::Again);
                }
                Poll::Pending
            })
            .await
        };
        match next {
            Next::Heard(Some(one)) => node.heard(one),
            Next::Heard(None) => return,
            Next::Tick => {
                (ticked, sleeps_until) = (node.now(), None);
                node.tick();
            }
            Next::Again => {
                if node.looks_for_gone.swap(false, Ordering::SeqCst) {
                    node.forget_gone();
                }
            }
        }
    }
}
