//! What an instance has running beside its handlers: futures, streams and blocking closures.
//!
//! ```text
//!   ctx.pipe(future, f) ──► tokio task ──► outcome ──► a channel ────┐
//!                                └───────► control ──► user lane ────┴──► f(me, output) ──► handler
//! ```
//!
//! An outcome waits in a channel of its own. The actor's user lane gets a control for it, as for a timer that is due. When the
//! cell takes this control, it takes the outcome and makes its message. If the work was cancelled, the control has no effect, so an
//! instance never sees the outcome of work that an earlier one has started.
//!
//! 1. Cancelling drops the user's future on the actor's turn, so that what it owns is free before the next instance is made.
//!    If another thread polls it at that moment, it is dropped after that poll. See [`Body`].
//! 2. There is one [`Source`] for each piece of work. Dropping it cancels the work.
//!
//! Rules 17.1, 17.2, 17.3, 17.5 and 17.6.

mod body;
mod context;
#[cfg(feature = "stream")]
mod items;
mod task;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use tokio::sync::oneshot;

use self::body::{Body, BoxedFuture, Cancel, Driver};
use crate::actor::actor_ref::AnyActorRef;
use crate::actor::control::Control;
use crate::actor::definition::Actor;
#[cfg(feature = "stream")]
use crate::actor::definition::Supervisor;
use crate::actor::dispatch;
use crate::base::{Payload, StartOrder, UserValue, contained, contained_async};
use crate::failure::Failure;

pub use self::context::{TaskFactory, Work};
pub use self::task::{Task, TaskOutput};

/// Identifies one piece of work that an actor has running. [`Context::pipe`](crate::Context::pipe) and similar
/// methods return it, and [`Context::cancel_work`](crate::Context::cancel_work) takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkId(u64);

/// The outcome of user code. It waits in a channel, so it may be dropped anywhere.
type Outcome<T> = Result<UserValue<T>, Failure>;

/// Tells a value from a failure.
type Judge<O, T> = fn(O) -> Result<T, Failure>;

/// What the control of an outcome leads to.
struct Brought<M> {
    message: Option<Result<M, Failure>>,
    /// The work has no further outcome.
    is_last: bool,
}

/// The source of the outcomes of one piece of work. Dropping it cancels the work.
trait Source<A: Actor>: Send {
    /// The cell has taken the control of an outcome. The user's code that makes the message runs in here, contained.
    fn next(&mut self, me: &A::Ref) -> Brought<A::Message>;

    /// Sets what is sent when it ends.
    #[cfg(feature = "stream")]
    fn at_end(&mut self, _make: MakeLast<A>) {}
}

/// Makes the message for the end of a stream.
#[cfg(feature = "stream")]
type MakeLast<A> = UserValue<Box<dyn FnOnce(&<A as Supervisor>::Ref) -> <A as Actor>::Message + Send>>;

/// The work of one actor.
pub(crate) struct Works<A: Actor> {
    running: Vec<Option<Box<dyn Source<A>>>>,
    places: Places,
    next: u64,
}

