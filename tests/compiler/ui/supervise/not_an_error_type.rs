//! A rule for a type that is not an error.

use supervise::prelude::*;

#[actor]
#[supervise(on(std::net::Ipv4Addr) = Restart, on(u8) = Stop)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
