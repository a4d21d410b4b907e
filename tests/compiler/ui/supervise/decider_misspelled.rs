//! A setting that is spelled wrong.

use supervise::prelude::*;

fn judge(_: &Failure, _: &ChildInfo) -> Result<Directive, Failure> {
    Ok(Directive::Stop)
}

#[actor]
#[supervise(decide = judge)]
struct Parent;

#[actor]
impl Parent {}

fn main() {}
