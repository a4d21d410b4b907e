//! The reply is used without an `.await`.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("no rate for {0}")]
struct NoRate(String);

#[actor]
struct Rates;

#[actor]
impl Rates {
    #[handler]
    fn rate(&self, currency: String) -> Result<f64, NoRate> {
        if currency == "CHF" { Ok(0.96) } else { Err(NoRate(currency)) }
    }
}

#[actor]
#[supervise(one_for_one, on(NoRate) = Resume, on(_) = Restart)]
struct Converter {
    #[child(|_| || Rates)]
    rates: Child<Rates>,
}

#[actor]
impl Converter {
    #[handler]
    async fn convert(&self, euros: f64, currency: String) -> Result<f64, AskError> {
        let rate = self.rates.actor().rate(currency)?;
        Ok(euros * rate)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("exchange");
    let converter = system.spawn("converter", || Converter { rates: Child::default() })?;
    println!("{:.2}", converter.convert(12.5, "CHF".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
