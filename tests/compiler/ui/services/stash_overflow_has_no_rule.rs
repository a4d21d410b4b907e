//! A child whose bounded stash may overflow, under a table without a rule for that.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the line was lost")]
struct LineLost;

#[actor(stash = 10)]
struct Modem {
    connected: bool,
}

#[actor]
impl Modem {
    #[handler]
    fn connect(&mut self) {
        self.connected = true;
    }

    #[handler]
    fn transmit(&mut self, bytes: Vec<u8>) -> Result<usize, LineLost> {
        if bytes.is_empty() { Err(LineLost) } else { Ok(bytes.len()) }
    }

    #[stash_while]
    fn until_connected(&self, message: &ModemMessage) -> bool {
        !self.connected && matches!(message, ModemMessage::Transmit { .. })
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3), on(LineLost) = Restart)]
struct Provider {
    #[child(|_| || Modem { connected: false })]
    modem: Child<Modem>,
}

#[actor]
impl Provider {}

fn main() {}
