//! Reply slots: answers that come later, from elsewhere, or not at all.
//!
//! Section 19.

mod abandoned;
mod abandoned_hostile;
mod behind;
mod circles;
mod later;
mod limits;
mod retried;
mod unanswered;
mod when_room;
mod when_room_hostile;

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the database is down")]
struct Down;

/// Collects orders, and answers them when it is told to.
#[actor]
#[derive(Default)]
struct Orders {
    waiting: Vec<(u32, ReplyTo<u32>)>,
    /// Panics when it is dropped.
    bomb: Option<Bomb>,
}

#[derive(Debug)]
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the bomb goes off");
    }
}

#[actor]
impl Orders {
    /// Answers with the next flush.
    #[handler]
    async fn place(&mut self, order: u32, reply: ReplyTo<u32>) {
        tokio::task::yield_now().await;
        self.waiting.push((order, reply));
    }

    /// Like `place`, in a handler that does not wait.
    #[handler]
    fn place_now(&mut self, order: u32, reply: ReplyTo<u32>) {
        self.waiting.push((order, reply));
    }

    /// Answers all, or fails while it holds all slots.
    #[handler]
    async fn flush(&mut self, down: bool) -> Result<(), Down> {
        let batch = std::mem::take(&mut self.waiting);
        tokio::task::yield_now().await;
        if down {
            return Err(Down);
        }
        for (order, reply) in batch {
            reply.answer(order * 2);
        }
        Ok(())
    }

    /// The same without waiting.
    #[handler]
    fn flush_now(&mut self, down: bool) -> Result<usize, Down> {
        let batch = std::mem::take(&mut self.waiting);
        if down { Err(Down) } else { Ok(batch.len()) }
    }

    /// Fails with all of them in its state.
    #[handler]
    fn fail(&mut self) -> Result<(), Down> {
        Err(Down)
    }

    #[handler]
    fn panic(&mut self) {
        panic!("told to");
    }

    /// Drops its slot.
    #[handler]
    fn forget(&mut self, reply: ReplyTo<u32>) {
        drop(reply);
    }

    /// Drops its slot, and goes on.
    #[handler]
    async fn forget_soon(&mut self, reply: ReplyTo<u32>) {
        tokio::task::yield_now().await;
        drop(reply);
        std::future::pending::<()>().await;
    }

    /// Keeps its slot in its future.
    #[handler]
    async fn hang(&mut self, reply: ReplyTo<u32>) {
        std::future::pending::<()>().await;
        reply.answer(0);
    }

    /// Fails while it holds its own slot.
    #[handler]
    async fn try_to(&mut self, reply: ReplyTo<u32>) -> Result<(), Down> {
        tokio::task::yield_now().await;
        let _reply = reply;
        Err(Down)
    }

    /// The same without waiting, in an inline turn too.
    #[handler(inline)]
    fn try_now(&mut self, fails: bool, reply: ReplyTo<u32>) -> Result<(), Down> {
        if fails {
            return Err(Down);
        }
        reply.answer(1);
        Ok(())
    }

    #[handler]
    fn waiting(&self) -> usize {
        self.waiting.len()
    }

    #[handler]
    fn arm(&mut self) {
        self.bomb = Some(Bomb);
    }

    /// Answers from a task.
    #[handler]
    fn in_a_task(&mut self, order: u32, reply: ReplyTo<u32>) {
        tokio::spawn(async move {
            tokio::task::yield_now().await;
            reply.answer(order + 1);
        });
    }

    /// Never answers, and holds the slot where nobody finds it.
    #[handler]
    fn leak(&mut self, reply: ReplyTo<u32>) {
        std::mem::forget(reply);
    }
}
