//! Programs that show `supervise` at work. Run one by its name: `cargo run --example world_cup`. This library
//! holds the code that several of the services share. None of it concerns actors.

pub mod service;
