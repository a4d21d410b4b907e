//! Strategies by names from elsewhere, or remembered the wrong way round.

use supervise::prelude::*;

#[actor]
#[supervise(one_for_all, on(_) = Restart)]
struct Library;

#[actor]
impl Library {}

#[actor]
#[supervise(AllForOneStrategy, on(_) = escalate)]
struct Shelf;

#[actor]
impl Shelf {}

#[actor]
#[supervise(strategy = one_for_all, on(_) = Restart)]
struct Cellar;

#[actor]
impl Cellar {}

fn main() {}
