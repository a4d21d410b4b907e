//! A ref is told to stop itself, as kameo's `stop_gracefully`, ractor's `stop` and Akka's `context.stop`.

use supervise::prelude::*;

#[actor]
struct Room {
    guests: Vec<String>,
}

#[actor]
impl Room {
    #[handler]
    fn enter(&mut self, guest: String) -> usize {
        self.guests.push(guest);
        self.guests.len()
    }
}

#[actor]
struct Hotel {
    rooms: Vec<RoomRef>,
}

#[actor]
impl Hotel {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<RoomRef, SpawnError> {
        let number = self.rooms.len();
        let room = ctx.spawn(format!("room-{number}"), || Room { guests: Vec::new() })?;
        self.rooms.push(room.clone());
        Ok(room)
    }

    #[handler]
    fn close(&mut self) -> usize {
        let closed = self.rooms.len();
        for room in self.rooms.drain(..) {
            room.stop();
        }
        closed
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("hotel");
    let hotel = system.spawn("hotel", || Hotel { rooms: Vec::new() })?;
    println!("{}", hotel.open().await?.enter("ann".to_owned()).await?);
    println!("{}", hotel.close().await?);
    system.terminate().await;
    Ok(())
}
