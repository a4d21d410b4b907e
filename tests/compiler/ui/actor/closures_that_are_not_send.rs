//! Closures in arguments and replies that cannot be sent.

use std::sync::Arc;

use supervise::prelude::*;

#[actor]
struct Feed;

#[actor]
impl Feed {
    #[handler]
    fn run(&mut self, jobs: Vec<Box<dyn FnOnce() -> u8>>) {
        for job in jobs {
            job();
        }
    }

    #[handler]
    fn filter(&self) -> Arc<dyn Fn(&str) -> bool> {
        Arc::new(str::is_empty)
    }
}

fn main() {}
