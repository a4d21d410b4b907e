//! The result of a future is to become a message, in the words of Akka Typed.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("no such city: {0}")]
struct NoCity(String);

async fn forecast(city: String) -> Result<f64, NoCity> {
    tokio::task::yield_now().await;
    if city.is_empty() { Err(NoCity(city)) } else { Ok(21.5) }
}

#[actor]
struct Weather {
    degrees: Option<f64>,
}

#[actor]
impl Weather {
    #[handler]
    fn refresh(&mut self, city: String, ctx: &mut Context<Self>) {
        ctx.pipe_to_self(forecast(city), |me, result| me.refreshed(result.ok()));
    }

    #[handler]
    fn refreshed(&mut self, degrees: Option<f64>) {
        self.degrees = degrees;
    }
}

#[actor]
struct Station {
    #[child(|_| || Weather { degrees: None })]
    weather: Child<Weather>,
}

#[actor]
impl Station {
    #[handler]
    async fn refresh(&self) -> Result<(), AskError> {
        self.weather.actor().refresh("Ulm".to_owned()).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("weather");
    system.spawn("station", || Station { weather: Child::default() })?.refresh().await?;
    system.terminate().await;
    Ok(())
}
