use std::future::pending;
use std::net::SocketAddr;
use std::time::Duration;

use supervise::pattern::{Pool, PoolRef};
use supervise::prelude::*;
use supervise::{Backoff, MailboxKind, OnLimit, Overflow, Props, Strategy};

use crate::database::{Connection, DbError, Order};
use crate::orders::{LONGEST, Orders, Refusal, SHORTEST, Settings};

#[actor]
struct Writer {
    server: SocketAddr,
    connection: Option<Connection>,
}

#[actor]
impl Writer {
    #[pre_start]
    async fn connect(&mut self) -> Result<(), DbError> {
        self.connection = Some(Connection::open(self.server).await?);
        Ok(())
    }

    #[handler(skip_abandoned)]
    async fn write(&mut self, order: Order) -> Result<(), DbError> {
        self.connection.as_mut().expect("made by `connect`").insert(order).await
    }
}

/// A panic of the driver does not mean that the database is down, so a new connection is made at once.
#[supervise(
    one_for_one,
    on(DbError::Rejected) = Resume,
    on(Panic) = Restart(backoff(min = "1ms", max = "1ms")),
    on(_) = Restart,
)]
struct Writers;

/// A pool that has given up ends the system.
#[supervise(one_for_one, on(_) = Escalate)]
struct Top;

pub struct Shop {
    system: ActorSystem,
    writers: PoolRef<Writer>,
    limit: Duration,
}

impl Orders for Shop {
    async fn start(settings: Settings) -> Self {
        let Settings { server, writers, waiting, limit, give_up_after } = settings;
        let system = ActorSystem::builder("shop").supervised_by::<Top>().start().expect("a name");
        // Half of the orders may wait at the pool, and the others at its writers.
        let mailbox = |capacity| MailboxKind::Bounded { capacity, overflow: Overflow::Fail };
        let (at_pool, at_writer) = (mailbox(waiting / 2), mailbox(waiting / 2 / writers));
        let delays = Backoff::exponential(SHORTEST, LONGEST).give_up_after(give_up_after);
        let writer = move || Props::new(move || Writer { server, connection: None }).mailbox(at_writer);
        let pool = Pool::smallest_mailbox(writers, writer)
            .supervised_by::<Writers>()
            .strategy(Strategy::one_for_one().backoff(delays).on_limit(OnLimit::Escalate));
        let writers = system.spawn_with("writers", pool.props().mailbox(at_pool)).expect("a new name");
        Self { system, writers, limit }
    }

    async fn place(&self, order: Order) -> Result<(), Refusal> {
        self.writers.write(order).timeout(self.limit).await.map_err(|error| match &error {
            AskError::Timeout(_) => Refusal::Late,
            AskError::MailboxFull => Refusal::Busy,
            AskError::Failed(failure) => match failure.downcast_ref() {
                Some(DbError::Rejected) => Refusal::Rejected,
                _ => Refusal::Failed,
            },
            _ => Refusal::Stopped,
        })
    }

    async fn ended(&self) -> String {
        match self.system.when_terminated().await {
            Err(failure) => failure.to_string(),
            Ok(()) => pending().await,
        }
    }

    async fn stop(&self) {
        // Orders that the writers do not finish in time are refused by `terminate`.
        let _in_time = self.system.graceful_drain(&self.writers, self.limit).await;
        self.system.terminate().await;
    }
}
