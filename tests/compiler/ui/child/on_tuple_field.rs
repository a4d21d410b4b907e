//! A child on a field without a name.

use supervise::prelude::*;

#[actor]
struct Reader;

#[actor]
impl Reader {}

#[actor]
struct Library(#[child(|_| || Reader)] Child<Reader>);

#[actor]
impl Library {}

fn main() {}
