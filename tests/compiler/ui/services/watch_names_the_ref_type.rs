//! A watch method takes the end of a ref rather than of an actor.

use std::collections::HashMap;

use supervise::prelude::*;

#[actor]
struct Player {
    score: u32,
}

#[actor]
impl Player {
    #[handler]
    fn hit(&mut self, points: u32) -> u32 {
        self.score += points;
        self.score
    }

    #[handler]
    fn leave(&mut self, ctx: &mut Context<Self>) {
        ctx.stop_self();
    }
}

#[actor]
struct Lobby {
    players: HashMap<ActorPath, PlayerRef>,
}

#[actor]
impl Lobby {
    #[handler]
    fn join(&mut self, name: String, ctx: &mut Context<Self>) -> Result<PlayerRef, SpawnError> {
        let player = ctx.spawn(&name, || Player { score: 0 })?;
        ctx.watch(&player);
        self.players.insert(player.actor_ref().path(), player.clone());
        Ok(player)
    }

    #[watch]
    fn player_left(&mut self, gone: Terminated<PlayerRef>) {
        self.players.remove(&gone.path());
    }

    #[handler]
    fn online(&self) -> usize {
        self.players.len()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("game");
    let lobby = system.spawn("lobby", || Lobby { players: HashMap::new() })?;
    let ann = lobby.join("ann".to_owned()).await?;
    println!("{} {}", ann.hit(3).await?, lobby.online().await?);
    ann.leave().tell()?;
    system.terminate().await;
    Ok(())
}
