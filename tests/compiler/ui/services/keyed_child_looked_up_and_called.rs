//! Sessions by user are called through the collection, as if it were a map from keys to refs.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the cart is full")]
struct CartFull;

#[actor]
struct Session {
    user: u64,
    cart: Vec<String>,
}

#[actor]
impl Session {
    #[handler]
    fn add(&mut self, item: String) -> Result<usize, CartFull> {
        if self.cart.len() == 100 {
            return Err(CartFull);
        }
        self.cart.push(format!("{}: {item}", self.user));
        Ok(self.cart.len())
    }
}

#[actor]
#[supervise(one_for_one, on(CartFull) = Resume)]
struct Shop {
    #[child(|_| |user: &u64| Session { user: *user, cart: Vec::new() }, idle = "30m")]
    sessions: Children<u64, Session>,
}

#[actor]
impl Shop {
    #[handler]
    async fn add(&mut self, user: u64, item: String) -> Option<usize> {
        self.sessions.get_or_spawn(user).add(item).await.ok()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("shop");
    let shop = system.spawn("shop", || Shop { sessions: Children::default() })?;
    println!("{:?}", shop.add(7, "tea".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
