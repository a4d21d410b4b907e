//! Attributes of rustc's own on handlers, hooks and watch methods: they apply to the user's method, and generated code causes no warnings because of them.

#![deny(warnings, unfulfilled_lint_expectations)]

use supervise::prelude::*;

#[deprecated(note = "use `Fresh`")]
#[derive(Debug, Clone)]
pub struct Stale;

#[derive(Debug, thiserror::Error)]
#[error("stale")]
#[deprecated]
pub struct StaleError;

#[derive(Debug, thiserror::Error)]
#[error("empty")]
pub struct Empty;

#[actor(stash = 3)]
pub struct Feed {
    read: u32,
}

#[actor]
impl Feed {
    #[deprecated(note = "use `read`")]
    #[handler]
    fn old(&mut self) {
        self.read += 1;
    }

    #[handler(redeliver = 2)]
    #[deprecated]
    async fn old_async(&mut self, more: u32) -> Result<u32, Empty> {
        self.read += more;
        Ok(self.read)
    }

    #[handler(redeliver = 2)]
    #[expect(deprecated)]
    fn stale(&mut self, stale: Stale) -> Result<Stale, StaleError> {
        if self.read > 7 { Err(StaleError) } else { Ok(stale) }
    }

    #[handler]
    #[allow(deprecated)]
    fn much_stale(&self, stale: Vec<Stale>) -> Reply<Vec<Stale>> {
        Reply(stale)
    }

    #[must_use]
    #[handler]
    fn must(&self) -> u32 {
        self.read
    }

    #[must_use = "or else"]
    #[handler]
    async fn must_async(&self) {}

    #[cold]
    #[inline(never)]
    #[track_caller]
    #[handler(inline)]
    fn seldom(&self) {}

    #[expect(unused_variables)]
    #[handler]
    fn careless(&self, text: String) {}

    #[doc(hidden)]
    #[handler]
    fn hidden(&self) {}

    #[handler]
    fn typed(self: &mut Self, read: u32) {
        self.read = read;
    }

    #[handler(inline)]
    fn typed_shared(self: &Self) -> u32 {
        self.read
    }

    #[handler]
    async fn rebound(mut self: &mut Self) {
        let this = &mut self;
        this.read += 1;
    }

    #[deprecated]
    #[must_use]
    #[cold]
    #[stash_while]
    fn aside(self: &Self, message: &FeedMessage) -> bool {
        matches!(message, FeedMessage::Old { .. }) && self.read > 100
    }

    #[deprecated]
    #[cold]
    #[pre_start]
    async fn begin(self: &mut Self) -> Result<(), Empty> {
        self.read = 0;
        Ok(())
    }

    #[deprecated]
    #[must_use]
    #[track_caller]
    #[post_stop]
    fn end(&mut self) -> Result<(), Empty> {
        Err(Empty)
    }

    #[deprecated]
    #[expect(unused_variables)]
    #[pre_restart]
    fn before(&mut self, cause: &Failure, message: Option<FeedMessage>) {}

    #[deprecated]
    #[expect(deprecated)]
    #[post_restart]
    fn after(&mut self) -> Result<(), StaleError> {
        Ok(())
    }

    #[deprecated]
    #[cold]
    #[watch]
    #[allow(deprecated)]
    fn reader_gone(self: &mut Self, gone: Terminated<Reader>) {
        drop(gone);
    }

    #[deprecated]
    #[watch]
    async fn any_gone(&mut self, gone: Terminated) {
        drop(gone);
    }
}

#[deprecated]
#[actor]
pub struct Reader;

#[actor]
#[allow(deprecated)]
impl Reader {
    #[handler]
    fn ping(&self) {}
}

pub(super) fn main() {}
