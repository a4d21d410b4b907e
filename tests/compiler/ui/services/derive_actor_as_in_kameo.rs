//! The actor is derived.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the thermometer is broken")]
struct Defect;

#[derive(Actor)]
struct Thermometer {
    degrees: f64,
}

#[actor]
impl Thermometer {
    #[handler]
    fn read(&self) -> Result<f64, Defect> {
        if self.degrees < -273.15 { Err(Defect) } else { Ok(self.degrees) }
    }
}

#[actor]
#[supervise(one_for_one, on(Defect) = Restart)]
struct Station;

#[actor]
impl Station {
    #[handler]
    fn install(&mut self, ctx: &mut Context<Self>) -> Result<ThermometerRef, SpawnError> {
        ctx.spawn("thermometer", || Thermometer { degrees: 21.0 })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("weather");
    println!("{}", system.spawn("station", || Station)?.install().await?.read().await?);
    system.terminate().await;
    Ok(())
}
