//! A plain future as a child: in the tree, supervised by its parent's table, restarted by its factory.
//!
//! Rule 17.7.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::pin::Pin;

use crate::actor::actor_ref::ActorRef;
use crate::actor::context::Context;
use crate::actor::definition::{Actor, FailsWith, NeverFails, Supervisor};
use crate::actor::parent_check::{AllHandlersStandInOneImplBlock, EscalationsDecidedBy, Failures};
use crate::failure::Failure;

/// An actor that runs a future and stops itself when the future returns. It takes no messages.
///
/// [`Context::spawn_task`] spawns one as a child. A task can also be a declared child. `C` then says what the future can
/// fail with: [`NeverFails`], or [`FailsWith<E>`](FailsWith) if it returns `Result<(), E>`.
///
/// - `Ok`: the task ends by itself, so a permanent one is replaced (rule
///   [14.2](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-14.2)).
/// - `Err` or a panic: the task fails, and its parent's table decides. A restart calls the factory again.
/// - A stop drops the future at the await point where it waits, without any stop timeout.
///
/// Rule [17.7](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-17.7).
///
/// ```
/// # extern crate supervise_core as supervise;
/// use std::io;
/// use std::time::Duration;
///
/// use supervise::{ActorSystem, Task};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let system = ActorSystem::new("service");
/// let cleaner = system.spawn("cleaner", || {
///     Task::new(async {
///         tokio::time::sleep(Duration::from_millis(1)).await;
///         io::Result::Ok(())
///     })
/// })?;
/// system.ended(&cleaner).await;
/// # system.terminate().await;
/// # Ok(())
/// # }
/// ```
pub struct Task<C = NeverFails> {
    /// Until it is started.
    future: Option<Body>,
    cause: PhantomData<fn() -> C>,
}

type Body = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>>;

impl<C: 'static> Task<C> {
    /// A task that runs `future`, which is first polled when the task has started.
    pub fn new<F>(future: F) -> Self
    where
        F: Future + Send + 'static,
        F::Output: TaskOutput<Cause = C>,
    {
        Self { future: Some(Box::pin(async move { future.await.into_result() })), cause: PhantomData }
    }
}

impl<C> fmt::Debug for Task<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").finish_non_exhaustive()
    }
}

/// What the future of a [`Task`] may return: `()` or `Result<(), E>`. One that loops for ever returns `!`.
#[diagnostic::on_unimplemented(
    message = "a task returns `()` or `Result<(), E>`, not `{Self}`",
    label = "nobody receives this value",
    note = "to send a value to the actor itself, use `ctx.pipe(future, |me, value| me.handler(value))` in a method with the parameter `ctx: &mut Context<Self>`"
)]
pub trait TaskOutput {
    /// Stands for what the task can fail with, see [`DecidedBy`](crate::DecidedBy).
    type Cause: 'static;

    /// The output as a `Result`.
    ///
    /// # Errors
    ///
    /// The future's own error.
    fn into_result(self) -> Result<(), Failure>;
}

impl TaskOutput for () {
    type Cause = NeverFails;

    fn into_result(self) -> Result<(), Failure> {
        Ok(())
    }
}

/// The type `!`, which stable Rust can name only as the return type of a function. It is the output of an `async` block that
/// ends with `loop`.
type Never = <fn() -> ! as Returns>::Output;

/// What a function returns.
pub trait Returns {
    /// Its type.
    type Output;
}

impl<T> Returns for fn() -> T {
    type Output = T;
}

impl TaskOutput for Never {
    type Cause = NeverFails;

    fn into_result(self) -> Result<(), Failure> {
        self
    }
}

impl<E> TaskOutput for Result<(), E>
where
    E: fmt::Display + Into<Box<dyn std::error::Error + Send + Sync>> + Send + Sync + 'static,
{
    type Cause = FailsWith<E>;

    fn into_result(self) -> Result<(), Failure> {
        self.map_err(Failure::other)
    }
}

/// The message that the future of a task returned. Only the task makes it.
#[derive(Debug)]
pub struct Returned(());

#[diagnostic::do_not_recommend]
impl<C: 'static> Supervisor for Task<C> {
    type Ref = ActorRef<Self>;
}

#[diagnostic::do_not_recommend]
impl<C: 'static> Actor for Task<C> {
    type Message = Returned;

    async fn pre_start(&mut self, ctx: &mut Context<Self>) -> Result<(), Failure> {
        if let Some(future) = self.future.take() {
            ctx.run(future);
        }
        Ok(())
    }

    fn handle_now(
        &mut self,
        Returned(()): Returned,
        ctx: &mut Context<Self>,
    ) -> ControlFlow<Result<(), Failure>, Returned> {
        ctx.stop_self();
        ControlFlow::Break(Ok(()))
    }
}

impl<C: 'static> Context<Task<C>> {
    fn run(&mut self, future: impl Future<Output = Result<(), Failure>> + Send + 'static) {
        let me = self.me_any();
        self.works().start_future(me, future, |result| result, |_, ()| Returned(()));
    }
}

impl<C> AllHandlersStandInOneImplBlock for Task<C> {
    type Failures = Failures<C>;
}

impl<P, C> EscalationsDecidedBy<P> for Task<C> {}
