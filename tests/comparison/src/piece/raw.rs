//! With tokio's tasks and channels.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::{Mutex, mpsc, oneshot, watch};
use tokio::time::{sleep, timeout};

use super::{PATIENCE, Piece, ROOM, longer};
use crate::store::Connection;

type Order = (u64, oneshot::Sender<bool>);

#[derive(Clone)]
pub(crate) struct Writers {
    orders: mpsc::Sender<Order>,
    stopping: Arc<watch::Sender<bool>>,
}

/// Why a connection is no longer served.
enum Left {
    Stopped,
    /// After so many orders were written.
    Failed(u64),
}

async fn serve(
    store: SocketAddr,
    orders: Arc<Mutex<mpsc::Receiver<Order>>>,
    mut stop: watch::Receiver<bool>,
) -> Left {
    let Ok(mut connection) = Connection::open(store).await else { return Left::Failed(0) };
    // It outlives a task that panics.
    let mut orders = orders.lock().await;
    let mut written = 0;
    loop {
        let order = tokio::select! {
            order = orders.recv() => order,
            _ = stop.wait_for(|stop| *stop), if !orders.is_closed() => {
                orders.close();
                continue;
            }
        };
        let Some((order, reply)) = order else { return Left::Stopped };
        if reply.is_closed() {
            continue;
        }
        let done = connection.write(order).await.is_ok();
        let _given_up = reply.send(done);
        if !done {
            return Left::Failed(written);
        }
        written += 1;
    }
}

async fn supervise(store: SocketAddr, orders: mpsc::Receiver<Order>, stop: watch::Receiver<bool>) {
    let orders = Arc::new(Mutex::new(orders));
    let mut delay = None;
    loop {
        match tokio::spawn(serve(store, orders.clone(), stop.clone())).await {
            Ok(Left::Stopped) => return,
            Ok(Left::Failed(written)) => {
                let next = longer(delay.filter(|_| written == 0));
                sleep(next).await;
                delay = Some(next);
            }
            // The bug of one order is no reason to wait.
            Err(_panicked) => {}
        }
    }
}

impl Piece for Writers {
    async fn start(store: SocketAddr) -> Self {
        let (orders, receiver) = mpsc::channel(ROOM);
        let (stopping, stop) = watch::channel(false);
        tokio::spawn(supervise(store, receiver, stop));
        Self { orders, stopping: Arc::new(stopping) }
    }

    async fn write(&self, order: u64) -> bool {
        let (reply, answer) = oneshot::channel();
        if self.orders.try_send((order, reply)).is_err() {
            return false;
        }
        matches!(timeout(PATIENCE, answer).await, Ok(Ok(true)))
    }

    async fn stop(self) {
        self.stopping.send_replace(true);
        let _slow = timeout(PATIENCE, self.orders.closed()).await;
        let _slow = timeout(PATIENCE, self.stopping.closed()).await;
    }
}
