//! An actor may come out of another macro.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("broken")]
struct Broken;

macro_rules! worker {
    ($name:ident, $error:ty, $reply:ty, $directive:ident) => {
        #[actor(stop_timeout = "1s")]
        #[supervise(on($error) = $directive, on(Panic) = $directive)]
        struct $name;

        #[actor]
        impl $name {
            #[handler]
            fn work(&mut self, input: $reply) -> Result<$reply, $error> {
                Ok(input)
            }

            #[handler]
            fn open(&mut self, ctx: &mut Context<Self>) {
                let _ = ctx.spawn("again", || $name);
            }
        }
    };
}

worker!(First, Broken, u8, Restart);
worker!(Second, std::fmt::Error, Vec<u8>, Stop);

pub(super) fn main() {}
