//! Each attribute has one misspelled word. What depends on the setting with that word has no error of its own.

use std::sync::Arc;

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("{0} is sold out")]
struct SoldOut(String);

#[protocol]
#[async_trait::async_trait]
trait Sells {
    async fn order(&self, item: String) -> Result<u32, AskError>;
}

#[actor(mailbox = bouned(100, overflow = drop_oldest))]
struct Shop {
    orders: Vec<OrderCommand>,
}

#[actor(message(naem = OrderCommand, derive(Clone)), implemnts(Sells))]
impl Shop {
    #[handler]
    fn order(&mut self, item: String) -> Result<u32, SoldOut> {
        if item == "tea" {
            return Err(SoldOut(item));
        }
        self.orders.push(OrderCommand::Order { item });
        Ok(1)
    }

    #[handler(bathc = 100, linger = "10ms")]
    fn record(&mut self, prices: Vec<u32>) -> Vec<usize> {
        prices.iter().map(|price| self.orders.len() + *price as usize).collect()
    }

    #[hanlder(redeliver = 2)]
    fn copies(&self) -> usize {
        self.orders.clone().len()
    }

    #[pre_restart]
    fn before(&mut self, message: Option<OrderCommand>) {
        self.orders.extend(message);
    }
}

#[actor]
#[supervise(one_for_oen(max_retries = 3, within = "60s", auto_shutdown = any_significant), on(SoldOut) = Resume)]
struct Street {
    #[chidl(|_| || Shop { orders: Vec::new() }, significant)]
    shop: Child<Shop>,
}

#[actor]
#[supervise(one_for_one(max_retires = 3, within = "60s", window = sliding, count = supervisor), on(_) = Restart)]
struct Town {
    #[child(|_| || Street { shop: Child::default() })]
    street: Child<Street>,
}

#[actor]
impl Street {
    #[handler]
    async fn buy(&self, item: String) -> Option<usize> {
        let shop = self.shop.actor();
        let seller: Arc<dyn Sells> = Arc::new(shop.clone());
        seller.order(item).await.ok()?;
        shop.record(7).await.ok()
    }
}

#[actor]
impl Town {
    #[handler]
    async fn buy(&self, item: String) -> Option<usize> {
        self.street.actor().buy(item).await.ok().flatten()
    }
}

fn main() {}
