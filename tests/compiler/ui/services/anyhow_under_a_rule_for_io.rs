//! A child fails with `anyhow::Error`, and the parent names the error that is inside.

use std::io;

use supervise::prelude::*;

#[actor]
struct Loader {
    directory: String,
}

#[actor]
impl Loader {
    #[handler]
    fn load(&mut self, name: String) -> anyhow::Result<usize> {
        let text = std::fs::read_to_string(format!("{}/{name}", self.directory))?;
        Ok(text.len())
    }
}

#[actor]
#[supervise(
    one_for_one(max_retries = 3, within = "1m"),
    on(io::Error if |error| error.kind() == io::ErrorKind::NotFound) = Resume,
    on(io::Error) = Restart,
)]
struct Assets {
    loaded: usize,
}

#[actor]
impl Assets {
    #[handler]
    async fn load_all(&mut self, names: Vec<String>, ctx: &mut Context<Self>) -> Result<usize, SpawnError> {
        let loader = ctx.spawn_anonymous(|| Loader { directory: "assets".to_owned() })?;
        for name in names {
            if loader.load(name).await.is_ok() {
                self.loaded += 1;
            }
        }
        Ok(self.loaded)
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let system = ActorSystem::new("game");
    let assets = system.spawn("assets", || Assets { loaded: 0 })?;
    println!("{}", assets.load_all(vec!["hero.png".to_owned()]).await?);
    system.terminate().await;
    let _ = io::ErrorKind::NotFound;
    Ok(())
}
