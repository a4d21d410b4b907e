//! A shared service behind a trait that promises neither `Send` nor `Sync`.

use std::sync::Arc;

use supervise::prelude::*;

trait Clock {
    fn now(&self) -> u64;
}

struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> u64 {
        std::time::UNIX_EPOCH.elapsed().map_or(0, |age| age.as_secs())
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the job was due {0} s ago")]
struct Late(u64);

#[actor]
struct Scheduler {
    clock: Arc<dyn Clock>,
}

#[actor]
impl Scheduler {
    #[handler]
    fn check(&self, due: u64) -> Result<u64, Late> {
        let now = self.clock.now();
        if due < now { Err(Late(now - due)) } else { Ok(due - now) }
    }
}

#[actor]
#[supervise(one_for_one, on(Late) = Resume)]
struct Cron {
    clock: Arc<dyn Clock>,
    #[child(|this| { let clock = Arc::clone(&this.clock); move || Scheduler { clock: Arc::clone(&clock) } })]
    scheduler: Child<Scheduler>,
}

#[actor]
impl Cron {
    #[handler]
    async fn seconds_left(&self, due: u64) -> Option<u64> {
        self.scheduler.actor().check(due).await.ok()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("cron");
    let cron = system.spawn("cron", || Cron { clock: Arc::new(WallClock), scheduler: Child::default() })?;
    println!("{:?}", cron.seconds_left(2_000_000_000).await?);
    system.terminate().await;
    Ok(())
}
