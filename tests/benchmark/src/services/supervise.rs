//! `supervise`: deferred replies, `ctx.pipe`, keyed children, a handler with `batch`.

use supervise::prelude::*;
use supervise::ReplyTo;

use super::{Services, TOGETHER};
use crate::framework::supervise::Supervise;

/// Answers later.
#[actor]
pub struct Desk {
    waiting: Vec<ReplyTo<u64>>,
    total: u64,
}

#[actor]
impl Desk {
    #[handler]
    fn wait(&mut self, reply: ReplyTo<u64>) {
        self.waiting.push(reply);
        if self.waiting.len() as u64 == TOGETHER {
            self.waiting.drain(..).for_each(|reply| reply.answer(TOGETHER));
        }
    }

    #[handler]
    fn fetch(&mut self, amount: u64, ctx: &mut Context<Self>) {
        ctx.pipe(std::future::ready(amount), DeskRef::fetched);
    }

    #[handler]
    fn fetched(&mut self, amount: u64) {
        self.total += amount;
    }

    #[handler]
    fn total(&self) -> u64 {
        self.total
    }
}

/// The counter of one key.
#[actor]
pub struct Account {
    total: u64,
}

#[actor]
impl Account {
    #[handler]
    fn add(&mut self, amount: u64) {
        self.total += amount;
    }

    #[handler]
    fn total(&self) -> u64 {
        self.total
    }
}

/// Has the accounts.
#[actor]
struct Bank {
    accounts: Children<u64, Account>,
}

#[actor]
impl Bank {
    #[pre_start]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        self.accounts = Children::of(|_: &u64| Account { total: 0 }).spawn(ctx, "accounts")?;
        Ok(())
    }

    #[handler]
    fn accounts(&self) -> Children<u64, Account> {
        self.accounts.clone()
    }
}

/// Handles many messages at once.
#[actor]
pub struct Writer {
    total: u64,
}

#[actor]
impl Writer {
    #[handler(batch = 100)]
    fn write(&mut self, amounts: Vec<u64>) {
        self.total += amounts.iter().sum::<u64>();
    }

    #[handler]
    fn total(&self) -> u64 {
        self.total
    }
}

impl Services for Supervise {
    type Desk = DeskRef;

    async fn desk(&self) -> DeskRef {
        self.system.spawn("desk", || Desk { waiting: Vec::new(), total: 0 }).expect("a free name")
    }

    async fn wait_together(desk: &DeskRef) -> u64 {
        desk.wait().await.expect("a desk that answers")
    }

    async fn fetch(desk: &DeskRef, amount: u64) {
        desk.fetch(amount).tell().expect("a desk that runs");
    }

    async fn fetched(desk: &DeskRef) -> u64 {
        desk.total().await.expect("a desk that answers")
    }

    type Registry = Children<u64, Account>;

    async fn registry(&self) -> Children<u64, Account> {
        let bank = self.system.spawn("bank", || Bank { accounts: Children::default() }).expect("a free name");
        bank.accounts().await.expect("a bank that answers")
    }

    async fn add_by_key(registry: &Children<u64, Account>, key: u64, amount: u64) {
        registry.get_or_spawn(key).expect("a bank that runs").add(amount).tell().expect("an account that runs");
    }

    async fn total_by_key(registry: &Children<u64, Account>, key: u64) -> u64 {
        let account = registry.get_or_spawn(key).expect("a bank that runs");
        account.total().await.expect("an account that answers")
    }

    type Writer = WriterRef;

    async fn writer(&self) -> WriterRef {
        self.system.spawn("writer", || Writer { total: 0 }).expect("a free name")
    }

    async fn write(writer: &WriterRef, amount: u64) {
        writer.write(amount).tell().expect("a writer that runs");
    }

    async fn written(writer: &WriterRef) -> u64 {
        writer.total().await.expect("a writer that answers")
    }
}
