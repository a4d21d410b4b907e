//! The tests are targets: see `Cargo.toml` here.
