//! Programs that show `supervise` at work. Run one by its name: `cargo run --example world_cup`.
