//! `anyhow::Context` hides the prelude's `Context`.

use anyhow::{Context, Result};
use supervise::prelude::*;

#[actor]
struct Settings {
    path: String,
}

#[actor]
impl Settings {
    #[handler]
    fn load(&self) -> Result<usize> {
        let text = std::fs::read_to_string(&self.path).context("cannot read the settings")?;
        Ok(text.lines().count())
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 2), on(anyhow::Error) = Restart, on(_) = Escalate)]
struct Daemon {
    reloads: u32,
}

#[actor]
impl Daemon {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) -> Result<()> {
        ctx.spawn("settings", || Settings { path: "/etc/daemon.conf".to_owned() }).context("no settings actor")?;
        Ok(())
    }

    #[handler]
    fn reloaded(&mut self) -> u32 {
        self.reloads += 1;
        self.reloads
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let system = ActorSystem::new("daemon");
    let daemon = system.spawn("daemon", || Daemon { reloads: 0 })?;
    println!("{}", daemon.reloaded().await?);
    system.terminate().await;
    Ok(())
}
