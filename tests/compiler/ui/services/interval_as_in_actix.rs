//! A periodic job is set up with `ctx.run_interval`.

use std::time::Duration;

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the backup of {0} failed")]
struct BackupFailed(String);

#[actor]
struct Backup {
    volume: String,
    done: u32,
}

#[actor]
impl Backup {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) {
        ctx.run_interval(Duration::from_secs(3600), |this, _ctx| {
            this.done += 1;
        });
    }

    #[handler]
    fn back_up(&mut self) -> Result<u32, BackupFailed> {
        if self.volume.is_empty() {
            return Err(BackupFailed(self.volume.clone()));
        }
        self.done += 1;
        Ok(self.done)
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3, within = "1h"), on(BackupFailed) = Restart)]
struct Storage {
    #[child(|_| || Backup { volume: "home".to_owned(), done: 0 })]
    backup: Child<Backup>,
}

#[actor]
impl Storage {
    #[handler]
    async fn back_up_now(&self) -> Result<u32, AskError> {
        self.backup.actor().back_up().await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("nas");
    let storage = system.spawn("storage", || Storage { backup: Child::default() })?;
    println!("{}", storage.back_up_now().await?);
    system.terminate().await;
    Ok(())
}
