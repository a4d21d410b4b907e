//! How an actor starts work and tasks.

use std::error::Error;
use std::fmt::Display;
use std::future::Future;

use super::task::{Task, TaskOutput};
use super::{WorkId, Works};
use crate::actor::actor_ref::ActorRef;
use crate::actor::cell::SpawnError;
use crate::actor::context::Context;
use crate::actor::definition::Actor;
use crate::actor::parent_check::DecidedBy;
use crate::actor::reported_at::ReportedAt;
use crate::actor::request::Request;
use crate::failure::Failure;

/// What [`Context::pipe`] runs: a future.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a future that can be piped",
    label = "this is not a future",
    note = "write an `async` block that owns what it uses: `let feed = self.feed.clone(); ctx.pipe(async move {{ feed.fetch().await }}, |me, reply| me.fetched(reply))`"
)]
pub trait Work: Future {}

#[diagnostic::do_not_recommend]
impl<F: Future> Work for F {}

/// What [`Context::spawn_task`] takes.
#[diagnostic::on_unimplemented(
    message = "a task must be a closure that returns a future and can run again, because it runs at each restart",
    label = "expected a closure without parameters that can run more than once",
    note = "if you passed a future, pass a closure that makes it: `let url = self.url.clone(); ctx.spawn_task(name, move || poll(url.clone()))`",
    note = "a closure that moves a captured value into the future can run only once: clone inside it, `move || poll(url.clone())`"
)]
pub trait TaskFactory {
    /// The future.
    type Product;

    /// Makes the future of one life of the task.
    fn make(&mut self) -> Self::Product;
}

#[diagnostic::do_not_recommend]
impl<T, F: FnMut() -> T> TaskFactory for F {
    type Product = T;

    fn make(&mut self) -> T {
        self()
    }
}

