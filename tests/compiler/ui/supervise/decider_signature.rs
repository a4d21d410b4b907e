//! A decider with a wrong signature.

use supervise::prelude::*;

fn judge(_: &Failure) -> Directive {
    Directive::Stop
}

#[actor]
#[supervise(decider = judge)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
