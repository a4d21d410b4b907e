//! The span of the message that is handled, and the origins of those that come. Feature `spans`.
//!
//! An origin stands in the lane right before its message, so messages keep their size. It is taken out when the lane is asked for a
//! control, and belongs to the message that is taken next.
//!
//! Rules 25.1 and 25.2.

use tracing::Span;

use super::EffectRunner;
use crate::actor::cell::run::UserCodeResult;
use crate::actor::cell::user_code::Broken;
use crate::actor::definition::Actor;
use crate::observe::spans::{self, About, Inside, Origin};

/// Allocated with the first origin or span.
#[derive(Default)]
pub(super) struct Spanned {
    /// The origin of the message that was taken last.
    next: Option<Origin>,
    /// The origins of the messages in the batch.
    gathered: Vec<Origin>,
    /// The span of the message that is being handled.
    span: Option<Span>,
}

impl<A: Actor> EffectRunner<A> {
    #[cold]
    pub(super) fn comes_from(&mut self, origin: Origin) {
        self.spanned.get_or_insert_default().next = Some(origin);
    }

    /// The message that was taken last joins the batch, and so does its origin.
    pub(in crate::actor::cell) fn gather_origin(&mut self) {
        if let Some(spanned) = &mut self.spanned {
            spanned.gathered.extend(spanned.next.take());
        }
    }

    /// The message that was taken last will be taken again after the batch. Its origin is kept only if no stashed
    /// message comes first.
    pub(in crate::actor::cell) fn origin_comes_after_batch(&mut self) {
        if self.aside().stash.is_empty() {
            return;
        }
        self.forget_origin();
    }

    /// The message that was taken last is not handled now.
    pub(in crate::actor::cell) fn forget_origin(&mut self) {
        if let Some(spanned) = &mut self.spanned {
            spanned.next = None;
        }
    }

    /// The message is handled now.
    #[inline]
    pub(in crate::actor::cell) fn begin_span(&mut self, message: &A::Message) {
        let next = self.spanned.as_mut().and_then(|spanned| spanned.next.take());
        let core = &self.cell.core;
        let about = || About {
            path: core.path(),
            actor_type: core.description().type_name(),
            handler: handler_of(A::message_name(message), A::HANDLERS),
        };
        if let Some(span) = core.system.observer().message_span(about, next.into_iter()) {
            self.spanned.get_or_insert_default().span = Some(span);
        }
    }

    /// The messages of the batch are handled now.
    pub(in crate::actor::cell) fn begin_span_of_batch(&mut self) {
        let gathered = self.spanned.as_mut().map(|spanned| std::mem::take(&mut spanned.gathered));
        let core = &self.cell.core;
        let about = || About {
            path: core.path(),
            actor_type: core.description().type_name(),
            handler: handler_of(self.first_gathered().map_or("", A::message_name), A::HANDLERS),
        };
        if let Some(span) = core.system.observer().message_span(about, gathered.into_iter().flatten()) {
            self.spanned.get_or_insert_default().span = Some(span);
        }
    }

    /// Enters the span of the message that is handled, until the returned guard is dropped.
    pub(in crate::actor::cell) fn enter_span(&self) -> Option<Inside<'_>> {
        self.spanned.as_ref()?.span.as_ref().map(Inside::enter)
    }

    /// The handler has returned, has failed or was aborted.
    #[inline]
    pub(in crate::actor::cell) fn end_span(&mut self, outcome: &UserCodeResult) {
        if let Some(span) = self.spanned.as_mut().and_then(|spanned| spanned.span.take()) {
            let error = match outcome {
                Ok(Ok(())) => None,
                Ok(Err(failure)) => Some(failure.type_name()),
                Err(Broken::Panicked(_)) => Some("Panic"),
                Err(Broken::Aborted) => Some("Aborted"),
            };
            spans::end(span, error);
        }
    }
}

/// The name of the handler for a message. `#[actor]` names a message after its handler, without underscores and in
/// another case. If no handler has such a name, because the actor was written by hand, this is the message's own name.
fn handler_of(message: &'static str, handlers: &[&'static str]) -> &'static str {
    let letters = |name: &'static str| name.chars().filter(|&letter| letter != '_').flat_map(char::to_lowercase);
    handlers.iter().copied().find(|handler| letters(handler).eq(letters(message))).unwrap_or(message)
}
