//! Factories of declared children that read fields of the parent.

use supervise::prelude::*;

#[actor]
struct Worker {
    size: u32,
    name: String,
}

#[actor]
impl Worker {}

#[actor]
struct Boss {
    size: u32,
    label: String,
    #[child(|this| || Worker { size: this.size, name: String::new() })]
    first: Child<Worker>,
    #[child(|this| move || Worker { size: this.size, name: this.label.clone() })]
    second: Child<Worker>,
    #[child(|boss| move |key: &u32| Worker { size: *key, name: boss.label(*key) })]
    many: Children<u32, Worker>,
}

#[actor]
impl Boss {}

impl Boss {
    fn label(&self, key: u32) -> String {
        format!("{} {key}", self.label)
    }
}

fn main() {}
