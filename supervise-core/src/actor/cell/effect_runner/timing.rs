//! The message that is handled, if it is timed.
//!
//! Rule 24.6.

#[cfg(feature = "timing")]
pub(super) use self::kept::Timed;

#[cfg(feature = "timing")]
mod kept {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::super::EffectRunner;
    use crate::actor::definition::Actor;
    use crate::failure::During;
    use crate::observe::Took;

    /// The message that is handled, if it is timed.
    #[derive(Debug, Default)]
    pub(in crate::actor::cell::effect_runner) struct Timed {
        /// How many messages it stands for. 0: it is not timed.
        weight: u32,
        /// When it was taken up.
        since: Option<Instant>,
        /// How long it waited in the mailbox.
        waited: Option<Duration>,
    }

    impl<A: Actor> EffectRunner<A> {
        /// The first message of the lane is taken now.
        #[inline]
        pub(in crate::actor::cell) fn times_next(&mut self) {
            if self.user.is_marked() {
                self.begin_timing();
            }
        }

        #[cold]
        #[inline(never)]
        fn begin_timing(&mut self) {
            let Some(mark) = self.user.take_mark() else { return };
            if self.cell.core.system.observer().times_one_in() == 0 {
                return self.cell.mailbox.time(0, false);
            }
            let now = Instant::now();
            let waited = now.saturating_duration_since(mark.since);
            self.timed = Timed { weight: mark.weight, since: Some(now), waited: Some(waited) };
        }

        /// A message that did not come through the lane is taken now, or a batch.
        #[inline]
        pub(in crate::actor::cell) fn times_another(&mut self) {
            if self.cell.core.system.observer().times_one_in() > 0 {
                let weight = self.cell.mailbox.times_another().unwrap_or(0);
                self.timed = Timed { weight, since: (weight > 0).then(Instant::now), waited: None };
            }
        }

        /// The message is not handled now.
        #[inline]
        pub(in crate::actor::cell) fn times_no_more(&mut self) {
            if self.timed.weight > 0 {
                self.end_timing(false);
            }
        }

        /// The handler has returned, has failed or was aborted.
        #[inline]
        pub(in crate::actor::cell) fn ends_timing(&mut self) {
            if self.timed.weight > 0 {
                self.end_timing(true);
            }
        }

        #[cold]
        #[inline(never)]
        fn end_timing(&mut self, is_handled: bool) {
            let Timed { weight, since, waited } = std::mem::take(&mut self.timed);
            let handler = if is_handled { self.handler_entered() } else { None };
            let took = handler.and(since).map(|since| since.elapsed());
            let core = &self.cell.core;
            let actor_type = core.description().type_name();
            core.system.observer().took(Took { actor_type, handler, waited, handled: took, weight });
        }

        fn handler_entered(&self) -> Option<&'static str> {
            match A::HANDLERS {
                [] => Some("handle"),
                handlers => match During::numbered(self.cell.mailbox.entered(), handlers) {
                    Some(During::Handler(handler)) => Some(handler),
                    _ => None,
                },
            }
        }
    }
}

#[cfg(not(feature = "timing"))]
#[expect(clippy::unused_self, reason = "a cell calls these as if the feature were on")]
impl<A: crate::actor::definition::Actor> super::EffectRunner<A> {
    #[inline]
    pub(in crate::actor::cell) fn times_next(&mut self) {}

    #[inline]
    pub(in crate::actor::cell) fn times_another(&mut self) {}

    #[inline]
    pub(in crate::actor::cell) fn times_no_more(&mut self) {}

    #[inline]
    pub(in crate::actor::cell) fn ends_timing(&mut self) {}
}
