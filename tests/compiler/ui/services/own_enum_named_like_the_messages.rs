//! The user has an enum with the name of the generated messages.

use supervise::prelude::*;

/// What the client sends over the socket.
#[derive(Debug, Clone)]
pub enum SessionMessage {
    Hello { name: String },
    Text(String),
    Bye,
}

#[derive(Debug, thiserror::Error)]
#[error("the client spoke before it said hello")]
pub struct Impolite;

#[actor]
pub struct Session {
    name: Option<String>,
    said: Vec<String>,
}

#[actor]
impl Session {
    #[handler]
    fn receive(&mut self, message: SessionMessage, ctx: &mut Context<Self>) -> Result<usize, Impolite> {
        match message {
            SessionMessage::Hello { name } => self.name = Some(name),
            SessionMessage::Text(_) if self.name.is_none() => return Err(Impolite),
            SessionMessage::Text(text) => self.said.push(text),
            SessionMessage::Bye => ctx.stop_self(),
        }
        Ok(self.said.len())
    }
}

#[actor]
#[supervise(one_for_one, on(Impolite) = Stop)]
struct Server;

#[actor]
impl Server {
    #[handler]
    fn accept(&mut self, ctx: &mut Context<Self>) -> Result<SessionRef, SpawnError> {
        ctx.spawn_anonymous(|| Session { name: None, said: Vec::new() })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("chat");
    let session = system.spawn("server", || Server)?.accept().await?;
    println!("{}", session.receive(SessionMessage::Hello { name: "ann".to_owned() }).await?);
    system.terminate().await;
    Ok(())
}
