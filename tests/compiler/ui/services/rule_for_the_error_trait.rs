//! A rule names the trait of all errors, as Akka's `case _: Exception`.

use std::error::Error;

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the ball is out")]
struct Out;

#[derive(Debug, thiserror::Error)]
#[error("the net is torn")]
struct Torn;

#[actor]
struct Court {
    rallies: u32,
}

#[actor]
impl Court {
    #[handler]
    fn serve(&mut self) -> Result<u32, Out> {
        self.rallies += 1;
        if self.rallies % 5 == 0 { Err(Out) } else { Ok(self.rallies) }
    }

    #[handler]
    fn smash(&mut self) -> Result<u32, Torn> {
        if self.rallies > 100 { Err(Torn) } else { Ok(self.rallies) }
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 10, within = "60s"), on(Out) = Resume, on(Error) = Restart)]
struct Club;

#[actor]
impl Club {
    #[handler]
    fn court(&mut self, number: u32, ctx: &mut Context<Self>) -> Result<CourtRef, SpawnError> {
        ctx.spawn(format!("court-{number}"), || Court { rallies: 0 })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let system = ActorSystem::new("tennis");
    let court = system.spawn("club", || Club)?.court(1).await?;
    println!("{} {}", court.serve().await?, court.smash().await?);
    system.terminate().await;
    Ok(())
}
