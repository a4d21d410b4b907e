//! Hooks by the names of actix (`started`), kameo (`on_start`, `on_panic`) and `gen_server` (`init`, `terminate`): they never run.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("no session")]
pub struct NoSession;

#[actor]
pub struct Session {
    token: Option<u64>,
}

#[actor]
impl Session {
    pub fn started(&mut self, _ctx: &mut Context<Self>) {
        self.token = Some(1);
    }

    pub async fn on_start(&mut self) -> Result<(), NoSession> {
        self.token = Some(2);
        Ok(())
    }

    pub fn terminate(&mut self, _ctx: &mut Context<Self>) {
        self.token = None;
    }

    #[handler]
    fn token(&self) -> Result<u64, NoSession> {
        self.token.ok_or(NoSession)
    }
}

#[actor]
#[supervise(one_for_one, on(NoSession) = Restart)]
struct Sessions {
    #[child(|_| || Session { token: None })]
    first: Child<Session>,
}

#[actor]
impl Sessions {
    #[handler]
    async fn token(&self) -> Result<u64, AskError> {
        self.first.actor().token().await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("web");
    println!("{:?}", system.spawn("sessions", || Sessions { first: Child::default() })?.token().await);
    system.terminate().await;
    Ok(())
}
