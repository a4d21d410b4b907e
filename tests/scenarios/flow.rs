//! Batches, draining, retrying at once, circuit breakers.

mod batch;
mod batch_hostile;
mod breaker;
mod breaker_hostile;
mod drain;
mod drain_hostile;
mod retry;
mod retry_hostile;
