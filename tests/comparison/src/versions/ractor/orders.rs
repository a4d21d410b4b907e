use std::sync::Arc;
use std::time::Duration;

use ractor::factory::{
    DiscardHandler, DiscardMode, DiscardReason, DiscardSettings, Factory, FactoryArguments, FactoryRef, Job,
    JobOptions, Worker, queues, routing, worker_builder,
};
use ractor::rpc::CallResult;
use ractor::{Actor, ActorProcessingErr, RpcReplyPort};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use crate::database::{Connection, DbError, Order};
use crate::orders::{LONGEST, Orders, Refusal, SHORTEST, Settings};

struct Place {
    order: Order,
    /// When its caller gives up.
    until: Instant,
    /// Taken when it is answered.
    reply: Option<RpcReplyPort<Result<(), Refusal>>>,
}

impl Place {
    fn answer(&mut self, result: Result<(), Refusal>) {
        if let Some(reply) = self.reply.take() {
            let _caller_is_gone = reply.send(result);
        }
    }
}

struct Writer;

struct WriterState {
    settings: Settings,
    given_up: watch::Sender<Option<String>>,
    connection: Option<Connection>,
    delay: Duration,
    /// Since when there has been no connection, or when the present one was made.
    since: Instant,
}

impl WriterState {
    /// Connects. The factory fails with a worker that cannot start, so a worker starts without a connection.
    async fn connection(
        &mut self,
        until: Instant,
        factory: &FactoryRef<(), Place>,
    ) -> Result<&mut Connection, Refusal> {
        while self.connection.is_none() {
            match Connection::open(self.settings.server).await {
                Ok(connection) => {
                    self.connection = Some(connection);
                    self.since = Instant::now();
                }
                Err(error) if self.since.elapsed() >= self.settings.give_up_after => {
                    self.given_up.send_replace(Some(error.to_string()));
                    factory.stop(Some(error.to_string()));
                    return Err(Refusal::Stopped);
                }
                Err(_) => {
                    sleep(self.delay).await;
                    self.delay = LONGEST.min(self.delay * 2);
                }
            }
            if Instant::now() >= until {
                return Err(Refusal::Late);
            }
        }
        self.connection.as_mut().ok_or(Refusal::Failed)
    }

    fn disconnected(&mut self) {
        self.connection = None;
        if self.since.elapsed() >= LONGEST {
            self.delay = SHORTEST;
        }
        self.since = Instant::now();
    }
}

impl Worker for Writer {
    type Key = ();
    type Message = Place;
    type Arguments = (Settings, watch::Sender<Option<String>>);
    type State = WriterState;

    async fn pre_start(
        &self,
        _: usize,
        _: &FactoryRef<(), Place>,
        (settings, given_up): Self::Arguments,
    ) -> Result<WriterState, ActorProcessingErr> {
        let connection = Connection::open(settings.server).await.ok();
        Ok(WriterState { settings, given_up, connection, delay: SHORTEST, since: Instant::now() })
    }

    /// The factory replaces a worker that panics, and keeps what waits.
    async fn handle(
        &self,
        _: usize,
        factory: &FactoryRef<(), Place>,
        Job { mut msg, .. }: Job<(), Place>,
        state: &mut WriterState,
    ) -> Result<(), ActorProcessingErr> {
        let connection = match state.connection(msg.until, factory).await {
            Ok(connection) => connection,
            Err(refusal) => {
                msg.answer(Err(refusal));
                return Ok(());
            }
        };
        let result = match connection.insert(msg.order).await {
            Ok(()) => Ok(()),
            Err(DbError::Rejected) => Err(Refusal::Rejected),
            Err(DbError::Disconnected(_)) => {
                state.disconnected();
                Err(Refusal::Failed)
            }
        };
        msg.answer(result);
        Ok(())
    }
}

struct Discarded;

impl DiscardHandler<(), Place> for Discarded {
    fn discard(&self, reason: DiscardReason, job: &mut Job<(), Place>) {
        job.msg.answer(Err(match reason {
            DiscardReason::Loadshed | DiscardReason::RateLimited => Refusal::Busy,
            DiscardReason::TtlExpired => Refusal::Late,
            DiscardReason::Shutdown => Refusal::Stopped,
        }));
    }
}

pub struct Shop {
    writers: FactoryRef<(), Place>,
    limit: Duration,
    given_up: watch::Receiver<Option<String>>,
}

impl Orders for Shop {
    async fn start(settings: Settings) -> Self {
        let (reason, given_up) = watch::channel(None);
        let arguments = FactoryArguments::builder()
            .worker_builder(Box::new(worker_builder(move |_| (Writer, (settings, reason.clone())))))
            .num_initial_workers(settings.writers)
            .router(routing::QueuerRouting::default())
            .queue(queues::DefaultQueue::default())
            .discard_handler(Arc::new(Discarded))
            .discard_settings(DiscardSettings::Static { limit: settings.waiting, mode: DiscardMode::Newest })
            .build();
        let factory =
            Factory::<(), Place, _, Writer, routing::QueuerRouting<_, _>, queues::DefaultQueue<_, _>>::default();
        let (writers, _) = Actor::spawn(None, factory, arguments).await.expect("workers that start");
        Self { writers, limit: settings.limit, given_up }
    }

    async fn place(&self, order: Order) -> Result<(), Refusal> {
        let until = Instant::now() + self.limit;
        let place = |reply| Place { order, until, reply: Some(reply) };
        let options = JobOptions::new(Some(self.limit));
        match self.writers.call_job_with_options((), place, options, Some(self.limit)).await {
            Ok(CallResult::Success(result)) => result,
            Ok(CallResult::Timeout) => Err(Refusal::Late),
            // Its worker has panicked.
            Ok(CallResult::SenderError) => Err(Refusal::Failed),
            Err(_) => Err(Refusal::Stopped),
        }
    }

    async fn ended(&self) -> String {
        let mut given_up = self.given_up.clone();
        let reason = given_up.wait_for(Option::is_some).await.ok().and_then(|reason| reason.clone());
        reason.unwrap_or_default()
    }

    async fn stop(&self) {
        let _has_ended = self.writers.drain_requests();
        let _late = timeout(self.limit, self.writers.wait(None)).await;
    }
}
