//! A program ends its system with `shutdown`.

use supervise::prelude::*;

#[actor]
struct Greeter;

#[actor]
impl Greeter {
    #[handler]
    fn greet(&self, name: String) -> String {
        format!("Hello, {name}")
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("hello");
    println!("{}", system.spawn("greeter", || Greeter)?.greet("you".to_owned()).await?);
    system.shutdown().await;
    Ok(())
}
