//! A handler holds a `std` lock while it waits for another actor.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use supervise::prelude::*;

type Rates = Arc<Mutex<HashMap<String, f64>>>;

#[derive(Debug, thiserror::Error)]
#[error("no rate for {0}")]
struct NoRate(String);

#[actor]
struct Source;

#[actor]
impl Source {
    #[handler]
    fn fetch(&mut self, currency: String) -> Result<f64, NoRate> {
        if currency.len() == 3 { Ok(1.1) } else { Err(NoRate(currency)) }
    }
}

#[actor]
#[supervise(one_for_one, on(NoRate) = Resume)]
struct Exchange {
    rates: Rates,
    #[child(|_| || Source)]
    source: Child<Source>,
}

#[actor]
impl Exchange {
    #[handler]
    async fn rate(&self, currency: String) -> Result<f64, AskError> {
        let mut rates = self.rates.lock().unwrap();
        if let Some(rate) = rates.get(&currency) {
            return Ok(*rate);
        }
        let rate = self.source.actor().fetch(currency.clone()).await?;
        rates.insert(currency, rate);
        Ok(rate)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rates = Rates::default();
    let system = ActorSystem::new("exchange");
    let exchange =
        system.spawn("exchange", move || Exchange { rates: rates.clone(), source: Child::default() })?;
    println!("{}", exchange.rate("CHF".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
