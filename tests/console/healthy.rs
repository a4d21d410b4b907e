//! CON-07: a healthy actor has no card. Rule 22.3.

use std::time::Duration;

use supervise::console::Console;
use supervise::prelude::*;
use supervise::testkit::TestSystem;

#[derive(Debug, thiserror::Error)]
#[error("lost a race")]
struct LostRace;

/// Waits for news for half a minute, and begins again.
#[actor]
struct Poller;

#[actor]
impl Poller {
    #[handler]
    async fn poll(&mut self, ctx: &mut Context<Self>) {
        tokio::time::sleep(Duration::from_secs(30)).await;
        ctx.me().poll().tell().unwrap();
    }
}

#[actor]
struct Worker {
    done: u64,
}

#[actor]
impl Worker {
    #[handler]
    async fn work(&mut self) {
        tokio::time::sleep(Duration::from_micros(500)).await;
        self.done += 1;
    }

    #[handler]
    async fn answer(&mut self) -> u64 {
        tokio::time::sleep(Duration::from_secs(2)).await;
        self.done
    }

    #[handler]
    fn race(&mut self) -> Result<(), LostRace> {
        Err(LostRace)
    }
}

/// Its start takes a while.
#[actor]
struct Slow {
    worker: WorkerRef,
}

#[actor]
impl Slow {
    #[pre_start]
    async fn warm_up(&mut self) {
        tokio::time::sleep(Duration::from_secs(3)).await;
    }

    #[handler]
    async fn ask(&mut self) -> Result<u64, AskError> {
        self.worker.answer().await
    }
}

#[actor]
#[supervise(
    one_for_one(max_retries = 5, within = "60s"),
    on(LostRace) = Restart(backoff(min = "1s", max = "10s")),
    on(AskError) = Restart
)]
struct Floor;

#[actor]
impl Floor {
    #[handler]
    fn worker(&mut self, ctx: &mut Context<Self>) -> Result<WorkerRef, SpawnError> {
        ctx.spawn_anonymous(|| Worker { done: 0 })
    }

    #[handler]
    fn slow(&mut self, worker: WorkerRef, ctx: &mut Context<Self>) -> Result<SlowRef, SpawnError> {
        ctx.spawn_anonymous(move || Slow { worker: worker.clone() })
    }
}

/// Ten minutes of bursts, long polls, slow answers and starts, actors that come and go, and a failure now and then.
#[supervise::test]
async fn con_07_ten_healthy_minutes_show_no_card(system: &TestSystem) {
    system.allow_failures();
    let floor = system.spawn("floor", || Floor).unwrap();
    for at in 0..10 {
        system.spawn(format!("poller-{at}"), || Poller).unwrap().poll().tell().unwrap();
    }
    let (busy, asked, flaky) =
        (floor.worker().await.unwrap(), floor.worker().await.unwrap(), floor.worker().await.unwrap());
    let slow = floor.slow(asked).await.unwrap();
    let mut watch = Console::of(system).by_hand();
    for second in 0..600 {
        for _ in 0..300 {
            busy.work().tell().unwrap();
        }
        if second % 5 == 0 {
            slow.ask().tell().unwrap();
        }
        if second % 90 == 0 {
            flaky.race().tell().unwrap();
        }
        let guest = floor.worker().await.unwrap();
        guest.work().tell().unwrap();
        guest.actor_ref().stop_when_drained();
        system.advance(Duration::from_secs(1)).await;
        watch.look();
        let text = watch.text();
        assert!(text.contains("All is well"), "second {second}: {text}");
    }
}
