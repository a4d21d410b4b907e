//! The items of a stream, a few at a time.
//!
//! Rule 17.4.

use std::error::Error;
use std::fmt::Display;
use std::future::poll_fn;
use std::task::Poll;

use futures_core::Stream;
use tokio::sync::mpsc;

use super::body::Cancel;
use super::{Brought, Judge, MakeLast, Outcome, Source, WorkId, Works, judged, made};
use crate::actor::actor_ref::AnyActorRef;
use crate::actor::context::Context;
use crate::actor::definition::Actor;
use crate::actor::request::Request;
use crate::base::{UserValue, contained};
use crate::failure::Failure;

/// How many items of one stream may wait for their actor. While this many wait, the stream is not polled.
pub(super) const MOST_WAITING: usize = 16;

struct Items<A: Actor, T: 'static, F: 'static> {
    // Dropped first.
    _cancel: Cancel,
    waiting: mpsc::Receiver<Outcome<T>>,
    into_message: UserValue<F>,
    at_end: Option<MakeLast<A>>,
}

impl<A, T, F> Source<A> for Items<A, T, F>
where
    A: Actor,
    T: Send + 'static,
    F: FnMut(&A::Ref, T) -> A::Message + Send + 'static,
{
    fn next(&mut self, me: &A::Ref) -> Brought<A::Message> {
        if let Ok(item) = self.waiting.try_recv() {
            let message = item.and_then(|item| made(|| (self.into_message)(me, item.into_inner())));
            return Brought { message: Some(message), is_last: false };
        }
        let message = self.at_end.take().map(|make| made(|| (make.into_inner())(me)));
        Brought { message, is_last: true }
    }

    fn at_end(&mut self, make: MakeLast<A>) {
        self.at_end = Some(make);
    }
}

impl<A: Actor> Works<A> {
    pub(super) fn start_stream<S, T, F>(
        &mut self,
        actor: AnyActorRef,
        stream: S,
        judge: Judge<S::Item, T>,
        into_message: F,
    ) -> WorkId
    where
        S: Stream<Item: Send> + Send + 'static,
        T: Send + 'static,
        F: FnMut(&A::Ref, T) -> A::Message + Send + 'static,
    {
        let (sender, waiting) = mpsc::channel(MOST_WAITING);
        let notifier = self.notifier(actor);
        let id = notifier.id;
        let mut stream = UserValue::new(Box::pin(stream));
        let cancel = notifier.clone().drive(Box::pin(async move {
            // An error means that the receiver is gone.
            while let Ok(room) = sender.reserve().await {
                let next = poll_fn(|cx| match contained(|| stream.as_mut().poll_next(cx)) {
                    Ok(poll) => poll.map(Ok),
                    Err(payload) => Poll::Ready(Err(payload)),
                });
                let (item, is_last) = match next.await {
                    Ok(None) => break,
                    Ok(Some(item)) => (Ok(item), false),
                    // A stream that has panicked must not be polled again.
                    Err(payload) => (Err(payload), true),
                };
                room.send(judged(item, judge));
                notifier.notify();
                if is_last {
                    break;
                }
            }
            drop((stream, sender));
            notifier.notify();
        }));
        let into_message = UserValue::new(into_message);
        self.insert(id, Box::new(Items { _cancel: cancel, waiting, into_message, at_end: None }));
        id
    }
}

impl<A: Actor> Context<A> {
    /// Sends this actor the message that `into_message` makes of each item of `stream`, in their order, until the stream ends.
    /// A tokio task polls the stream. Needs the feature `stream`. At the end of the stream the actor gets no message, unless
    /// [`at_end`](Self::at_end) sets one.
    ///
    /// At most 16 items wait for the actor; while 16 wait, the stream is not polled. So a stream that is faster than
    /// its actor, or whose actor is suspended, uses a bounded amount of memory (rule
    /// [17.4](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-17.4)).
    ///
    /// A panic is a failure of this actor, and ends the stream.
    ///
    /// # Cancel safety
    ///
    /// As [`pipe`](Self::pipe): the stream is dropped between two polls, with the items that wait.
    pub fn attach<S, R, F>(&mut self, stream: S, into_message: F) -> WorkId
    where
        S: Stream<Item: Send + 'static> + Send + 'static,
        R: Send + 'static,
        F: for<'r> FnMut(&'r A::Ref, S::Item) -> Request<'r, A, R> + Send + 'static,
    {
        self.start_stream(stream, Ok, into_message)
    }

    /// Like [`attach`](Self::attach), for a stream of results: an `Err` is a failure of this actor, as with
    /// [`try_pipe`](Self::try_pipe). After a resume the stream goes on. Needs the feature `stream`.
    pub fn try_attach<S, T, E, R, F>(&mut self, stream: S, into_message: F) -> WorkId
    where
        S: Stream<Item = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Display + Into<Box<dyn Error + Send + Sync>> + Send + Sync + 'static,
        R: Send + 'static,
        F: for<'r> FnMut(&'r A::Ref, T) -> Request<'r, A, R> + Send + 'static,
    {
        self.start_stream(stream, |item| item.map_err(Failure::other), into_message)
    }

    fn start_stream<S, T, R, F>(
        &mut self,
        stream: S,
        judge: fn(S::Item) -> Result<T, Failure>,
        mut into_message: F,
    ) -> WorkId
    where
        S: Stream<Item: Send + 'static> + Send + 'static,
        T: Send + 'static,
        R: Send + 'static,
        F: for<'r> FnMut(&'r A::Ref, T) -> Request<'r, A, R> + Send + 'static,
    {
        let me = self.me_any();
        self.works().start_stream(me, stream, judge, move |me, item| into_message(me, item).into_message())
    }

    /// Sends this actor one more message after the last item of an attached stream, whether the stream ended by itself or by a panic.
    /// Replaces an earlier setting. Has no effect if the end has already been reported. Needs the feature `stream`.
    pub fn at_end<R, F>(&mut self, stream: WorkId, into_message: F)
    where
        R: Send + 'static,
        F: for<'r> FnOnce(&'r A::Ref) -> Request<'r, A, R> + Send + 'static,
    {
        self.works().at_end(stream, UserValue::new(Box::new(move |me| into_message(me).into_message())));
    }
}
