//! An actor links itself to another one.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the port is closed")]
struct PortClosed;

#[actor]
struct Port {
    open: bool,
}

#[actor]
impl Port {
    #[handler]
    fn write(&mut self, bytes: Vec<u8>) -> Result<usize, PortClosed> {
        if self.open { Ok(bytes.len()) } else { Err(PortClosed) }
    }
}

#[actor]
struct Driver {
    port: PortRef,
}

#[actor]
impl Driver {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) {
        ctx.link(&self.port);
    }

    #[handler]
    async fn send_all(&mut self, bytes: Vec<u8>) -> Option<usize> {
        self.port.write(bytes).await.ok()
    }
}

#[actor]
#[supervise(one_for_one, on(PortClosed) = Stop, on(DeathPact) = Stop)]
struct Node;

#[actor]
impl Node {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<DriverRef, SpawnError> {
        let port = ctx.spawn("port", || Port { open: true })?;
        ctx.spawn("driver", move || Driver { port: port.clone() })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("node");
    let driver = system.spawn("node", || Node)?.open().await?;
    println!("{:?}", driver.send_all(vec![1, 2]).await?);
    system.terminate().await;
    Ok(())
}
