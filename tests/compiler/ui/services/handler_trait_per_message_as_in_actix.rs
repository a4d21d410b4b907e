//! Each message has a type and a `Handler` impl of its own, as in actix.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the light is broken")]
struct Broken;

struct Switch {
    on: bool,
}

#[actor]
struct Light {
    on: bool,
}

#[actor]
impl Handler<Switch> for Light {
    type Result = Result<bool, Broken>;

    fn handle(&mut self, message: Switch, _ctx: &mut Context<Self>) -> Self::Result {
        self.on = message.on;
        Ok(self.on)
    }
}

#[actor]
#[supervise(one_for_one, on(Broken) = Restart)]
struct House {
    #[child(|_| || Light { on: false })]
    light: Child<Light>,
}

#[actor]
impl House {
    #[handler]
    async fn evening(&self) -> Result<bool, AskError> {
        self.light.actor().send(Switch { on: true }).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("home");
    let house = system.spawn("house", || House { light: Child::default() })?;
    println!("{}", house.evening().await?);
    system.terminate().await;
    Ok(())
}
