use std::time::Duration;

use supervise::prelude::*;

use crate::orders::Refusal;
use crate::sessions::Sessions;
use crate::store::{Lease, Store};

#[actor]
struct Session {
    key: u64,
    store: Store,
    lease: Option<Lease>,
}

#[actor]
impl Session {
    #[pre_start]
    async fn open(&mut self) {
        self.lease = Some(self.store.open(self.key).await);
    }

    #[handler]
    async fn append(&mut self, number: u64) {
        self.lease.as_mut().expect("opened").append(number).await;
    }

    #[handler]
    fn count(&self) -> usize {
        self.lease.as_ref().expect("opened").count()
    }

    #[post_stop]
    async fn close(&mut self) {
        if let Some(lease) = self.lease.take() {
            lease.close().await;
        }
    }
}

#[actor]
#[supervise(one_for_one, on(_) = Restart)]
struct Owner {
    store: Store,
    idle: Duration,
    #[child(
        |this| { let store = this.store.clone(); move |key: &u64| Session { key: *key, store: store.clone(), lease: None } },
        idle = self.idle,
    )]
    sessions: Children<u64, Session>,
}

#[actor]
impl Owner {
    #[handler]
    fn sessions(&self) -> Children<u64, Session> {
        self.sessions.clone()
    }
}

pub struct Registry {
    system: ActorSystem,
    sessions: Children<u64, Session>,
}

impl Sessions for Registry {
    async fn start(store: Store, idle: Duration) -> Self {
        let system = ActorSystem::new("sessions");
        let owner = move || Owner { store: store.clone(), idle, sessions: Children::default() };
        let owner = system.spawn("owner", owner).expect("a new name");
        let sessions = owner.sessions().await.expect("it has started");
        Self { system, sessions }
    }

    async fn append(&self, key: u64, number: u64) -> Result<(), Refusal> {
        let session = self.sessions.get_or_spawn(key).map_err(|_| Refusal::Stopped)?;
        session.append(number).tell().map_err(|_| Refusal::Stopped)
    }

    async fn count(&self, key: u64) -> Result<usize, Refusal> {
        let session = self.sessions.get_or_spawn(key).map_err(|_| Refusal::Stopped)?;
        session.count().await.map_err(|_| Refusal::Failed)
    }

    async fn stop(&self) {
        self.sessions.graceful_drain(Duration::from_secs(5)).await.expect("every session ends in time");
        self.system.terminate().await;
    }
}
