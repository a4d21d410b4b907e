//! `implements` on the type, without parentheses, with a value, empty, and twice.

use supervise::prelude::*;

#[actor(implements(Storage))]
struct OnTheType;

#[actor(implements = Storage)]
impl OnTheType {}

#[actor]
struct Empty;

#[actor(implements())]
impl Empty {}

#[actor]
struct Misspelled;

#[actor(implement(Storage))]
impl Misspelled {}

fn main() {}
