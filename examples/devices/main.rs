//! A server for ten thousand devices that hold a TCP connection each, and a fleet of simulated devices, some of which misbehave:
//!
//! ```text
//! cargo run --example devices --features devices
//! ```
//!
//! The fleet is a process of its own. Most of its devices are calm. The others send bad frames, trigger a bug of
//! the server, fall silent, disconnect in the middle of a frame, come back while their old connection is still
//! open, or reconnect all at once. No calm device may lose its connection, and each reading must be counted once.
//!
//! ```text
//! gate ─► session         the actors: one per connection; start reading here
//! registry ─► device      one per device, which outlives its connections
//! protocol                the frames
//! fleet                   the simulated devices
//! drill                   both processes, and the ledger
//! ```

mod drill;
mod fleet;
mod gate;
mod protocol;
mod registry;
mod session;

use std::process::ExitCode;

use supervise_examples::service::{self, Program, Setting};

const PROGRAM: Program = Program {
    command: "cargo run --example devices --features devices",
    about: "Serves thousands of TCP devices, some of which misbehave, and shows that the others do not notice.",
    settings: &[
        Setting { name: "--devices", about: "how many devices connect", default: 10_000, allowed: 40..=25_000 },
        Setting {
            name: "--readings",
            about: "how many readings each device sends",
            default: 6,
            allowed: 4..=1000,
        },
        Setting {
            name: "--port",
            about: "the server's port on 127.0.0.1, 0 for a free one",
            default: 0,
            allowed: 0..=65_535,
        },
    ],
};

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    if arguments.next_if(|argument| argument == "fleet").is_none() {
        return service::run(&PROGRAM, arguments, drill::run).await;
    }
    match fleet::run(arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: the fleet: {error}");
            ExitCode::FAILURE
        }
    }
}
