//! Batches, draining, retrying at once, circuit breakers.

mod batch;
mod drain;
