//! A declared child cannot start. Its parent stops it, and therefore cannot start either (rule 14.1). The office above has no rule
//! for that.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("no connection")]
struct NoConnection;

#[derive(Debug, thiserror::Error)]
#[error("the order is malformed")]
struct Malformed;

#[actor]
struct Connection;

#[actor]
impl Connection {
    #[pre_start]
    async fn connect(&mut self) -> Result<(), NoConnection> {
        tokio::task::yield_now().await;
        Err(NoConnection)
    }
}

#[actor]
#[supervise(one_for_one, on(NoConnection) = Stop)]
struct Orders {
    #[child(|_| || Connection)]
    connection: Child<Connection>,
}

#[actor]
impl Orders {
    #[handler]
    fn order(&mut self, amount: u32) -> Result<(), Malformed> {
        if amount == 0 { Err(Malformed) } else { Ok(()) }
    }
}

#[actor]
#[supervise(one_for_one, on(Malformed) = Resume)]
struct Office {
    #[child(|_| || Orders { connection: Child::default() })]
    orders: Child<Orders>,
}

#[actor]
impl Office {}

fn main() {}
