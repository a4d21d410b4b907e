//! Settings of the messages that cannot be read.

use supervise::prelude::*;

#[actor]
struct Quoted;

#[actor(message(name = "OrderCommand", vis = "pub(crate)"))]
impl Quoted {}

#[actor]
struct Misspelt;

#[actor(message(derives(Clone)))]
impl Misspelt {}

#[actor]
struct Bare;

#[actor(message)]
impl Bare {}

#[actor]
struct Underived;

#[actor(message(derive = Clone))]
impl Underived {}

#[actor]
struct Invisible;

#[actor(message(vis = crate))]
impl Invisible {}

fn main() {}
