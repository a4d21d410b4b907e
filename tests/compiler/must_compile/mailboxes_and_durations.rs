//! Every mailbox, every way to write a duration.

use supervise::prelude::*;

#[actor(mailbox = bounded(1))]
struct One;

#[actor]
impl One {}

#[actor(mailbox = bounded(10, overflow = fail), stop_timeout = 1.5s)]
struct Two;

#[actor]
impl Two {}

#[actor(stop_timeout = "1h 2m 3s", mailbox = bounded(1_000, overflow = drop_newest), stash = 1_000)]
struct Three;

#[actor]
impl Three {}

#[actor(mailbox = bounded(0x10, overflow = drop_oldest,), stop_timeout = 500ms,)]
#[supervise(
    one_for_one(max_retries = 3, within = 90s),
    on(_) = Restart(backoff(min = 0.5ms, max = "2 minutes", jitter = 0.25, reset_after = 1h)),
)]
struct Four;

#[actor]
impl Four {}

#[actor()]
#[supervise(on(_) = Default)]
struct Five;

#[actor()]
impl Five {}

pub(super) fn main() {}
