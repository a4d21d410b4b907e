//! The closure of a pipe returns the message as a value, as a function from results to messages does elsewhere.

use supervise::prelude::*;

async fn price(item: String) -> u64 {
    tokio::task::yield_now().await;
    item.len() as u64
}

#[actor]
struct Till {
    total: u64,
}

#[actor]
impl Till {
    #[handler]
    fn scan(&mut self, item: String, ctx: &mut Context<Self>) {
        ctx.pipe(price(item), |_, price| TillMessage::Add { price });
    }

    #[handler]
    fn add(&mut self, price: u64) {
        self.total += price;
    }

    #[handler]
    fn total(&self) -> u64 {
        self.total
    }
}

#[actor]
struct Shop {
    #[child(|_| || Till { total: 0 })]
    till: Child<Till>,
}

#[actor]
impl Shop {
    #[handler]
    async fn sell(&self, item: String) -> Result<u64, AskError> {
        self.till.actor().scan(item).await?;
        self.till.actor().total().await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("shop");
    println!("{}", system.spawn("shop", || Shop { till: Child::default() })?.sell("tea".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
