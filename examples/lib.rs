//! Programs that show `supervise` at work. Run one by its name: `cargo run --example world_cup`. This library holds what the services
//! among them share, and none of it concerns actors.

pub mod service;
