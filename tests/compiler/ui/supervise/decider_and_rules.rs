//! A function and rules.

use supervise::prelude::*;

fn judge(_: &Failure, _: &ChildInfo) -> Result<Directive, Failure> {
    Ok(Directive::Stop)
}

#[actor]
#[supervise(decider = judge, on(_) = Restart)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
