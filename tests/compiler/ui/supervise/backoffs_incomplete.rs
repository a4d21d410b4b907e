//! Backoffs without one of their delays, or both.

use supervise::prelude::*;

#[actor]
#[supervise(on(_) = Restart(backoff(max = "10s", jitter = 0.2)))]
struct WithoutMin;

#[actor]
impl WithoutMin {}

#[actor]
#[supervise(on(_) = Restart(backoff(max = "50ms",)))]
struct WithoutMinBelowItsShortMax;

#[actor]
impl WithoutMinBelowItsShortMax {}

#[actor]
#[supervise(one_for_one(backoff(min = "1m", jitter = 0.2)), on(_) = Restart)]
struct WithoutMaxAboveItsLongMin;

#[actor]
impl WithoutMaxAboveItsLongMin {}

#[actor]
#[supervise(one_for_one(backoff(jitter = 0.2)), on(_) = Restart)]
struct WithoutBoth;

#[actor]
impl WithoutBoth {}

#[actor]
#[supervise(one_for_one(linear_backoff(window = "10s")), on(_) = Restart)]
struct WithoutInitial;

#[actor]
impl WithoutInitial {}

#[actor]
#[supervise(one_for_one(linear_backoff()), on(_) = Restart)]
struct WithoutAnything;

#[actor]
impl WithoutAnything {}

fn main() {}
