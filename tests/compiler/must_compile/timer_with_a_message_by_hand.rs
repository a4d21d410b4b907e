//! A timer is given a message that was built by hand.

use std::time::Duration;

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the sensor {0} is silent")]
struct Silent(u32);

#[actor]
struct Sensor {
    number: u32,
    readings: Vec<f64>,
}

#[actor]
impl Sensor {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) {
        ctx.start_periodic_timer("poll", Duration::from_secs(5), || SensorMessage::Poll);
    }

    #[handler]
    fn poll(&mut self) -> Result<(), Silent> {
        if self.number == 13 {
            return Err(Silent(self.number));
        }
        self.readings.push(20.5);
        Ok(())
    }

    #[handler]
    fn mean(&self) -> f64 {
        self.readings.iter().sum::<f64>() / self.readings.len() as f64
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3, within = "1m"), on(Silent) = Restart)]
struct Greenhouse;

#[actor]
impl Greenhouse {
    #[handler]
    fn install(&mut self, number: u32, ctx: &mut Context<Self>) -> Result<SensorRef, SpawnError> {
        ctx.spawn(format!("sensor-{number}"), move || Sensor { number, readings: Vec::new() })
    }
}

#[tokio::main]
pub(super) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("garden");
    let sensor = system.spawn("greenhouse", || Greenhouse)?.install(1).await?;
    println!("{}", sensor.mean().await?);
    system.terminate().await;
    Ok(())
}
