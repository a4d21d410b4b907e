//! Methods that people know from other frameworks, so that the compiler can say what to write instead.
//!
//! `tell` works. Each other method has a bound that nothing satisfies, and the bound's message is the hint. A method that a user declares under the same
//! name, such as a handler, is found first.

use std::future::Ready;
use std::io;

use crate::actor::{
    Actor, ActorSystem, Answer, Context, MessageFor, RefOf, Request, SendError, SendErrorReason, TypedRef, WorkId,
};

/// Makes a bound that nothing satisfies. The message of the error may speak of `{Self}`.
macro_rules! hints {
    ($($name:ident: $message:literal, $label:literal, $note:literal;)*) => {$(
        #[doc = $message]
        #[diagnostic::on_unimplemented(message = $message, label = $label, note = $note)]
        pub trait $name {}
    )*};
}

hints! {
    TakesMessages:
        "a `{Self}` takes no message values: it has a method for each handler",
        "call the method that is named after the handler",
        "import and build no message: for `#[handler] fn greet(&mut self, name: String)` write `r.greet(name).await?` to ask, `r.greet(name).tell()?` to send";
    StopsByItself:
        "a `{Self}` has a method for each message, and the other methods of refs are those of `actor_ref()`",
        "call `.actor_ref()` first",
        "write `r.actor_ref().stop()` or, in its parent, `ctx.stop(&r)`";
    TellsItsState:
        "a `{Self}` has a method for each message, and the other methods of refs are those of `actor_ref()`",
        "call `.actor_ref()` first",
        "write `r.actor_ref().has_ended()`";
    KnowsTheSender:
        "a handler does not know who sent its message",
        "there is no sender to answer",
        "return the answer from the handler: `#[handler] fn translate(&self, word: String) -> String`; the asker gets it from `.await`";
    HasAnAddress:
        "the context gives the actor's own ref as `ctx.me()`",
        "write `ctx.me()`",
        "the ref has a method for each message: `ctx.me().tick().tell()?`";
    RunsClosures:
        "a timer sends the actor a message and does not run a closure",
        "write `ctx.start_periodic_timer(..)` or `ctx.start_timer(..)`",
        "for `#[handler] fn tick(&mut self)` write `let me = ctx.me(); ctx.start_timer(\"tick\", delay, me.tick());`";
    LinksActors:
        "actors are linked by `ctx.death_pact(&r)`",
        "write `ctx.death_pact(&r)` to fail when the other actor ends",
        "to be told of the end, write `ctx.watch(&r)` and a method `#[watch] fn gone(&mut self, gone: Terminated<A>)`";
    EndsByTerminate:
        "a system ends with `terminate()`",
        "write `system.terminate().await`",
        "it runs the coordinated shutdown first; to end at a signal, write `system.shutdown_on_signal()?` and await `system.when_terminated()`";
    HasFeatureSignal:
        "`shutdown_on_signal` needs the feature `signal` of `supervise`",
        "this feature is off",
        "write `supervise-actors = {{ version = \"..\", features = [\"signal\"] }}` in Cargo.toml";
    HasFeatureStream:
        "the methods for streams need the feature `stream` of `supervise`",
        "this feature is off",
        "write `supervise-actors = {{ version = \"..\", features = [\"stream\"] }}` in Cargo.toml";
}

/// Implemented by `#[actor]` for the ref it generates, and for no other: a ref that dereferences to a generated one keeps its
/// handlers of these names.
pub trait MigrationHints: TypedRef {
    /// Sends a message that was built by hand, as [`ActorRef::tell`](crate::ActorRef::tell) does.
    ///
    /// # Errors
    ///
    /// Gives the message back when the actor has stopped, or its bounded mailbox is full and refuses.
    fn tell<M>(&self, message: M) -> Result<(), SendError<<Self::Actor as Actor>::Message>>
    where
        Self::Actor: Actor,
        M: MessageFor<Self::Actor>,
    {
        self.actor_ref().tell(message)
    }

    /// `send(message)`
    fn send<M>(&self, _: M) -> Answer<()>
    where
        Self: TakesMessages,
    {
        unreachable!("no ref implements it")
    }

    /// `ask(message)`
    fn ask<M>(&self, _: M) -> Answer<()>
    where
        Self: TakesMessages,
    {
        unreachable!("no ref implements it")
    }

