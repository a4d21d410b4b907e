//! The actors that an actor watches, and the messages that it gets when they end.

use std::any::Any;
use std::collections::{HashMap, HashSet};

use super::Context;
use crate::actor::actor_ref::{AnyActorRef, TypedRef};
use crate::actor::cell::Core;
use crate::actor::definition::Actor;
use crate::actor::envelope::MessageFor;
use crate::actor::parent_check::{WatchableBy, WatchesAny};
use crate::base::{ActorPath, UserValue};
use crate::supervision::WatchKind;

/// The message that an instance gets when a watched actor ends.
///
/// Its type is erased, so that the map of these is compiled once and not for each actor.
pub(super) struct WatchMessage {
    message: UserValue<Box<dyn Any + Send>>,
    /// An earlier instance chose the message, so the current one may replace it.
    inherited: bool,
}
impl<A: Actor> Context<A> {
    /// Watches an actor: when it ends, the `#[watch]` handler for its type runs, once. If the actor has already ended,
    /// the handler runs at once. A restart does not trigger it. Watching itself does nothing, and watching an actor
    /// twice is the same as once.
    ///
    /// # Panics
    ///
    /// If this actor already watches it by [`watch_with`](Self::watch_with) or [`death_pact`](Self::death_pact);
    /// [`unwatch`](Self::unwatch) it first.
    ///
    /// # Remote actors
    ///
    /// The handler also runs if the actor's node was given up, or if the limit of watches between the two nodes is reached and the actor is
    /// not watched: [`Terminated::how`](crate::Terminated::how) tells these apart from an end
    /// (rule [26.4](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-26.4)).
    pub fn watch<R: WatchableBy<A>>(&mut self, subject: &R) {
        self.watch_only_as(&subject.actor_ref().to_any(), WatchKind::Notify);
    }

    /// Watches an actor: when it ends, this actor fails with [`DeathPact`](crate::FailureKind::DeathPact).
    ///
    /// # Panics
    ///
    /// If this actor already watches it by [`watch`](Self::watch) or [`watch_with`](Self::watch_with);
    /// [`unwatch`](Self::unwatch) it first.
    ///
    /// # Remote actors
    ///
    /// This actor also fails if the other one's node was given up, or if the limit of watches between the two nodes is reached: it cannot
    /// learn of the end any more.
    pub fn death_pact<R: TypedRef>(&mut self, subject: &R) {
        self.watch_only_as(&subject.actor_ref().to_any(), WatchKind::DeathPact);
    }

    /// Watches an actor: when it ends, this actor gets `message`. This is one of its own messages, as in
    /// `FeedMessage::Gone { id }`, or a request to itself, as in `ctx.me().gone(id)`. The watch survives a restart, as
    /// every watch does, and the new instance may replace the message by its own.
    ///
    /// # Errors
    ///
    /// If this instance already watches the actor; `unwatch` it first.
    ///
    /// # Remote actors
    ///
    /// This actor also gets the message if the other one's node was given up, or if the limit of watches between the two nodes is reached. The
    /// message does not say which, so use [`watch`](Self::watch) if that matters.
    pub fn watch_with<R: TypedRef, By>(
        &mut self,
        subject: &R,
        message: impl MessageFor<A, By>,
    ) -> Result<(), AlreadyWatched> {
        let subject = subject.actor_ref().to_any();
        let earlier = self.watch_as(&subject, WatchKind::Message);
        let kept = self.rare.as_ref().and_then(|rare| rare.watch_messages.get(&subject));
        let inherited = kept.is_some_and(|message| message.inherited);
        if earlier.is_some() && !inherited {
            return Err(AlreadyWatched { subject: subject.path() });
        }
        let message: Box<dyn Any + Send> = Box::new(message.into_message());
        self.rare()
            .watch_messages
            .insert(subject, WatchMessage { message: UserValue::new(message), inherited: false });
        Ok(())
    }

    /// Ends a watch. A notification that is on its way is not delivered.
    pub fn unwatch<R: TypedRef>(&mut self, subject: &R) {
        self.unwatch_any(&subject.actor_ref().to_any());
    }

    /// Watches an actor of a type that is not known here, such as the one behind a protocol's ref. When it ends, the `#[watch]` handler
    /// for any type runs, `fn gone(&mut self, gone: Terminated)`, or the one for the actor's type.
    /// Rule [20.6](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-20.6).
    ///
    /// To watch one's own parent, pass [`parent()`](Self::parent). An actor ends before its parent, so it is not told of that
    /// end (rule [6.2](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-6.2)). Other actors that get
    /// the ref are told.
    ///
    /// # Panics
    ///
    /// If this actor already watches it by [`watch_with`](Self::watch_with) or [`death_pact`](Self::death_pact);
    /// [`unwatch_any`](Self::unwatch_any) it first.
    pub fn watch_any(&self, subject: &AnyActorRef)
    where
        A: WatchesAny,
    {
        self.watch_only_as(subject, WatchKind::Notify);
    }

    /// Ends a watch of an actor of any type, as [`unwatch`](Self::unwatch) does.
    pub fn unwatch_any(&mut self, subject: &AnyActorRef) {
        if let Some(rare) = &mut self.rare {
            rare.watch_messages.remove(subject);
        }
        self.me_any().command(|protocol, effects| protocol.unwatch(subject, effects));
    }

    /// Watches an actor, whose end [`Actor::terminated`] handles.
    pub(crate) fn watch_unchecked(&mut self, subject: &AnyActorRef) {
        self.watch_as(subject, WatchKind::Notify);
    }

    fn watch_only_as(&self, subject: &AnyActorRef, kind: WatchKind) {
        let earlier = self.watch_as(subject, kind);
        // Rule 8.7.
        assert!(
            earlier.is_none_or(|earlier| earlier == kind),
            "{} already watches {} in another way: unwatch it first",
            self.path(),
            subject.path()
        );
    }

    /// Returns the kind of an earlier watch.
    fn watch_as(&self, subject: &AnyActorRef, kind: WatchKind) -> Option<WatchKind> {
        let me = self.me_any();
        if *subject == me {
            return None;
        }
        me.command(|protocol, effects| protocol.watch(subject, kind, effects))
    }

    pub(crate) fn take_watch_message(&mut self, subject: &AnyActorRef) -> Option<A::Message> {
        let kept = self.rare.as_mut()?.watch_messages.remove(subject)?;
        kept.message.into_inner().downcast().ok().map(|message| *message)
    }
}

/// Keeps the messages of watches that go on. The next instance may replace them.
pub(super) fn inherit(messages: &mut HashMap<AnyActorRef, WatchMessage>, core: &Core) {
    let watched: HashSet<_> = core.protocol().watched().cloned().collect();
    messages.retain(|subject, _| watched.contains(subject));
    for message in messages.values_mut() {
        message.inherited = true;
    }
}

/// The error of [`Context::watch_with`] for an actor that is already watched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{subject} is already watched: unwatch it before watching it with another message")]
pub struct AlreadyWatched {
    /// The watched actor.
    pub subject: ActorPath,
}