/// # Futures, streams, blocking work and tasks
///
/// Work that these methods start runs beside the handlers and belongs to the instance that started it. A restart or the
/// end of the actor cancels it, and nothing of it reaches the next instance (rule 17.1).
impl<A: Actor> Context<A> {
    /// Runs `future` as a tokio task, and sends this actor the message that `into_message` makes of its output. `into_message`
    /// is a closure such as `|me, rows| me.loaded(rows)`, or just `LoaderRef::loaded`. The message takes its place among the
    /// others when the future has returned (rule [17.2](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-17.2)).
    ///
    /// If the output is a `Result`, the message gets it unchanged; use [`try_pipe`](Self::try_pipe) to make its error a
    /// failure. A panic is a failure of this actor (rule [17.3](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-17.3)).
    ///
    /// An actor may have any number of futures running (rule [17.6](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-17.6)).
    ///
    /// # Cancel safety
    ///
    /// A restart, the end of the actor and [`cancel_work`](Self::cancel_work) drop the future at an await point
    /// (rule [17.5](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-17.5)).
    pub fn pipe<T, R, Fut, F>(&mut self, future: Fut, into_message: F) -> WorkId
    where
        Fut: Work<Output = T> + Send + 'static,
        T: Send + 'static,
        R: Send + 'static,
        F: for<'r> FnOnce(&'r A::Ref, T) -> Request<'r, A, R> + Send + 'static,
    {
        self.start(future, Ok, into_message)
    }

    /// Like [`pipe`](Self::pipe), for a future that may fail: an `Err` is a failure of this actor, as if a handler had returned it, and
    /// its supervisor's table decides. The compiler does not check that the table has a rule for `E`. If it has none, and no
    /// `on(_)`, the failure escalates (rule [17.3](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-17.3)).
    pub fn try_pipe<T, E, R, Fut, F>(&mut self, future: Fut, into_message: F) -> WorkId
    where
        Fut: Work<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Display + Into<Box<dyn Error + Send + Sync>> + Send + Sync + 'static,
        R: Send + 'static,
        F: for<'r> FnOnce(&'r A::Ref, T) -> Request<'r, A, R> + Send + 'static,
    {
        self.start(future, |output| output.map_err(Failure::other), into_message)
    }

    fn start<T, R, Fut, F>(
        &mut self,
        future: Fut,
        judge: fn(Fut::Output) -> Result<T, Failure>,
        into_message: F,
    ) -> WorkId
    where
        Fut: Future<Output: Send + 'static> + Send + 'static,
        T: Send + 'static,
        R: Send + 'static,
        F: for<'r> FnOnce(&'r A::Ref, T) -> Request<'r, A, R> + Send + 'static,
    {
        let me = self.me_any();
        self.works().start_future(me, future, judge, move |me, value| into_message(me, value).into_message())
    }

    /// Runs `closure` on tokio's pool for blocking code, and sends this actor the message that `into_message` makes of what the
    /// closure returns. Otherwise like [`pipe`](Self::pipe).
    ///
    /// Nothing can interrupt code that blocks. A restart or a stop does not wait for a closure that runs, and drops its
    /// result. A closure that has not begun is dropped (rule
    /// [17.5](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-17.5)). A runtime that
    /// shuts down waits for closures that run.
    pub fn blocking<T, R, C, F>(&mut self, closure: C, into_message: F) -> WorkId
    where
        C: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
        R: Send + 'static,
        F: for<'r> FnOnce(&'r A::Ref, T) -> Request<'r, A, R> + Send + 'static,
    {
        self.start_blocking(closure, Ok, into_message)
    }

    /// Like [`blocking`](Self::blocking), for a closure that may fail: an `Err` is a failure of this actor, as with
    /// [`try_pipe`](Self::try_pipe).
    pub fn try_blocking<T, E, R, C, F>(&mut self, closure: C, into_message: F) -> WorkId
    where
        C: FnOnce() -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: Display + Into<Box<dyn Error + Send + Sync>> + Send + Sync + 'static,
        R: Send + 'static,
        F: for<'r> FnOnce(&'r A::Ref, T) -> Request<'r, A, R> + Send + 'static,
    {
        self.start_blocking(closure, |output| output.map_err(Failure::other), into_message)
    }

    fn start_blocking<O, T, R, C, F>(
        &mut self,
        closure: C,
        judge: fn(O) -> Result<T, Failure>,
        into_message: F,
    ) -> WorkId
    where
        C: FnOnce() -> O + Send + 'static,
        O: 'static,
        T: Send + 'static,
        R: Send + 'static,
        F: for<'r> FnOnce(&'r A::Ref, T) -> Request<'r, A, R> + Send + 'static,
    {
        let me = self.me_any();
        self.works().start_blocking(me, closure, judge, move |me, value| into_message(me, value).into_message())
    }

    /// Cancels a future, a stream or a blocking closure of this instance. Its outcome does not arrive, even if it is on
    /// its way. Does nothing if the work is over, or was cancelled by a restart.
    pub fn cancel_work(&mut self, work: WorkId) {
        self.works().cancel(work);
    }

    /// How many futures, streams and blocking closures of this instance are running. Each counts until the actor takes up
    /// its last message.
    pub fn running_work(&self) -> usize {
        self.works_so_far().map_or(0, Works::len)
    }

    /// Spawns a child that runs a future. `factory` runs on the child's turn, and again at each restart. It is a child like any
    /// other, with a name and a place in the tree. The compiler checks that this actor's table decides the error that the
    /// future returns.
    ///
    /// It ends when the future returns `()` or `Ok(())`, and fails when it returns `Err` or panics. A stop drops the future
    /// at the await point where it waits. See [`Task`] and rule [17.7](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-17.7).
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    pub fn spawn_task<F, Fut>(
        &mut self,
        name: impl AsRef<str>,
        mut factory: F,
    ) -> Result<ActorRef<Task<<Fut::Output as TaskOutput>::Cause>>, SpawnError>
    where
        F: TaskFactory<Product = Fut> + Send + 'static,
        Fut: Future<Output: TaskOutput> + Send + 'static,
        ReportedAt<F, <Fut::Output as TaskOutput>::Cause>: DecidedBy<A>,
    {
        self.spawn(name, move || Task::new(factory.make()))
    }
}
