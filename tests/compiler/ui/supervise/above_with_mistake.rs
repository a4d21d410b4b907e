//! A mistake in a `#[supervise]` above `#[actor]`.

use supervise::prelude::*;

#[supervise(on(_) = Restrat)]
#[actor]
struct Parent;

#[actor]
impl Parent {
    #[handler]
    fn go(&mut self) {}
}

async fn caller(parent: ParentRef) {
    let _ = parent.go().await;
}

fn main() {}
