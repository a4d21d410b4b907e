//! Methods that people know from other frameworks, so that the compiler can say what to write instead.
//!
//! `tell` works. Each other method has a bound that nothing satisfies, and the bound's message is the hint. A method that a user declares under the same
//! name, such as a handler, is found first.

use std::future::{Future, Ready};
use std::io;

use crate::actor::{
    Actor, ActorSystem, ActorSystemBuilder, Answer, Context, MessageFor, RefOf, ReplyTo, Request, SendError,
    SendErrorReason, SpawnError, TypedRef, WorkId,
};

/// Makes a bound that nothing satisfies. The message of the error may speak of `{Self}`.
macro_rules! hints {
    ($($name:ident: $message:literal, $label:literal, $($note:literal),+;)*) => {$(
        #[doc = $message]
        #[diagnostic::on_unimplemented(message = $message, label = $label, $(note = $note),+)]
        pub trait $name {}
    )*};
}

hints! {
    TakesMessages:
        "`{Self}` takes no message values: it has a method for each handler",
        "call the handler as a method",
        "call the handler's method; a message type is not needed to send, so do not import one",
        "for `#[handler] fn greet(&mut self, name: String)` write `r.greet(name).await` to ask, or `r.greet(name).tell()` to send",
        "`.await` waits for the reply, like `ask`, `call` or actix's `send`; `.tell()` sends without waiting, like `cast` or `do_send`";
    StopsByItself:
        "`{Self}` has only the methods of its handlers; `stop` is a method of its `actor_ref()`",
        "call `.actor_ref()` first",
        "write `r.actor_ref().stop()`: it returns at once, and the actor stops after its current message";
    TellsItsState:
        "`{Self}` has only the methods of its handlers; `has_ended` is a method of its `actor_ref()`",
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
        "move what the closure does into a handler, `#[handler] fn tick(&mut self)`, and write `let me = ctx.me(); ctx.start_periodic_timer(\"tick\", interval, move || me.tick().into_message());`, or for one tick `ctx.start_timer(\"tick\", delay, me.tick());`";
    StartsTimers:
        "a timer is started with `ctx.start_timer(..)` or `ctx.start_periodic_timer(..)`",
        "write `ctx.start_timer(..)`",
        "for `#[handler] fn tick(&mut self)` write `let me = ctx.me(); ctx.start_timer(\"tick\", delay, me.tick());`, or for a tick at each interval `ctx.start_periodic_timer(\"tick\", interval, move || me.tick().into_message());`";
    PipesToItself:
        "the output of a future becomes a message by `ctx.pipe(..)`",
        "write `ctx.pipe(..)`",
        "`ctx.pipe(load(id), |me, value| me.loaded(value))` sends the output to `#[handler] fn loaded(&mut self, value: T)`";
    RunsBlockingCode:
        "`Context` has no `spawn_blocking`: use `ctx.blocking(..)`",
        "write `ctx.blocking(..)`",
        "`ctx.blocking(move || hash(&text), |me, value| me.hashed(value))` sends what the first closure returns to `#[handler] fn hashed(&mut self, value: T)`";
    ReceivesByItself:
        "an actor takes no messages out of its mailbox: the runtime calls a handler for each",
        "there is nothing to receive",
        "remove the loop, and do its work in a method for each message, such as `#[handler] fn work(&mut self, job: u32)`; what happens before the first message belongs in `#[pre_start]`";
    IsAChannel:
        "a reply slot is answered with `answer(value)`",
        "write `answer(..)`",
        "`reply.answer(value);` consumes the slot and returns nothing";
    IsStored:
        "this message is not stored, so nothing accepts it before it is handled",
        "write `.tell()` to send it or `.await` to ask; the notes say how to have it stored",
        "to store it, write `#[actor(mailbox = durable)]` above the type of the actor, with the feature `durable` of `supervise-actors`",
        "a handler with `#[handler(transient)]` has messages that are not stored: remove `transient` to store them";
    LinksActors:
        "actors are linked by `ctx.death_pact(&r)`",
        "write `ctx.death_pact(&r)` to fail when the other actor ends",
        "to be told of the end, write `ctx.watch(&r)` and a method `#[watch] fn gone(&mut self, gone: Terminated<A>)`";
    WatchesActors:
        "a context has no `monitor`: `ctx.watch(&r)` watches for the end of another actor",
        "write `ctx.watch(&r)`",
        "when that actor ends, `#[watch] fn gone(&mut self, gone: Terminated<A>)` is called; a restart is not an end";
    EndsByTerminate:
        "a system ends with `terminate()`",
        "write `system.terminate().await`",
        "it runs the coordinated shutdown first; to end at a signal, write `system.shutdown_on_signal()?` and await `system.when_terminated()`";
    HasAParent:
        "only an actor spawns a child that cannot be built a second time",
        "a system may restart its top-level actors",
        "write `system.spawn(name, move || ..)` with a factory",
        "or write `ctx.spawn_once(name, instance)` in a method of an actor with `#[supervise(on(_) = Stop)]` below its `#[actor]`; the method has the parameter `ctx: &mut Context<Self>`";
    HasFeatureSignal:
        "`shutdown_on_signal` needs the feature `signal`",
        "this feature is off",
        "write `supervise-actors = {{ .., features = [\"signal\"] }}` in Cargo.toml";
    HasFeatureStream:
        "the methods for streams need the feature `stream`",
        "this feature is off",
        "write `supervise-actors = {{ .., features = [\"stream\"] }}` in Cargo.toml";
    HasFeatureDurable:
        "a system with a store needs the feature `durable`",
        "this feature is off",
        "write `supervise-actors = {{ .., features = [\"durable\"] }}` in Cargo.toml";
}

