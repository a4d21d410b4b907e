//! An actor is generic over its repository, whose trait promises nothing about threads.

use supervise::prelude::*;

trait Repository {
    fn load(&mut self, id: u64) -> Option<String>;
}

struct InMemory(Vec<String>);

impl Repository for InMemory {
    fn load(&mut self, id: u64) -> Option<String> {
        self.0.get(usize::try_from(id).ok()?).cloned()
    }
}

#[derive(Debug, thiserror::Error)]
#[error("no order {0}")]
struct NoOrder(u64);

#[actor]
struct Orders<R> {
    repository: R,
}

#[actor]
impl<R: Repository> Orders<R> {
    #[handler]
    fn order(&mut self, id: u64) -> Result<String, NoOrder> {
        self.repository.load(id).ok_or(NoOrder(id))
    }

    #[handler]
    fn close(&mut self, ctx: &mut Context<Self>) {
        ctx.stop_self();
    }
}

#[actor]
#[supervise(one_for_one, on(NoOrder) = Resume)]
struct Shop {
    #[child(|_| || Orders { repository: InMemory(vec!["tea".to_owned()]) })]
    orders: Child<Orders<InMemory>>,
}

#[actor]
impl Shop {
    #[handler]
    async fn order(&self, id: u64) -> Option<String> {
        self.orders.actor().order(id).await.ok()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("shop");
    let shop = system.spawn("shop", || Shop { orders: Child::default() })?;
    println!("{:?}", shop.order(0).await?);
    system.terminate().await;
    Ok(())
}
