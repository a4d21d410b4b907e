//! `#[cfg_attr]` on methods works as elsewhere, also with our attributes in it.

#![deny(warnings)]
#![allow(clippy::non_minimal_cfg)]

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("empty")]
pub struct Empty;

#[actor]
pub struct Feed {
    read: u32,
}

#[actor]
impl Feed {
    #[cfg_attr(all(), handler)]
    fn on(&self) -> Result<u32, Empty> {
        Ok(self.read)
    }

    /// A method, and no message.
    #[cfg_attr(any(), handler)]
    pub fn off(&self, other: u32) -> Result<u32, Empty> {
        Ok(self.read + other)
    }

    #[cfg_attr(unix, handler(redeliver = 3))]
    #[cfg_attr(not(unix), handler)]
    fn either(&self, id: u32) -> u32 {
        self.read + id
    }

    #[cfg_attr(all(), doc = "Deprecated.", deprecated, handler, cold)]
    fn together(&self) -> u32 {
        self.read
    }

    #[cfg_attr(all(), cfg_attr(not(any()), watch))]
    fn nested(&mut self, gone: Terminated<Feed>) {
        drop(gone);
        self.read += 1;
    }

    #[cfg_attr(all(), cfg(any()))]
    #[handler]
    fn absent(&mut self, absent: Absent) -> Result<(), AbsentError> {}

    #[cfg_attr(any(), cfg(any()))]
    #[handler]
    fn present(&mut self) {
        self.read += 1;
    }

    #[cfg_attr(unix, pre_start)]
    #[cfg_attr(not(unix), post_stop)]
    fn begin_or_end(&mut self) {
        self.read = 0;
    }
}

#[actor]
#[supervise(on(Empty) = Restart)]
struct Parent;

#[actor]
impl Parent {
    #[handler]
    async fn open(&mut self, ctx: &mut Context<Self>) {
        if let Ok(feed) = ctx.spawn("feed", || Feed { read: 0 }) {
            let _ = feed.on().tell();
            let _ = feed.either(1).tell();
            let _ = feed.present().tell();
            let _ = (Feed { read: 0 }).off(1);
        }
    }
}

pub(super) fn main() {}
