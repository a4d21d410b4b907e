//! A factory reads the parent's fields whenever it runs.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("{0} does not resolve")]
struct Unresolved(String);

#[actor]
struct Resolver {
    servers: Vec<String>,
}

#[actor]
impl Resolver {
    #[handler]
    fn resolve(&self, host: String) -> Result<String, Unresolved> {
        self.servers.first().map(|server| format!("{host}@{server}")).ok_or(Unresolved(host))
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 5, within = "1m"), on(Unresolved) = Resume, on(_) = Restart)]
struct Network {
    servers: Vec<String>,
    resolvers: Vec<ResolverRef>,
}

#[actor]
impl Network {
    #[handler]
    fn grow(&mut self, ctx: &mut Context<Self>) -> Result<usize, SpawnError> {
        let resolver = ctx.spawn_anonymous(|| Resolver { servers: self.servers.clone() })?;
        self.resolvers.push(resolver);
        Ok(self.resolvers.len())
    }

    #[handler]
    async fn resolve(&self, host: String) -> Option<String> {
        self.resolvers.first()?.resolve(host).await.ok()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("net");
    let network =
        system.spawn("network", || Network { servers: vec!["1.1.1.1".to_owned()], resolvers: Vec::new() })?;
    network.grow().await?;
    println!("{:?}", network.resolve("example.org".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
