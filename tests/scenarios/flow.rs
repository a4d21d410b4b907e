//! Batches, draining, retrying at once, circuit breakers.

mod batch;
mod breaker;
mod drain;
mod retry;
