//! Actors with a durable mailbox: generic, conditional, without arguments, with arguments that only a transient handler may have.
#![allow(dead_code, reason = "the program shows what compiles")]

use serde::Serialize;
use serde::de::DeserializeOwned;
use supervise::prelude::*;

struct Socket;

#[actor(mailbox = durable(capacity = 10, window = 2, redeliver = 0, crashes = 1))]
struct Orders<T> {
    last: Option<T>,
}

#[actor]
impl<T: Serialize + DeserializeOwned + Send + 'static> Orders<T> {
    #[handler]
    fn place(&mut self, order: T, note: Option<String>) -> bool {
        drop(note);
        self.last.replace(order).is_some()
    }

    #[handler(redeliver = 2)]
    fn retried(&mut self, order: Vec<T>) {
        drop(order);
    }

    #[cfg(any())]
    #[handler]
    fn never(&mut self, socket: Socket) {}

    #[handler(transient)]
    fn socket(&mut self, socket: Socket) {
        let _ = socket;
    }

    #[handler(inline, transient)]
    fn count(&self) -> usize {
        usize::from(self.last.is_some())
    }

    #[handler(stored_as = "nothing", also = ["none", "nil"])]
    fn nothing(&mut self, r#type: u8) {
        let _ = r#type;
    }

    #[handler]
    fn empty(&mut self) {}
}

/// Needs a store, and no serde.
#[actor(mailbox = durable)]
struct Idle;

#[actor]
impl Idle {}

/// One of many actors that share a queue.
#[actor(mailbox = durable(window = 1, shared))]
struct Worker;

#[actor]
impl Worker {
    #[handler]
    fn work(&mut self, number: u32) -> u32 {
        number
    }
}

const _: () = {
    let settings = <Worker as supervise::Supervisor>::DURABLE.expect("it is durable");
    assert!(settings.shared && settings.window == 1, "in any order");
    let settings = supervise::durable::DurableMailbox::DEFAULT;
    assert!(!settings.shared && settings.window == 1024 && settings.shared().window == 16);
};

async fn sends(orders: OrdersRef<u32>) -> Result<(), Box<dyn std::error::Error>> {
    orders.place(1, None).accepted().await?;
    orders.place(1, None).key("one").accepted().await?;
    orders.place(1, None).tell()?;
    orders.place(1, None).send().await?;
    orders.place(1, None).await?;
    orders.socket(Socket).await?;
    assert_eq!(orders.count().await?, 1);
    Ok(())
}

fn main() {
    let _ = (sends, || Idle, || Worker);
}
