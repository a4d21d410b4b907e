//! A piped future asks through a field of the actor, and a request is piped as it is.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("no price for {0}")]
struct NoPrice(String);

#[actor]
struct Prices;

#[actor]
impl Prices {
    #[handler]
    fn price(&self, item: String) -> Result<u64, NoPrice> {
        if item == "tea" { Ok(3) } else { Err(NoPrice(item)) }
    }
}

#[actor]
struct Till {
    prices: PricesRef,
    total: u64,
}

#[actor]
impl Till {
    #[handler]
    fn scan(&mut self, item: String, ctx: &mut Context<Self>) {
        ctx.pipe(async move { self.prices.price(item).await }, |me, price| me.add(price.unwrap_or(0)));
    }

    #[handler]
    fn scan_tea(&mut self, ctx: &mut Context<Self>) {
        ctx.pipe(self.prices.price("tea".to_owned()), |me, price: Result<u64, AskError>| me.add(price.unwrap_or(0)));
    }

    #[handler]
    fn add(&mut self, price: u64) {
        self.total += price;
    }
}

fn main() {}
