//! A handler passes a failed ask on as an error that it does not convert into.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
enum CheckoutError {
    #[error("the cart is empty")]
    EmptyCart,
    #[error("the payment failed")]
    Payment,
}

#[derive(Debug, thiserror::Error)]
#[error("declined")]
struct Declined;

#[actor]
struct Payments;

#[actor]
impl Payments {
    #[handler]
    fn charge(&mut self, cents: u64) -> Result<u64, Declined> {
        if cents > 10_000 { Err(Declined) } else { Ok(cents) }
    }
}

#[actor]
#[supervise(one_for_one, on(Declined) = Resume)]
struct Checkout {
    #[child(|_| || Payments)]
    payments: Child<Payments>,
}

#[actor]
impl Checkout {
    #[handler]
    async fn pay(&mut self, cart: Vec<u64>) -> Result<u64, CheckoutError> {
        if cart.is_empty() {
            return Err(CheckoutError::EmptyCart);
        }
        let charged = self.payments.actor().charge(cart.iter().sum()).await?;
        if charged == 0 { Err(CheckoutError::Payment) } else { Ok(charged) }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("shop");
    let checkout = system.spawn("checkout", || Checkout { payments: Child::default() })?;
    println!("{}", checkout.pay(vec![1, 2]).await?);
    system.terminate().await;
    Ok(())
}
