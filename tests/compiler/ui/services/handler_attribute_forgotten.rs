//! A method that others call has no `#[handler]`.

use std::collections::HashMap;

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("no item {0}")]
struct NoItem(u32);

#[actor]
struct Stock {
    items: HashMap<u32, u32>,
}

#[actor]
impl Stock {
    #[handler]
    fn put(&mut self, item: u32, pieces: u32) {
        *self.items.entry(item).or_default() += pieces;
    }

    async fn reserve(&mut self, item: u32) -> Result<u32, NoItem> {
        let pieces = self.items.get_mut(&item).ok_or(NoItem(item))?;
        *pieces = pieces.saturating_sub(1);
        Ok(*pieces)
    }
}

#[actor]
#[supervise(one_for_one, on(NoItem) = Resume)]
struct Warehouse {
    #[child(|_| || Stock { items: HashMap::new() })]
    stock: Child<Stock>,
}

#[actor]
impl Warehouse {
    #[handler]
    async fn order(&self, item: u32) -> Result<u32, AskError> {
        let stock = self.stock.actor();
        stock.put(item, 3).await?;
        stock.reserve(item).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("warehouse");
    let warehouse = system.spawn("warehouse", || Warehouse { stock: Child::default() })?;
    println!("{}", warehouse.order(7).await?);
    system.terminate().await;
    Ok(())
}
