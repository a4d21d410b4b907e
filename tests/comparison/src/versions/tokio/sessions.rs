use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::orders::Refusal;
use crate::sessions::Sessions;
use crate::store::Store;

enum Message {
    Append(u64),
    Count(oneshot::Sender<usize>),
}

/// The inboxes of the sessions, and `None` when the service stops. Messages are sent under the lock.
type Inboxes = Arc<Mutex<Option<HashMap<u64, mpsc::UnboundedSender<Message>>>>>;

pub struct Registry {
    store: Store,
    idle: Duration,
    inboxes: Inboxes,
    tasks: TaskTracker,
}

/// Runs one session after another until none is needed. The inbox outlives each of them.
async fn sessions(
    key: u64,
    store: Store,
    idle: Duration,
    mut inbox: mpsc::UnboundedReceiver<Message>,
    inboxes: Inboxes,
) {
    loop {
        if AssertUnwindSafe(session(key, &store, idle, &mut inbox)).catch_unwind().await.is_err() {
            continue;
        }
        let mut inboxes = inboxes.lock().unwrap_or_else(PoisonError::into_inner);
        if inbox.is_empty() {
            if let Some(inboxes) = inboxes.as_mut() {
                inboxes.remove(&key);
            }
            return;
        }
    }
}

async fn session(key: u64, store: &Store, idle: Duration, inbox: &mut mpsc::UnboundedReceiver<Message>) {
    let mut lease = store.open(key).await;
    while let Ok(Some(message)) = timeout(idle, inbox.recv()).await {
        match message {
            Message::Append(number) => lease.append(number).await,
            Message::Count(reply) => {
                let _asker_is_gone = reply.send(lease.count());
            }
        }
    }
    lease.close().await;
}

impl Registry {
    fn send(&self, key: u64, message: Message) -> Result<(), Refusal> {
        let mut inboxes = self.inboxes.lock().unwrap_or_else(PoisonError::into_inner);
        let session = inboxes.as_mut().ok_or(Refusal::Stopped)?.entry(key).or_insert_with(|| {
            let (session, inbox) = mpsc::unbounded_channel();
            self.tasks.spawn(sessions(key, self.store.clone(), self.idle, inbox, Arc::clone(&self.inboxes)));
            session
        });
        session.send(message).map_err(|_| Refusal::Stopped)
    }
}

impl Sessions for Registry {
    async fn start(store: Store, idle: Duration) -> Self {
        Self { store, idle, inboxes: Arc::new(Mutex::new(Some(HashMap::new()))), tasks: TaskTracker::new() }
    }

    async fn append(&self, key: u64, number: u64) -> Result<(), Refusal> {
        self.send(key, Message::Append(number))
    }

    async fn count(&self, key: u64) -> Result<usize, Refusal> {
        let (reply, count) = oneshot::channel();
        self.send(key, Message::Count(reply))?;
        count.await.map_err(|_| Refusal::Failed)
    }

    async fn stop(&self) {
        // Without their senders, the sessions end when they have handled what waits.
        drop(self.inboxes.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.tasks.close();
        self.tasks.wait().await;
    }
}
