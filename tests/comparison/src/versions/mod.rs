//! The versions. Each has two files, one for each piece, and what these files say is counted as lines of code.

pub mod actix;
pub mod kameo;
pub mod ractor;
pub mod supervise;
pub mod tokio;
