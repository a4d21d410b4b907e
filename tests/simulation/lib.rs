//! The simulation is a test target: see `tests/README.md`.
