//! A handler fails with `Failure`, which hides the error that the rule names.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("no such user")]
struct NoUser;

#[actor]
struct Users {
    names: Vec<String>,
}

#[actor]
impl Users {
    #[handler]
    fn find(&self, number: usize) -> Result<String, Failure> {
        self.names.get(number).cloned().ok_or_else(|| Failure::new(NoUser))
    }
}

#[actor]
#[supervise(one_for_one, on(NoUser) = Restart)]
struct Site {
    #[child(|_| || Users { names: Vec::new() })]
    users: Child<Users>,
}

#[actor]
impl Site {
    #[handler]
    async fn user(&self, number: usize) -> Option<String> {
        self.users.actor().find(number).await.ok()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("site");
    let site = system.spawn("site", || Site { users: Child::default() })?;
    println!("{:?}", site.user(0).await?);
    system.terminate().await;
    Ok(())
}
