//! Children by key with the factory of a single child: nothing takes the key.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the room is closed")]
struct Closed;

#[actor]
struct Room {
    guests: Vec<String>,
}

#[actor]
impl Room {
    #[handler]
    fn enter(&mut self, guest: String) -> Result<usize, Closed> {
        if guest.is_empty() {
            return Err(Closed);
        }
        self.guests.push(guest);
        Ok(self.guests.len())
    }
}

#[actor]
#[supervise(one_for_one, on(Closed) = Restart)]
struct Hotel {
    #[child(|_| || Room { guests: Vec::new() }, limit = 200)]
    rooms: Children<String, Room>,
}

#[actor]
impl Hotel {
    #[handler]
    async fn check_in(&mut self, room: String, guest: String) -> Option<usize> {
        self.rooms.get_or_spawn(room).ok()?.enter(guest).await.ok()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("hotel");
    let hotel = system.spawn("hotel", || Hotel { rooms: Children::default() })?;
    println!("{:?}", hotel.check_in("7".to_owned(), "ann".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