impl<A: Actor> Works<A> {
    pub(crate) fn new() -> Self {
        Self { running: Vec::new(), places: Places::default(), next: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.by_id.len()
    }

    /// Drops the user's futures.
    pub(crate) fn cancel(&mut self, id: WorkId) {
        let Some(at) = self.places.remove(id) else { return };
        drop(self.running[at].take());
        if self.places.by_id.is_empty() {
            self.running = Vec::new();
        }
    }

    /// Cancels all work. Controls that wait then have no effect (rule 17.1). Returns whether there was any work.
    pub(crate) fn cancel_all(&mut self) -> bool {
        if self.running.is_empty() {
            return false;
        }
        let mut running = std::mem::take(&mut self.running);
        for at in self.places.remove_all() {
            drop(running[at].take());
        }
        true
    }

    /// The cell has taken the control of an outcome.
    pub(crate) fn take(&mut self, id: WorkId, me: &A::Ref) -> Option<Result<A::Message, Failure>> {
        let Brought { message, is_last } = self.source(id)?.next(me);
        if is_last {
            self.cancel(id);
        }
        message
    }

    #[cfg(feature = "stream")]
    fn at_end(&mut self, id: WorkId, make: MakeLast<A>) {
        if let Some(source) = self.source(id) {
            source.at_end(make);
        }
    }

    fn source(&mut self, id: WorkId) -> Option<&mut Box<dyn Source<A>>> {
        self.running[self.places.of(id)?].as_mut()
    }

    fn insert(&mut self, id: WorkId, source: Box<dyn Source<A>>) {
        let at = self.places.add(id);
        if at == self.running.len() {
            self.running.push(None);
        }
        self.running[at] = Some(source);
    }

    /// The notifier of the next piece of work.
    fn notifier(&mut self, actor: AnyActorRef) -> Notifier {
        self.next += 1;
        Notifier { actor, id: WorkId(self.next) }
    }

    fn start_future<Fut, T, F>(
        &mut self,
        actor: AnyActorRef,
        future: Fut,
        judge: Judge<Fut::Output, T>,
        into_message: F,
    ) -> WorkId
    where
        Fut: Future<Output: Send + 'static> + Send + 'static,
        T: Send + 'static,
        F: FnOnce(&A::Ref, T) -> A::Message + Send + 'static,
    {
        let (sender, outcome) = oneshot::channel();
        let due = AnswerDue::of(&actor);
        let notifier = self.notifier(actor);
        let id = notifier.id;
        let cancel = notifier.clone().drive(Box::pin(async move {
            let output = contained_async(future).await;
            // If the work was cancelled, the receiver is gone.
            let _cancelled = sender.send(judged(output, judge));
            notifier.notify();
        }));
        self.insert(id, Once::boxed(cancel, due, outcome, into_message));
        id
    }

    fn start_blocking<C, O, T, F>(
        &mut self,
        actor: AnyActorRef,
        closure: C,
        judge: Judge<O, T>,
        into_message: F,
    ) -> WorkId
    where
        C: FnOnce() -> O + Send + 'static,
        O: 'static,
        T: Send + 'static,
        F: FnOnce(&A::Ref, T) -> A::Message + Send + 'static,
    {
        let (sender, outcome) = oneshot::channel();
        let due = AnswerDue::of(&actor);
        let notifier = self.notifier(actor);
        let id = notifier.id;
        let cancel = notifier.clone().block(move || {
            let output = contained(closure);
            let _cancelled = sender.send(judged(output, judge));
            notifier.notify();
        });
        self.insert(id, Once::boxed(cancel, due, outcome, into_message));
        id
    }
}

impl<A: Actor> fmt::Debug for Works<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.places.by_id.iter().map(|(id, _)| WorkId(id))).finish()
    }
}

/// The value that user code returned, or its panic.
fn judged<O, T>(output: Result<O, Payload>, judge: Judge<O, T>) -> Outcome<T> {
    match output {
        Ok(output) => judge(output).map(UserValue::new),
        Err(payload) => Err(Failure::panic(payload)),
    }
}

/// Where each piece of work is in a list with gaps. Not generic, so that it is compiled once and not for each type of actor.
#[derive(Debug, Default)]
struct Places {
    /// In the order in which they were started, which is the order in which they are cancelled.
    by_id: StartOrder<u64, usize>,
    gaps: Vec<usize>,
}

impl Places {
    fn of(&self, id: WorkId) -> Option<usize> {
        self.by_id.get(id.0).copied()
    }

    /// The place for a new piece of work: a gap, or behind all others.
    fn add(&mut self, id: WorkId) -> usize {
        let at = self.gaps.pop().unwrap_or(self.by_id.len());
        self.by_id.push(id.0, at);
        at
    }

    fn remove(&mut self, id: WorkId) -> Option<usize> {
        let at = self.by_id.remove(id.0)?;
        self.gaps.push(at);
        if self.by_id.is_empty() {
            self.gaps = Vec::new();
        }
        Some(at)
    }

    fn remove_all(&mut self) -> Vec<usize> {
        self.gaps = Vec::new();
        std::mem::take(&mut self.by_id).iter().map(|(_, at)| *at).collect()
    }
}

/// Makes a message by the user's code.
fn made<M>(make: impl FnOnce() -> M) -> Result<M, Failure> {
    contained(make).map_err(Failure::panic)
}

/// Tells the actor that one piece of work has an outcome.
#[derive(Clone)]
struct Notifier {
    actor: AnyActorRef,
    id: WorkId,
}

