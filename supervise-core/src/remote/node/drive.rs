//! The task of a node, and how the node leaves.

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;

use super::super::association::Input;
use super::super::link::Work;
use super::super::transport::Heard;
use super::super::wire::decode;
use super::NodeCore;

impl NodeCore {
    fn heard(self: &Arc<Self>, heard: Heard) {
        match heard {
            Heard::Appeared(peer, incarnation) => self.link(&peer).step(Input::Appeared(incarnation)),
            Heard::Vanished(peer, incarnation) => self.link(&peer).step(Input::Vanished(incarnation)),
            Heard::Packet(peer, packet) => {
                // Noise is ignored: if a packet is missing, the next one tells.
                if let Some(packet) = decode(&packet) {
                    self.link(&peer).step(Input::Received(packet));
                }
            }
        }
    }

    fn deadline(&self) -> Option<Duration> {
        self.links().values().filter_map(|link| link.deadline()).min()
    }

    /// Sends what waits, for two seconds at most, says goodbye and closes the engine.
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

/// The task of a node: hears the engine and the clock.
pub(super) async fn drive(node: Arc<NodeCore>, mut heard: UnboundedReceiver<Heard>) {
    enum Next {
        Heard(Option<Heard>),
        Tick,
        Again,
    }
    let mut left = node.left.subscribe();
    while !*left.borrow_and_update() {
        let pause = node.deadline().map(|deadline| deadline.saturating_sub(node.now()));
        let next = {
            let mut sleep = pin!(async {
                match pause {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => pending().await,
                }
            });
            let (mut nudged, mut leaves) = (pin!(node.nudge.notified()), pin!(left.changed()));
            poll_fn(|cx| {
                if let Poll::Ready(next) = heard.poll_recv(cx) {
                    return Poll::Ready(Next::Heard(next));
                }
                if sleep.as_mut().poll(cx).is_ready() {
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
                for link in node.all_links() {
                    link.tick();
                }
            }
            Next::Again => {}
        }
    }
}
