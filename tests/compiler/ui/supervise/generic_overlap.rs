//! A rule for a type that may be the type of another rule.

use supervise::prelude::*;

trait Source: Send + 'static {
    type Error: std::error::Error + Send + Sync + 'static;
}

#[actor]
#[supervise(on(S::Error) = Restart, on(std::io::Error) = Stop)]
struct Parent<S: Source>(S);

#[actor]
impl<S: Source> Parent<S> {}

fn main() {}
