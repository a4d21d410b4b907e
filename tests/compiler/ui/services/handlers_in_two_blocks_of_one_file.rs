//! An actor's handlers stand in two `#[actor] impl` blocks of one file.

use std::collections::BTreeMap;

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("{0} is out of stock")]
pub struct OutOfStock(String);

#[actor]
pub struct Stock {
    items: BTreeMap<String, u32>,
}

#[actor]
impl Stock {
    #[handler]
    pub fn put(&mut self, item: String, pieces: u32) {
        *self.items.entry(item).or_default() += pieces;
    }
}

#[actor]
impl Stock {
    #[handler]
    pub fn take(&mut self, item: String) -> Result<u32, OutOfStock> {
        match self.items.get_mut(&item) {
            Some(pieces) if *pieces > 0 => {
                *pieces -= 1;
                Ok(*pieces)
            }
            _ => Err(OutOfStock(item)),
        }
    }
}

#[actor]
#[supervise(one_for_one, on(OutOfStock) = Resume)]
struct Shop {
    #[child(|_| || Stock { items: BTreeMap::new() })]
    stock: Child<Stock>,
}

#[actor]
impl Shop {
    #[handler]
    async fn sell(&mut self, item: String) -> Result<u32, AskError> {
        self.stock.actor().take(item).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("shop");
    let shop = system.spawn("shop", || Shop { stock: Child::default() })?;
    println!("{:?}", shop.sell("tea".to_owned()).await);
    system.terminate().await;
    Ok(())
}
