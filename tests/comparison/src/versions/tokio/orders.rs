use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::{Mutex, mpsc, oneshot, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::database::{Connection, DbError, Order};
use crate::orders::{LONGEST, Orders, Refusal, SHORTEST, Settings};

struct Job {
    order: Order,
    reply: oneshot::Sender<Result<(), Refusal>>,
}

/// The queue that the writers share. It outlives their connections.
type Queue = Arc<Mutex<mpsc::Receiver<Job>>>;

/// Writes until the service stops. Returns why it has given up.
async fn writer(settings: Settings, queue: Queue, stopping: CancellationToken) -> Result<(), DbError> {
    let mut delay = SHORTEST;
    let mut connected = Instant::now();
    loop {
        let opened = AssertUnwindSafe(Connection::open(settings.server)).catch_unwind().await;
        match opened {
            Ok(Ok(connection)) => {
                let since = Instant::now();
                let ended = AssertUnwindSafe(write(connection, &queue, &stopping)).catch_unwind().await;
                connected = Instant::now();
                match ended {
                    Ok(true) => return Ok(()),
                    Ok(false) => {}
                    // The driver has panicked, which does not mean that the database is down.
                    Err(_) => continue,
                }
                if connected - since >= LONGEST {
                    delay = SHORTEST;
                }
            }
            Ok(Err(error)) if connected.elapsed() >= settings.give_up_after => return Err(error),
            Ok(Err(_)) | Err(_) => {}
        }
        tokio::select! {
            () = sleep(delay) => delay = LONGEST.min(delay * 2),
            () = stopping.cancelled() => return Ok(()),
        }
    }
}

/// The next job. When the service stops, the queue takes no more, and what waits is still written.
async fn next(queue: &Queue, stopping: &CancellationToken) -> Option<Job> {
    let mut queue = queue.lock().await;
    if let Some(job) = stopping.run_until_cancelled(queue.recv()).await {
        return job;
    }
    queue.close();
    queue.recv().await
}

/// Returns whether the queue has ended. Otherwise the connection is gone.
async fn write(mut connection: Connection, queue: &Queue, stopping: &CancellationToken) -> bool {
    loop {
        let Some(Job { order, reply }) = next(queue, stopping).await else { return true };
        if reply.is_closed() {
            continue;
        }
        let result = connection.insert(order).await;
        let gone = matches!(result, Err(DbError::Disconnected(_)));
        let _caller_is_gone = reply.send(result.map_err(|error| match error {
            DbError::Rejected => Refusal::Rejected,
            DbError::Disconnected(_) => Refusal::Failed,
        }));
        if gone {
            return false;
        }
    }
}

pub struct Shop {
    orders: mpsc::Sender<Job>,
    limit: Duration,
    stopping: CancellationToken,
    writers: TaskTracker,
    given_up: watch::Receiver<Option<String>>,
}

impl Orders for Shop {
    async fn start(settings: Settings) -> Self {
        let (orders, queue) = mpsc::channel(settings.waiting);
        let (reason, given_up) = watch::channel(None);
        let queue = Arc::new(Mutex::new(queue));
        let stopping = CancellationToken::new();
        let writers = TaskTracker::new();
        for _ in 0..settings.writers {
            let (queue, stopping, reason) = (Arc::clone(&queue), stopping.clone(), reason.clone());
            writers.spawn(async move {
                if let Err(error) = writer(settings, queue, stopping.clone()).await {
                    stopping.cancel();
                    reason.send_replace(Some(error.to_string()));
                }
            });
        }
        writers.close();
        Self { orders, limit: settings.limit, stopping, writers, given_up }
    }

    async fn place(&self, order: Order) -> Result<(), Refusal> {
        if self.stopping.is_cancelled() {
            return Err(Refusal::Stopped);
        }
        let (reply, answer) = oneshot::channel();
        self.orders.try_send(Job { order, reply }).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Refusal::Busy,
            mpsc::error::TrySendError::Closed(_) => Refusal::Stopped,
        })?;
        match timeout(self.limit, answer).await {
            Ok(Ok(result)) => result,
            // It was dropped: by a writer that has panicked, or with the queue.
            Ok(Err(_)) => Err(if self.stopping.is_cancelled() { Refusal::Stopped } else { Refusal::Failed }),
            Err(_) => Err(Refusal::Late),
        }
    }

    async fn ended(&self) -> String {
        let mut given_up = self.given_up.clone();
        let reason = given_up.wait_for(Option::is_some).await.ok().and_then(|reason| reason.clone());
        reason.unwrap_or_default()
    }

    async fn stop(&self) {
        self.stopping.cancel();
        let _late = timeout(self.limit, self.writers.wait()).await;
    }
}
