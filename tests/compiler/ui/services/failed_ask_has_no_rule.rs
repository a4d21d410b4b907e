//! A child asks another one, and the parent has no rule for a failed ask.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("no route to {0}")]
struct NoRoute(String);

#[actor]
struct Router;

#[actor]
impl Router {
    #[handler]
    fn route(&mut self, town: String) -> Result<Vec<String>, NoRoute> {
        if town == "Atlantis" { Err(NoRoute(town)) } else { Ok(vec!["home".to_owned(), town]) }
    }
}

#[actor]
struct Driver {
    #[child(given)]
    router: Child<Router>,
}

#[actor]
impl Driver {
    #[handler]
    async fn drive(&mut self, town: String) -> Result<usize, AskError> {
        Ok(self.router.actor().route(town).await?.len())
    }
}

#[actor]
#[supervise(rest_for_one(max_retries = 3, within = "1m"), on(NoRoute) = Resume)]
struct Fleet {
    #[child(|_| || Router)]
    router: Child<Router>,
    #[child(|this| { let router = this.router.clone(); move || Driver { router: router.clone() } })]
    driver: Child<Driver>,
}

#[actor]
impl Fleet {
    #[handler]
    async fn deliver(&self, town: String) -> Option<usize> {
        self.driver.actor().drive(town).await.ok()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("fleet");
    let fleet = system.spawn("fleet", || Fleet { router: Child::default(), driver: Child::default() })?;
    println!("{:?}", fleet.deliver("Ulm".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
