//! A node in a process of its own: `node [plaintext] ADDRESS [SEED]..`. It has the actors `one`, `two`, `ledger` and `hive`, and prints what it
//! hears of its peers. It ends when its input ends. `NODE_PATIENCE` is
//! how many seconds of silence it bears. A line `watch PATH` of its input lets it watch an `Echo` of another node.

use std::error::Error;
use std::time::Duration;

use supervise::remote::Node;
use supervise::zenoh::Zenoh;
use supervise::{ActorSystem, Event, Events, Interest};
use supervise_remote_zenoh::{Echo, Hive, LIMIT, Ledger, PATIENCE, Watcher};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::sync::mpsc::unbounded_channel;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let is_plaintext = arguments.next_if_eq("plaintext").is_some();
    let address = arguments.next().ok_or("usage: node [plaintext] ADDRESS [SEED]..")?;
    let system = ActorSystem::new("there");
    let events = system.events().subscribe_to(Interest::FAILURES);
    for name in ["one", "two"] {
        system.spawn(name, Echo::default)?;
    }
    system.spawn("ledger", Ledger::default)?;
    system.spawn("hive", Hive::default)?;
    let engine = Zenoh::listen(address).seeds(arguments);
    let engine = if is_plaintext { engine.plaintext() } else { engine };
    let builder = Node::builder(&system).serve::<Echo>().serve::<Ledger>().serve::<Hive>().limit(LIMIT);
    let patience = match std::env::var("NODE_PATIENCE") {
        Ok(seconds) => Duration::from_secs(seconds.parse()?),
        Err(_) => PATIENCE,
    };
    let node = builder.patience(patience).join(engine).await?;
    println!("ready {}", node.id().address());
    tokio::select! {
        () = hear(events) => {}
        done = obey(&system, &node) => done?,
    }
    system.terminate().await;
    Ok(())
}

async fn hear(mut events: Events) {
    while let Some(event) = events.recv().await {
        match event {
            Event::NodeUp { node, .. } => println!("up {node}"),
            Event::NodeDown { node, why, .. } => println!("down {node} {why}"),
            _ => {}
        }
    }
}

async fn obey(system: &ActorSystem, node: &Node) -> Result<(), Box<dyn Error>> {
    let (log, mut gone) = unbounded_channel();
    let watcher = system.spawn("watcher", move || Watcher { log: log.clone() })?;
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    loop {
        tokio::select! {
            line = lines.next_line() => {
                let Some(line) = line? else { return Ok(()) };
                let path = line.strip_prefix("watch ").ok_or("it is told `watch PATH`")?;
                let echo = loop {
                    if let Ok(echo) = node.find::<Echo>(path).await {
                        break echo;
                    }
                };
                watcher.watch(echo.clone()).await?;
                // The answer proves that the watch has arrived, because both take the same way in order.
                echo.echo(String::new()).await?;
                println!("watches {}", echo.actor_ref().path().name());
            }
            Some((name, how)) = gone.recv() => println!("gone {name} {how:?}"),
        }
    }
}