/// Implemented by `#[actor]` for the ref it generates, and for no other: a ref that dereferences to a generated one keeps its
/// handlers of these names.
pub trait MigrationHints: TypedRef {
    /// Whether the actor is `pub`, so that its messages cannot be less visible.
    #[doc(hidden)]
    const __PUBLIC: bool = false;

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

    /// `send_after(..)`, as in Erlang and ractor
    fn send_after<D, F>(&mut self, _: D, _: F)
    where
        Self: StartsTimers,
    {
        unreachable!("no context has this method")
    }

    /// `send_interval(..)`, as in Erlang and ractor
    fn send_interval<D, F>(&mut self, _: D, _: F)
    where
        Self: StartsTimers,
    {
        unreachable!("no context has this method")
    }

    /// `notify_later(..)`, as in actix
    fn notify_later<M, D>(&mut self, _: M, _: D)
    where
        Self: StartsTimers,
    {
        unreachable!("no context has this method")
    }

    /// `schedule_once(..)`, as in Akka
    fn schedule_once<D, F>(&mut self, _: D, _: F)
    where
        Self: StartsTimers,
    {
        unreachable!("no context has this method")
    }

    /// `pipe_to_self(..)`, as in Akka
    fn pipe_to_self<T, R, Fut, F>(&mut self, _: Fut, _: F)
    where
        Self: PipesToItself,
        Fut: Future<Output = T>,
        F: for<'r> FnOnce(&'r RefOf<Self::Actor>, T) -> Request<'r, Self::Actor, R>,
    {
        unreachable!("no context has this method")
    }

    /// `spawn_blocking(..)`, as in tokio
    fn spawn_blocking<T, R, C, F>(&mut self, _: C, _: F)
    where
        Self: RunsBlockingCode,
        C: FnOnce() -> T,
        F: for<'r> FnOnce(&'r RefOf<Self::Actor>, T) -> Request<'r, Self::Actor, R>,
    {
        unreachable!("no context has this method")
    }

    /// `recv()`, as of a channel
    fn recv<M>(&mut self) -> Ready<Option<M>>
    where
        Self: ReceivesByItself,
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
        Self: WatchesActors,
    {
        unreachable!("no context has this method")
    }
}

impl<A: Actor> ContextHints for Context<A> {
    type Actor = A;
}

/// Methods that people look for in a reply slot.
pub trait SlotHints<T>: Sized {
    /// `send(value)`, as of a channel for one value
    ///
    /// # Errors
    ///
    /// None: it cannot be called.
    fn send(self, _: T) -> Result<(), T>
    where
        Self: IsAChannel,
    {
        unreachable!("no slot has this method")
    }

    /// `reply(value)`, as in ractor and kameo
    fn reply(self, _: T)
    where
        Self: IsAChannel,
    {
        unreachable!("no slot has this method")
    }
}

impl<T> SlotHints<T> for ReplyTo<T> {}

/// Methods of requests whose messages are stored. The request's own methods are found first.
pub trait RequestHints: Sized {
    /// `accepted()`
    fn accepted(self) -> Ready<Result<(), SendErrorReason>>
    where
        Self: IsStored,
    {
        unreachable!("this message is not stored")
    }

    /// `key(..)`
    #[must_use]
    fn key<K>(self, _: K) -> Self
    where
        Self: IsStored,
    {
        unreachable!("this message is not stored")
    }
}

impl<A: Actor, T, K> RequestHints for Request<'_, A, T, K> {}

/// Methods that people look for in a system, or that it has only with other features.
pub trait SystemHints {
    /// `shutdown()`
    fn shutdown(&self) -> Ready<()>
    where
        Self: EndsByTerminate,
    {
        unreachable!("no system has this method")
    }

    /// `spawn_once(..)`, as of a context
    ///
    /// # Errors
    ///
    /// None: it cannot be called.
    fn spawn_once<A: Actor>(&self, _: impl AsRef<str>, _: A) -> Result<RefOf<A>, SpawnError>
    where
        Self: HasAParent,
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

/// Methods that the builder of a system has only with other features.
pub trait BuilderHints: Sized {
    /// `store(..)`, where the feature `durable` is off. With it, the builder's own method is found first.
    #[must_use]
    fn store<S>(self, _: S) -> Self
    where
        Self: HasFeatureDurable,
    {
        unreachable!("no builder has this method without the feature")
    }
}

impl BuilderHints for ActorSystemBuilder {}
