//! Runnable programs that show `supervise` at work. Each is a target of its own: `cargo run --example world_cup`.