impl Notifier {
    /// Puts a control for the outcome into the actor's user lane.
    fn notify(&self) {
        let _ended = self.actor.0.push_control(Control::Outcome(self.id));
    }

    /// Runs a future as a task of tokio's.
    fn drive(self, future: BoxedFuture) -> Cancel {
        let body = Body::new(future);
        let task = dispatch::start(&self.actor.core().system, Driver::new(&body));
        Cancel::new(body, task)
    }

    /// Runs a closure on tokio's pool for code that blocks.
    fn block(self, closure: impl FnOnce() + Send + 'static) -> Cancel {
        let body = Body::new(Box::new(closure) as Box<dyn FnOnce() + Send>);
        let runs = Arc::clone(&body);
        let task = self.actor.core().system.runtime().spawn_blocking(move || {
            if let Some(closure) = runs.take() {
                (closure.into_inner())();
            }
        });
        Cancel::new(body, task.abort_handle())
    }
}

/// While this exists, a child that has a key is not idle: it waits for an answer. Rule 18.6.
struct AnswerDue(Option<AnyActorRef>);

impl AnswerDue {
    fn of(actor: &AnyActorRef) -> Self {
        Self(actor.core().answer_is_due().then(|| actor.clone()))
    }
}

impl Drop for AnswerDue {
    fn drop(&mut self) {
        if let Some(actor) = &self.0 {
            actor.core().answer_is_there();
        }
    }
}

/// A future or a closure.
struct Once<T: 'static, F: 'static> {
    // Dropped first.
    _cancel: Cancel,
    _due: AnswerDue,
    outcome: oneshot::Receiver<Outcome<T>>,
    into_message: Option<UserValue<F>>,
}

impl<T, F> Once<T, F> {
    fn boxed(
        cancel: Cancel,
        due: AnswerDue,
        outcome: oneshot::Receiver<Outcome<T>>,
        into_message: F,
    ) -> Box<Self> {
        Box::new(Self { _cancel: cancel, _due: due, outcome, into_message: Some(UserValue::new(into_message)) })
    }
}

impl<A, T, F> Source<A> for Once<T, F>
where
    A: Actor,
    T: Send + 'static,
    F: FnOnce(&A::Ref, T) -> A::Message + Send + 'static,
{
    fn next(&mut self, me: &A::Ref) -> Brought<A::Message> {
        let message = self.outcome.try_recv().ok().zip(self.into_message.take()).map(|(outcome, into_message)| {
            let value = outcome?;
            made(|| (into_message.into_inner())(me, value.into_inner()))
        });
        Brought { message, is_last: true }
    }
}

#[cfg(all(test, not(supervise_loom)))]
mod tests {
    use std::time::Duration;

    use crate::actor::{Actor, ActorRef, ActorSystem, Context, Request, Supervisor};
    use crate::failure::Failure;

    /// Starts work that is over at once, and then cannot start itself.
    struct Unfit;

    impl Supervisor for Unfit {
        type Ref = ActorRef<Self>;
    }

    impl Actor for Unfit {
        type Message = ();

        async fn pre_start(&mut self, ctx: &mut Context<Self>) -> Result<(), Failure> {
            for _ in 0..10 {
                ctx.pipe(async {}, |me, ()| Request::<_, ()>::new(me, (), |(), _| {}));
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
            Err(Failure::new(std::fmt::Error))
        }

        async fn handle(&mut self, (): (), _: &mut Context<Self>) -> Result<(), Failure> {
            Ok(())
        }
    }

    /// The outcomes of an instance that has gone are not kept, however many instances come and go before one handles a message.
    #[tokio::test(start_paused = true)]
    async fn outcomes_do_not_pile_up_over_restarts() {
        let system = ActorSystem::new("outcomes");
        let unfit = system.spawn("unfit", || Unfit).expect("a free name");
        unfit.tell(()).expect("a mailbox without a bound");
        for _ in 0..if cfg!(miri) { 5 } else { 100 } {
            tokio::time::sleep(Duration::from_secs(11)).await;
        }
        assert!(!unfit.has_ended());
        let left = unfit.mailbox().controls();
        assert!(left <= 10, "{left} controls wait");
        system.terminate().await;
    }
}
