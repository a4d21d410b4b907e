//! A type parameter that could be anything.

use supervise::prelude::*;

#[actor]
struct Slot<T> {
    value: T,
}

#[actor]
impl<T> Slot<T> {
    #[handler]
    fn put(&mut self, value: T, _ctx: &mut Context<Self>) {
        self.value = value;
    }

    #[handler]
    fn swap(&mut self, value: T) -> Reply<T> {
        Reply(std::mem::replace(&mut self.value, value))
    }
}

async fn caller(slot: SlotRef<u8>) {
    let _ = slot.put(1).await;
}

fn main() {}
