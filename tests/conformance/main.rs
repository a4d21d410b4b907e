//! The conformance cases, by id.

mod selection;
