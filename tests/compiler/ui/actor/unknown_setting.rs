//! A setting that does not exist.

use supervise::prelude::*;

#[actor(mail_box = unbounded)]
struct Feed;

#[actor]
impl Feed {}

fn main() {}