    /// `cast(message)`, as in Erlang and ractor
    fn cast<M>(&self, _: M) -> Result<(), SendErrorReason>
    where
        Self: TakesMessages,
    {
        unreachable!("no ref takes messages")
    }

    /// `call(message)`, as in Erlang
    fn call<M>(&self, _: M) -> Answer<()>
    where
        Self: TakesMessages,
    {
        unreachable!("no ref takes messages")
    }

    /// `do_send(message)`, as in actix
    fn do_send<M>(&self, _: M)
    where
        Self: TakesMessages,
    {
        unreachable!("no ref takes messages")
    }

    /// `send_message(message)`, as in ractor
    fn send_message<M>(&self, _: M) -> Result<(), SendErrorReason>
    where
        Self: TakesMessages,
    {
        unreachable!("no ref takes messages")
    }

    /// `stop()`
    fn stop(&self)
    where
        Self: StopsByItself,
    {
        unreachable!("no generated ref has this method")
    }

    /// `has_ended()`
    fn has_ended(&self) -> bool
    where
        Self: TellsItsState,
    {
        unreachable!("no generated ref has this method")
    }
}

/// Stands for the sender of a message, which an actor does not know.
#[derive(Debug)]
pub enum Sender {}

impl Sender {
    /// `tell(message)`, so that only [`ContextHints::sender`] is reported.
    pub fn tell<M>(&self, _: M) {}
}

/// Methods that people look for in a context.
pub trait ContextHints {
    /// The context's actor.
    type Actor: Actor;

    /// `sender()`, as in Akka
    fn sender(&self) -> Sender
    where
        Self: KnowsTheSender,
    {
        unreachable!("no context has this method")
    }

    /// `address()`, as in actix
    fn address(&self) -> RefOf<Self::Actor>
    where
        Self: HasAnAddress,
    {
        unreachable!("no context has this method")
    }

    /// `run_interval(..)`, as in actix
    fn run_interval<D, F>(&mut self, _: D, _: F)
    where
        Self: RunsClosures,
    {
        unreachable!("no context has this method")
    }

    /// `run_later(..)`, as in actix
    fn run_later<D, F>(&mut self, _: D, _: F)
    where
        Self: RunsClosures,
    {
        unreachable!("no context has this method")
    }

    /// `attach(..)`, where the feature `stream` is off. With it, the context's own method is found first.
    fn attach<S, T, R, F>(&mut self, _: S, _: F) -> WorkId
    where
        Self: HasFeatureStream,
        F: for<'r> FnMut(&'r RefOf<Self::Actor>, T) -> Request<'r, Self::Actor, R>,
    {
        unreachable!("no context has this method without the feature")
    }

    /// `try_attach(..)`, where the feature `stream` is off
    fn try_attach<S, T, R, F>(&mut self, _: S, _: F) -> WorkId
    where
        Self: HasFeatureStream,
        F: for<'r> FnMut(&'r RefOf<Self::Actor>, T) -> Request<'r, Self::Actor, R>,
    {
        unreachable!("no context has this method without the feature")
    }

    /// `at_end(..)`, where the feature `stream` is off
    fn at_end<R, F>(&mut self, _: WorkId, _: F)
    where
        Self: HasFeatureStream,
        F: for<'r> FnOnce(&'r RefOf<Self::Actor>) -> Request<'r, Self::Actor, R>,
    {
        unreachable!("no context has this method without the feature")
    }

    /// `link(r)`, as in Erlang
    fn link<R>(&mut self, _: R)
    where
        Self: LinksActors,
    {
        unreachable!("no context has this method")
    }

    /// `monitor(r)`, as in Erlang
    fn monitor<R>(&mut self, _: R)
    where
        Self: LinksActors,
    {
        unreachable!("no context has this method")
    }
}

impl<A: Actor> ContextHints for Context<A> {
    type Actor = A;
}

/// Methods that people look for in a system, or that it has only with other features.
pub trait SystemHints {
    /// `shutdown()`
    fn shutdown(&self) -> Ready<()>
    where
        Self: EndsByTerminate,
    {
        unreachable!("no system has this method")
    }

    /// `shutdown_on_signal()`, where the feature `signal` is off. With it, the system's own method is found first.
    ///
    /// # Errors
    ///
    /// None: it cannot be called.
    fn shutdown_on_signal(&self) -> io::Result<()>
    where
        Self: HasFeatureSignal,
    {
        unreachable!("no system has this method without the feature")
    }
}

impl SystemHints for ActorSystem {}
