//! `#[cfg]` on a handler also applies to its message, the ref's method and the check of its failure.
#![allow(clippy::non_minimal_cfg, reason = "`all()` holds on every machine")]

use supervise::prelude::*;

#[actor]
struct Child;

#[actor]
impl Child {
    #[cfg(any())]
    #[handler]
    fn never(&mut self, absent: Absent) -> Result<(), AbsentError> {}

    #[cfg(all())]
    #[handler(redeliver = 2)]
    fn always(&mut self, text: String) -> Result<(), std::io::Error> {
        let _ = text;
        Ok(())
    }

    #[cfg(any())]
    #[handler]
    fn twice(&mut self) {}

    #[cfg(not(any()))]
    #[handler]
    fn twice(&mut self, value: u8) {
        let _ = value;
    }

    #[cfg(any())]
    #[watch]
    fn gone(&mut self, gone: Terminated<Absent>) {}

    #[cfg(any())]
    #[pre_start]
    fn start(&mut self) -> Result<(), AbsentError> {}
}

#[actor]
#[supervise(on(std::io::Error) = Restart)]
struct Parent;

#[actor]
impl Parent {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) {
        let child = ctx.spawn("child", || Child);
        if let Ok(child) = child {
            let _ = child.always(String::new()).tell();
            let _ = child.twice(1).tell();
        }
    }
}

#[actor]
#[cfg(any())]
struct Gone {
    absent: Absent,
}

#[actor]
#[cfg(any())]
impl Gone {
    #[handler]
    fn go(&mut self) {}
}

pub(super) fn main() {}
