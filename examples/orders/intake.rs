//! The process that is killed: accepts orders over TCP, and handles them.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use supervise::Props;
use supervise::durable::{Quarantined, SqliteStore};
use supervise::prelude::*;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use crate::Result;

/// The queue of the orders. It has a name of its own, so that it survives if the actor moves.
const QUEUE: &str = "orders";

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Order {
    number: u32,
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("order {0} is for a customer whom nobody knows")]
    UnknownCustomer(u32),
    #[error(transparent)]
    Database(#[from] io::Error),
}

/// Handles orders. `database` stands for a real one: a file with a line for each order that was handled.
#[actor(mailbox = durable)]
struct Orders {
    database: File,
}

#[actor]
impl Orders {
    #[handler]
    async fn place(&mut self, order: Order) -> std::result::Result<(), Failure> {
        tokio::time::sleep(Duration::from_micros(200)).await;
        if order.number % 100 == 99 {
            return Err(Failure::UnknownCustomer(order.number));
        }
        // A real database would insert `ctx.delivery().id()` under a unique key, and so notice an order that comes
        // twice. This file shows how often that happens. Each line is one write, so that a kill does not leave
        // half a line.
        self.database.write_all(format!("{}\n", order.number).as_bytes())?;
        Ok(())
    }
}

#[actor]
#[supervise(one_for_one, on(_) = Restart)]
struct Shop {
    database: PathBuf,
}

#[actor]
impl Shop {
    #[handler]
    fn orders(&mut self, ctx: &mut Context<Self>) -> Reply<OrdersRef> {
        let path = self.database.clone();
        let open = move || {
            let database =
                OpenOptions::new().append(true).create(true).open(&path).expect("the folder can be written");
            Orders { database }
        };
        Reply(ctx.spawn_with("orders", Props::new(open).queue(QUEUE)).expect("it is asked for once"))
    }
}

fn store(folder: &Path) -> PathBuf {
    folder.join("orders.mailbox")
}

/// The database of the example.
pub(crate) fn database(folder: &Path) -> PathBuf {
    folder.join("handled")
}

/// Prints its port, and accepts orders until it is told to end.
pub(crate) async fn run(folder: &Path) -> Result<()> {
    let system = ActorSystem::builder("orders").store(SqliteStore::open(store(folder))?).start()?;
    let database = database(folder);
    let shop = system.spawn("shop", move || Shop { database: database.clone() })?;
    // Orders that waited when the last process was killed come first.
    let orders = shop.orders().await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?.port());
    let end = Arc::new(Notify::new());
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (stream, _) = accepted?;
                let (orders, system, end) = (orders.clone(), system.clone(), Arc::clone(&end));
                // A client that hangs up ends its task with an error, which needs no handling.
                tokio::spawn(async move { serve(stream, orders, system, &end).await.is_ok() });
            }
            () = end.notified() => break,
        }
    }
    system.terminate().await;
    Ok(())
}

async fn serve(stream: TcpStream, orders: OrdersRef, system: ActorSystem, end: &Notify) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (questions, mut answers) = stream.into_split();
    let mut questions = BufReader::new(questions).lines();
    while let Some(question) = questions.next_line().await? {
        let answer = match question.split_once(' ') {
            Some(("order", number)) => match number.parse() {
                // The client may send an order again. The key makes sure that it is stored once.
                Ok(number) => match orders.place(Order { number }).key(format!("order-{number}")).accepted().await
                {
                    Ok(()) => "accepted".to_owned(),
                    Err(error) => error.to_string(),
                },
                Err(_) => format!("{number} is not a number"),
            },
            _ if question == "waiting" => match system.store().queues().await {
                Ok(queues) => queues.iter().map(|queue| queue.waiting).sum::<u64>().to_string(),
                Err(error) => error.to_string(),
            },
            _ if question == "end" => {
                end.notify_one();
                "ending".to_owned()
            }
            _ => format!("`{question}` means nothing here"),
        };
        answers.write_all(format!("{answer}\n").as_bytes()).await?;
    }
    Ok(())
}

/// Opens the store that an intake has left in this folder. Opening another path would create a store there.
pub(crate) fn reopen(folder: &Path) -> Result<ActorSystem> {
    let store = store(folder);
    if !store.exists() {
        return Err(format!("there is no store of orders in {}", folder.display()).into());
    }
    Ok(ActorSystem::builder("orders").store(SqliteStore::open(store)?).start()?)
}

/// The quarantine, read while no intake runs.
pub(crate) async fn quarantine(folder: &Path) -> Result<Vec<Quarantined>> {
    let system = reopen(folder)?;
    let quarantined = system.store().quarantined(QUEUE).await?;
    system.terminate().await;
    Ok(quarantined)
}
