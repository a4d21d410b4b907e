//! Players by name in a map of declared children, as in a registry of Elixir's.

use std::collections::HashMap;

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the player has no lives left")]
struct Dead;

#[actor]
struct Player {
    lives: u32,
}

#[actor]
impl Player {
    #[handler]
    fn hit(&mut self) -> Result<u32, Dead> {
        self.lives = self.lives.checked_sub(1).ok_or(Dead)?;
        Ok(self.lives)
    }
}

#[actor]
#[supervise(one_for_one, on(Dead) = Stop)]
struct Game {
    #[child(|_| || Player { lives: 3 })]
    players: HashMap<String, Child<Player>>,
}

#[actor]
impl Game {
    #[handler]
    fn players(&self) -> usize {
        self.players.len()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("game");
    println!("{}", system.spawn("game", || Game { players: HashMap::new() })?.players().await?);
    system.terminate().await;
    Ok(())
}
