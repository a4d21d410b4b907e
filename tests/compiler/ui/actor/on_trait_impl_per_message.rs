//! `#[actor]` on impls of traits with an impl for each message, as other frameworks have them.

use supervise::prelude::*;

trait Message<M> {
    type Reply;

    async fn handle(&mut self, message: M) -> Self::Reply;
}

trait Handler<M> {
    fn handle(&mut self, message: M);
}

trait Drawn {
    fn draw(&self);
}

struct Turn(u16);
struct Move {
    by: i32,
}
struct Repaint<C>(C);

#[actor]
struct Turtle {
    at: i32,
}

#[actor]
impl Message<Turn> for Turtle {
    type Reply = Option<u16>;

    async fn handle(&mut self, message: Turn) -> Self::Reply {
        Some(message.0)
    }
}

#[actor]
impl Handler<Move> for Turtle {
    fn handle(&mut self, message: Move) {
        self.at += message.by;
    }
}

#[actor]
impl Handler<Repaint<u32>> for Turtle {
    fn handle(&mut self, _: Repaint<u32>) {}
}

#[actor]
impl Drawn for Turtle {
    fn draw(&self) {}
}

fn main() {}
