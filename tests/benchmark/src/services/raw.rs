//! By hand: a list of `oneshot` senders, a task for each future, a map behind a lock, `recv_many`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};

use super::{BATCH, Services, TOGETHER};
use crate::framework::raw::Raw;

#[derive(Debug)]
pub enum DeskMessage {
    Wait(oneshot::Sender<u64>),
    Fetch(u64),
    Fetched(u64),
    Total(oneshot::Sender<u64>),
}

async fn desk(own: mpsc::WeakUnboundedSender<DeskMessage>, mut inbox: mpsc::UnboundedReceiver<DeskMessage>) {
    let mut waiting = Vec::new();
    let mut total = 0;
    while let Some(message) = inbox.recv().await {
        match message {
            DeskMessage::Wait(reply) => {
                waiting.push(reply);
                if waiting.len() as u64 == TOGETHER {
                    // An asker may have given up.
                    waiting.drain(..).for_each(|reply| _ = reply.send(TOGETHER));
                }
            }
            DeskMessage::Fetch(amount) => {
                let Some(own) = own.upgrade() else { continue };
                tokio::spawn(async move {
                    let amount = std::future::ready(amount).await;
                    // The desk may be gone.
                    drop(own.send(DeskMessage::Fetched(amount)));
                });
            }
            DeskMessage::Fetched(amount) => total += amount,
            DeskMessage::Total(reply) => drop(reply.send(total)),
        }
    }
}

#[derive(Debug)]
pub enum Sum {
    Add(u64),
    Total(oneshot::Sender<u64>),
}

fn counter() -> mpsc::UnboundedSender<Sum> {
    let (sender, mut inbox) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut total = 0;
        while let Some(message) = inbox.recv().await {
            match message {
                Sum::Add(amount) => total += amount,
                Sum::Total(reply) => drop(reply.send(total)),
            }
        }
    });
    sender
}

async fn total(counter: &mpsc::UnboundedSender<Sum>) -> u64 {
    let (reply, answer) = oneshot::channel();
    counter.send(Sum::Total(reply)).expect("a counter that runs");
    answer.await.expect("a counter that answers")
}

type Counters = Arc<Mutex<HashMap<u64, mpsc::UnboundedSender<Sum>>>>;

fn by_key(registry: &Counters, key: u64) -> mpsc::UnboundedSender<Sum> {
    let mut counters = registry.lock().unwrap_or_else(PoisonError::into_inner);
    counters.entry(key).or_insert_with(counter).clone()
}

impl Services for Raw {
    type Desk = mpsc::UnboundedSender<DeskMessage>;

    async fn desk(&self) -> Self::Desk {
        let (sender, inbox) = mpsc::unbounded_channel();
        tokio::spawn(desk(sender.downgrade(), inbox));
        sender
    }

    async fn wait_together(desk: &Self::Desk) -> u64 {
        let (reply, answer) = oneshot::channel();
        desk.send(DeskMessage::Wait(reply)).expect("a desk that runs");
        answer.await.expect("a desk that answers")
    }

    async fn fetch(desk: &Self::Desk, amount: u64) {
        desk.send(DeskMessage::Fetch(amount)).expect("a desk that runs");
    }

    async fn fetched(desk: &Self::Desk) -> u64 {
        let (reply, answer) = oneshot::channel();
        desk.send(DeskMessage::Total(reply)).expect("a desk that runs");
        answer.await.expect("a desk that answers")
    }

    type Registry = Counters;

    async fn registry(&self) -> Counters {
        Counters::default()
    }

    async fn add_by_key(registry: &Counters, key: u64, amount: u64) {
        by_key(registry, key).send(Sum::Add(amount)).expect("a counter that runs");
    }

    async fn total_by_key(registry: &Counters, key: u64) -> u64 {
        total(&by_key(registry, key)).await
    }

    type Writer = mpsc::UnboundedSender<Sum>;

    async fn writer(&self) -> Self::Writer {
        let (sender, mut inbox) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut total = 0;
            let mut batch = Vec::with_capacity(BATCH);
            while inbox.recv_many(&mut batch, BATCH).await > 0 {
                for message in batch.drain(..) {
                    match message {
                        Sum::Add(amount) => total += amount,
                        Sum::Total(reply) => drop(reply.send(total)),
                    }
                }
            }
        });
        sender
    }

    async fn write(writer: &Self::Writer, amount: u64) {
        writer.send(Sum::Add(amount)).expect("a writer that runs");
    }

    async fn written(writer: &Self::Writer) -> u64 {
        total(writer).await
    }
}
