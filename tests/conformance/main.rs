//! The conformance cases, by id.

#![expect(clippy::unused_self, reason = "a handler takes `self` whether it needs it or not")]

mod selection;
mod shutdown;
mod system;
