//! The conformance cases, by id.

mod backoff_supervisor;
mod pool;
