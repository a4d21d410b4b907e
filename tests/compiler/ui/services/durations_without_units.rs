//! Durations without a unit, too short, and in words. Each setting has a proposal of its own.

use supervise::prelude::*;

#[actor]
struct Index {
    pages: Vec<String>,
}

#[actor]
impl Index {
    #[handler(batch = 100, linger = 10)]
    fn add(&mut self, pages: Vec<String>) {
        self.pages.extend(pages);
    }

    #[handler(batch = 100, linger = "0ms")]
    fn remove(&mut self, pages: Vec<String>) {
        self.pages.retain(|page| !pages.contains(page));
    }
}

#[actor(ask_timeout = "a while")]
#[supervise(one_for_one(backoff(min = 100, max = "10", give_up_after = "soon")), on(_) = Restart)]
struct Search {
    #[child(|_| |_: &String| Index { pages: Vec::new() }, idle = 5)]
    indices: Children<String, Index>,
}

#[actor]
impl Search {}

fn main() {}
