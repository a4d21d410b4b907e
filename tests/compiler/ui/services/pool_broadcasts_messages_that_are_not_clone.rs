//! A broadcasting pool of actors whose messages do not derive `Clone`.

use supervise::pattern::Pool;
use supervise::prelude::*;

#[actor]
struct Cache;

#[actor]
impl Cache {
    #[handler]
    fn forget(&mut self, key: String) {
        let _ = key;
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("caches");
    let caches = system.spawn_with("caches", Pool::broadcasting(3, || Cache).props())?;
    caches.forget("prices".to_owned()).tell()?;
    system.terminate().await;
    Ok(())
}
