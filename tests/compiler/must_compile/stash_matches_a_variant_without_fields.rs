//! `#[stash_while]` compares with a variant as if it had no fields.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the line was lost")]
struct LineLost;

#[actor(stash = 100)]
struct Modem {
    connected: bool,
    sent: usize,
}

#[actor]
impl Modem {
    #[handler]
    fn connected(&mut self) {
        self.connected = true;
    }

    #[handler]
    fn transmit(&mut self, bytes: Vec<u8>) -> Result<usize, LineLost> {
        self.sent += bytes.len();
        if self.sent > 9000 { Err(LineLost) } else { Ok(self.sent) }
    }

    #[stash_while]
    fn until_connected(&self, message: &ModemMessage) -> bool {
        !self.connected && !matches!(message, ModemMessage::Connected)
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3, within = "1m"), on(LineLost | supervise::StashOverflow) = Restart)]
struct Provider {
    #[child(|_| || Modem { connected: false, sent: 0 })]
    modem: Child<Modem>,
}

#[actor]
impl Provider {
    #[handler]
    async fn dial(&self) -> Result<usize, AskError> {
        let modem = self.modem.actor();
        modem.connected().await?;
        modem.transmit(vec![1, 2, 3]).await
    }
}

#[tokio::main]
pub(super) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("provider");
    println!("{}", system.spawn("provider", || Provider { modem: Child::default() })?.dial().await?);
    system.terminate().await;
    Ok(())
}
