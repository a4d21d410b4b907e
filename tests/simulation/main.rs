//! Runs the supervision protocol in many cells, without a runtime: every interleaving of small worlds, and long random
//! runs of large ones. `tests/README.md` says how to run it for longer.

mod durable;
mod explore;
mod fault;
mod invariants;
mod model;
mod network;
mod profile;
mod random;
mod small_worlds;
mod storms;
mod trace;
mod world;

/// A number from the environment, which may have underscores.
fn setting(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(number) => {
            number.replace('_', "").parse().unwrap_or_else(|_| panic!("{name}={number} is not a number"))
        }
        Err(_) => otherwise,
    }
}

#[test]
fn random_worlds_keep_the_invariants() {
    let seed = setting("SIMULATION_SEED", 1);
    random::run(seed, setting("SIMULATION_STEPS", 500_000));
}
