//! Keywords as names.

use supervise::prelude::*;

#[actor]
struct r#Match {
    r#type: u8,
}

#[actor]
impl r#Match {
    #[handler]
    fn r#loop(&mut self, r#type: u8, r#in: u8) -> u8 {
        self.r#type = r#type;
        r#in
    }

    #[handler]
    fn self_(&self) {}

    #[handler(redeliver = 1)]
    fn stop(&mut self, r#fn: u8) {
        let _ = r#fn;
    }

    #[handler]
    fn path(&self) {}
}

async fn talk(it: MatchRef) -> Result<u8, AskError> {
    it.stop(1).await?;
    it.path().await?;
    it.self_().await?;
    it.r#loop(1, 2).await
}

pub(super) fn main() {}
