//! The carts by customer are used as if their field were the ref of one cart.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the cart is full")]
struct CartFull;

#[actor]
struct Cart {
    items: Vec<String>,
}

#[actor]
impl Cart {
    #[handler]
    fn add(&mut self, item: String) -> Result<usize, CartFull> {
        if self.items.len() == 100 {
            return Err(CartFull);
        }
        self.items.push(item);
        Ok(self.items.len())
    }
}

async fn add_tea(cart: &CartRef) -> Result<usize, AskError> {
    cart.add("tea".to_owned()).await
}

#[actor]
#[supervise(one_for_one, on(CartFull) = Resume)]
struct Shop {
    #[child(|_| |_: &u64| Cart { items: Vec::new() }, idle = "30m")]
    carts: Children<u64, Cart>,
}

#[actor]
impl Shop {
    #[handler]
    async fn add(&mut self, item: String) -> Option<usize> {
        add_tea(&self.carts).await.ok()?;
        self.carts.add(item).await.ok()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("shop");
    let shop = system.spawn("shop", || Shop { carts: Children::default() })?;
    println!("{:?}", shop.add("milk".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
