//! Messages in one SQLite file.

mod draft;
mod engine;
mod file;
mod identity;
mod marks;
mod queue;
mod recover;
mod reserve;
mod rows;
mod statements;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::SystemTime;

use supervise_core::durable::{
    Appended, Claim, CommitError, Group, MessageStore, Opened, Owner, Quarantined, QueueId, QueueRow, Room, Seq,
    StoreError, StoreErrorKind, StoreFuture, Stored,
};
use tokio::sync::oneshot;

use self::engine::Engine;
use self::file::Place;
use self::recover::{Settings, recover, this_boot};

/// How much room the store keeps for groups that add no message.
const RESERVE: u64 = 8 << 20;

/// A [`MessageStore`] in one SQLite file, for one process at a time.
///
/// A message is accepted when the file is synced, so it survives the end of the process and of the machine, if the disk keeps
/// what it has synced.
///
/// Three files stand beside the file, with its name and an ending: `-wal` is SQLite's log, `-marks` says what is
/// being handled, and `-reserve` takes 8 MB so that messages can be handled when the disk is full. While a process
/// has the store open, or after it has died, the file is incomplete without `-wal` and `-marks`. After a clean end
/// it may be moved alone.
///
/// A thread of its own does the work. Dropping an open store blocks until its last call has ended, and is an unclean end.
///
/// # Damage
///
/// The store opens only if all it had accepted is there: rule [27.14](crate::docs::semantics#rule-27.14). It
/// notices a damaged message, a missing number, and a file whose end was cut off. It does not notice if the end
/// was cut off together with the marks.
pub struct SqliteStore {
    place: Place,
    settings: Settings,
    worker: Option<Worker>,
    /// What [`open`](Self::open) found, for the runtime's first call.
    opened: Option<Opened>,
}

struct Worker {
    jobs: mpsc::Sender<Job>,
    thread: JoinHandle<()>,
}

type Work = Box<dyn FnOnce(Option<&mut Engine<'_>>) + Send>;
type OpenAnswer = Box<dyn FnOnce(Result<Opened, StoreError>) + Send>;

enum Job {
    Open(OpenAnswer),
    Work(Work),
    Close(oneshot::Sender<Result<(), StoreError>>),
}

impl SqliteStore {
    /// Opens the store in the file at `path`, which is created if it does not exist. Blocks for a few milliseconds.
    ///
    /// # Errors
    ///
    /// If another process has it open, if it cannot be written, if a newer release has written it, or if it is damaged. Nothing
    /// is changed then.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let mut store = Self::new(path);
        let (answer, opened) = mpsc::channel();
        store.send(Job::Open(Box::new(move |opened| drop(answer.send(opened)))))?;
        store.opened = Some(opened.recv().unwrap_or_else(|_| Err(store.gone()))?);
        Ok(store)
    }

    /// The store in the file at `path`, which the actor system opens when it starts.
    pub fn new(path: impl AsRef<Path>) -> Self {
        let (clock, boot) = (Arc::new(SystemTime::now), this_boot());
        let settings = Settings { accepts_damage: false, reserve: RESERVE, clock, boot };
        Self { place: Place { path: path.as_ref().to_owned() }, settings, worker: None, opened: None }
    }

    /// Opens the store although accepted messages are missing, and [names them](Opened::missing). Their numbers are not used
    /// again.
    pub fn accept_damage(mut self) -> Self {
        self.settings.accepts_damage = true;
        self
    }

    /// How many bytes of disk the store keeps for groups that add no message, 8 MB unless said otherwise.
    pub fn reserve(mut self, bytes: u64) -> Self {
        self.settings.reserve = bytes;
        self
    }

    /// By which clock keys expire.
    #[doc(hidden)]
    pub fn clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.settings.clock = Arc::new(clock);
        self
    }

    /// Which boot of the machine this is.
    #[doc(hidden)]
    pub fn boot(mut self, boot: impl Into<String>) -> Self {
        self.settings.boot = boot.into();
        self
    }

    fn send(&mut self, job: Job) -> Result<(), StoreError> {
        let worker = match self.worker.take() {
            Some(worker) => worker,
            None => self.start()?,
        };
        let sent = worker.jobs.send(job);
        self.worker = Some(worker);
        sent.map_err(|_| self.gone())
    }

    fn start(&self) -> Result<Worker, StoreError> {
        let (jobs, inbox) = mpsc::channel();
        let (place, settings) = (self.place.clone(), self.settings.clone());
        let work = move || serve(&place, &settings, &inbox);
        let thread = std::thread::Builder::new().name("supervise-store".to_owned()).spawn(work);
        match thread {
            Ok(thread) => Ok(Worker { jobs, thread }),
            Err(error) => Err(self
                .place
                .error(StoreErrorKind::Broken, format_args!("its thread could not be started: {error}"))),
        }
    }

    async fn call<T, F>(&mut self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Engine<'_>) -> T + Send + 'static,
    {
        let (answer, done) = oneshot::channel();
        let job = Job::Work(Box::new(move |engine| {
            if let Some(engine) = engine {
                // The runtime awaits every call, so the receiver exists.
                let _ = answer.send(work(engine));
            }
        }));
        self.send(job)?;
        done.await.map_err(|_| self.gone())
    }

    fn gone(&self) -> StoreError {
        self.place.error(StoreErrorKind::Broken, "the store is not open")
    }
}

