//! The conformance cases, named by their ids.

mod declared;
