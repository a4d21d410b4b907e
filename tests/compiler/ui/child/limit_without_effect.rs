//! Limits of the number of children that make no sense.

use supervise::prelude::*;

#[actor]
struct Host;

#[actor]
impl Host {}

#[actor]
struct Collector {
    #[child(|_| || Host, limit = 10)]
    host: Child<Host>,
    #[child(|_| |_: &String| Host, limit = 0)]
    hosts: Children<String, Host>,
    #[child(|_| |_: &String| Host, limit = "many")]
    others: Children<String, Host>,
}

#[actor]
impl Collector {}

fn main() {}