impl MessageStore for SqliteStore {
    fn open<'a>(&'a mut self, _: &'a Owner) -> StoreFuture<'a, Result<Opened, StoreError>> {
        Box::pin(async move {
            if let Some(opened) = self.opened.take() {
                return Ok(opened);
            }
            let (answer, opened) = oneshot::channel();
            self.send(Job::Open(Box::new(move |opened| drop(answer.send(opened)))))?;
            opened.await.unwrap_or_else(|_| Err(self.gone()))
        })
    }

    fn claim<'a>(&'a mut self, queue: &'a str) -> StoreFuture<'a, Result<Claim, StoreError>> {
        let queue = queue.to_owned();
        Box::pin(async move { self.call(move |engine| engine.claim(&queue)).await? })
    }

    fn commit<'a>(&'a mut self, group: &'a Group) -> StoreFuture<'a, Result<Vec<Appended>, CommitError>> {
        let group = group.clone();
        Box::pin(async move {
            let done = self.call(move |engine| engine.commit(&group)).await;
            done.unwrap_or_else(|error| Err(CommitError::Unknown(error.text)))
        })
    }

    fn page(
        &mut self,
        queue: QueueId,
        after: Seq,
        room: Room,
    ) -> StoreFuture<'_, Result<Vec<Stored>, StoreError>> {
        Box::pin(async move { self.call(move |engine| engine.page(queue, after, room)).await? })
    }

    fn queues(&mut self) -> StoreFuture<'_, Result<Vec<QueueRow>, StoreError>> {
        #[expect(
            clippy::redundant_closure_for_method_calls,
            reason = "the method is for one lifetime of the engine only"
        )]
        Box::pin(async move { self.call(|engine| engine.queues()).await? })
    }

    fn quarantined<'a>(
        &'a mut self,
        queue: &'a str,
        after: Seq,
        room: Room,
    ) -> StoreFuture<'a, Result<Vec<Quarantined>, StoreError>> {
        let queue = queue.to_owned();
        Box::pin(async move { self.call(move |engine| engine.quarantined(&queue, after, room)).await? })
    }

    fn close(mut self: Box<Self>) -> StoreFuture<'static, Result<(), StoreError>> {
        Box::pin(async move {
            let (answer, closed) = oneshot::channel();
            self.send(Job::Close(answer))?;
            closed.await.unwrap_or_else(|_| Err(self.gone()))
        })
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        if let Some(Worker { jobs, thread }) = self.worker.take() {
            drop(jobs);
            // The thread ends when it has no more work. If it panicked, the panic has been reported.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.place.path).finish_non_exhaustive()
    }
}

/// What the thread does when the store is closed and its file is free.
enum After {
    Refused(OpenAnswer, StoreError),
    OpenAgain(OpenAnswer),
    Closed(oneshot::Sender<Result<(), StoreError>>, Result<(), StoreError>),
    Dropped,
}

/// The thread of a store: opens it as often as it is told to.
fn serve(place: &Place, settings: &Settings, inbox: &mpsc::Receiver<Job>) {
    let mut again = None;
    loop {
        let answer = match again.take() {
            Some(answer) => answer,
            None => match inbox.recv() {
                Ok(Job::Open(answer)) => answer,
                Ok(Job::Work(work)) => {
                    work(None);
                    continue;
                }
                // Its caller hears that it is not open.
                Ok(Job::Close(_)) => continue,
                Err(_) => return,
            },
        };
        match serve_open(place, settings, inbox, answer) {
            After::Refused(answer, error) => answer(Err(error)),
            After::OpenAgain(answer) => again = Some(answer),
            // If the runtime is gone, nobody waits for the answer.
            After::Closed(answer, closed) => drop(answer.send(closed)),
            After::Dropped => return,
        }
    }
}

/// Opens the store, and serves it while it is open.
fn serve_open(place: &Place, settings: &Settings, inbox: &mpsc::Receiver<Job>, answer: OpenAnswer) -> After {
    let connection = match place.connect(settings.accepts_damage) {
        Ok(connected) => connected,
        Err(error) => return After::Refused(answer, error),
    };
    let mut engine = match recover(place, settings, &connection) {
        Ok((engine, opened)) => {
            answer(Ok(opened));
            engine
        }
        Err(error) => return After::Refused(answer, error),
    };
    loop {
        match inbox.recv() {
            Ok(Job::Open(answer)) => return After::OpenAgain(answer),
            Ok(Job::Work(work)) => {
                work(Some(&mut engine));
                engine.tidy();
            }
            Ok(Job::Close(answer)) => return After::Closed(answer, engine.close()),
            Err(_) => return After::Dropped,
        }
    }
}
