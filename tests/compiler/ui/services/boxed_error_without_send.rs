//! A handler fails with the `Box<dyn Error>` of the book.

use std::error::Error;

use supervise::prelude::*;

#[actor]
struct Converter;

#[actor]
impl Converter {
    #[handler]
    fn convert(&mut self, text: String) -> Result<f64, Box<dyn Error>> {
        let (number, unit) = text.split_once(' ').ok_or("no unit")?;
        let number: f64 = number.parse()?;
        match unit {
            "m" => Ok(number),
            "km" => Ok(1000.0 * number),
            other => Err(format!("unknown unit {other}").into()),
        }
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 10, within = "1m"), on(_) = Restart)]
struct Units {
    #[child(|_| || Converter)]
    converter: Child<Converter>,
}

#[actor]
impl Units {
    #[handler]
    async fn metres(&self, text: String) -> Option<f64> {
        self.converter.actor().convert(text).await.ok()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let system = ActorSystem::new("units");
    let units = system.spawn("units", || Units { converter: Child::default() })?;
    println!("{:?}", units.metres("2 km".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
