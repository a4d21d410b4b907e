//! `#[stash_while]` sees the message before it is handled; `redeliver` keeps a clone.

use supervise::prelude::*;

#[actor(mailbox = bounded(100, overflow = drop_oldest))]
struct Gate {
    open: bool,
}

#[actor]
impl Gate {
    #[handler]
    fn open(&mut self) {
        self.open = true;
    }

    #[handler(redeliver = 3)]
    async fn pass(&mut self, who: String, times: Vec<u8>) -> Result<u8, std::fmt::Error> {
        let _ = (who, times);
        Err(std::fmt::Error)
    }

    #[stash_while]
    fn closed(&self, message: &GateMessage) -> bool {
        !self.open && matches!(message, GateMessage::Pass { who, .. } if who != "me")
    }
}

pub(super) fn main() {}
