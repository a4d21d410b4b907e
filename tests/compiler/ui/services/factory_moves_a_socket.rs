//! A connection's actor owns its socket, and is spawned as if it could be made twice.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use supervise::prelude::*;

#[actor]
struct Connection {
    socket: TcpStream,
}

#[actor]
impl Connection {
    #[handler]
    async fn echo(&mut self) -> Result<usize, std::io::Error> {
        let mut buffer = [0; 1024];
        let read = self.socket.read(&mut buffer).await?;
        self.socket.write_all(&buffer[..read]).await?;
        Ok(read)
    }
}

#[actor]
#[supervise(one_for_one, on(std::io::Error) = Stop)]
struct Server {
    accepted: u64,
}

#[actor]
impl Server {
    #[handler]
    fn accept(&mut self, socket: TcpStream, ctx: &mut Context<Self>) -> Result<ConnectionRef, SpawnError> {
        self.accepted += 1;
        let name = format!("connection-{}", self.accepted);
        ctx.spawn(name, move || Connection { socket })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("echo");
    let server = system.spawn("server", || Server { accepted: 0 })?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let (socket, _) = listener.accept().await?;
    println!("{} bytes", server.accept(socket).await?.echo().await?);
    system.terminate().await;
    Ok(())
}
