//! `implements` on the type, without parentheses, empty, and misspelled.

use supervise::prelude::*;

#[protocol]
trait Storage {}

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
