//! A node in a process of its own: `node ADDRESS [SEED]`. It has the actors `one` and `two`, prints what it hears of its peers, and ends
//! when its input ends.

use std::error::Error;

use supervise::remote::Node;
use supervise::zenoh::Zenoh;
use supervise::{ActorSystem, Event, Interest};
use supervise_remote_zenoh::{Echo, PATIENCE};
use tokio::io::AsyncReadExt as _;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().ok_or("usage: node ADDRESS [SEED]")?;
    let system = ActorSystem::new("there");
    let mut events = system.events().subscribe_to(Interest::FAILURES);
    for name in ["one", "two"] {
        system.spawn(name, Echo::default)?;
    }
    let engine = Zenoh::listen(address).seeds(arguments);
    let node = Node::builder(&system).serve::<Echo>().patience(PATIENCE).join(engine).await?;
    println!("ready {}", node.id().address());
    let hears = async {
        while let Some(event) = events.recv().await {
            match event {
                Event::NodeUp { node, .. } => println!("up {node}"),
                Event::NodeDown { node, why, .. } => println!("down {node} {why}"),
                _ => {}
            }
        }
    };
    let mut input = [0];
    let mut stdin = tokio::io::stdin();
    tokio::select! {
        () = hears => {}
        _ended = stdin.read(&mut input) => {}
    }
    system.terminate().await;
    Ok(())
}
