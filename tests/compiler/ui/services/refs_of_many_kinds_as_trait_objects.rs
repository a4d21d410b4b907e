//! Refs of different actors are kept as boxed trait objects.

use supervise::prelude::*;

#[actor]
struct Door {
    open: bool,
}

#[actor]
impl Door {
    #[handler]
    fn toggle(&mut self) -> bool {
        self.open = !self.open;
        self.open
    }
}

#[actor]
struct Lamp {
    watts: u32,
}

#[actor]
impl Lamp {
    #[handler]
    fn dim(&mut self) -> u32 {
        self.watts /= 2;
        self.watts
    }
}

#[actor]
struct House {
    devices: Vec<Box<dyn TypedRef>>,
}

#[actor]
impl House {
    #[handler]
    fn furnish(&mut self, ctx: &mut Context<Self>) -> Result<DoorRef, SpawnError> {
        let door = ctx.spawn("door", || Door { open: false })?;
        let lamp = ctx.spawn("lamp", || Lamp { watts: 60 })?;
        self.devices.push(Box::new(door.clone()));
        self.devices.push(Box::new(lamp));
        Ok(door)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("home");
    let house = system.spawn("house", || House { devices: Vec::new() })?;
    println!("{}", house.furnish().await?.toggle().await?);
    system.terminate().await;
    Ok(())
}
