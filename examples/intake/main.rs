//! A service that takes orders over HTTP and keeps them in `PostgreSQL`, under faults while clients send:
//!
//! ```text
//! cargo run --example intake --features intake
//! ```
//!
//! The command starts a database, the service (this program again, as a process of its own) and clients. It kills the database, suspends
//! it, renames its table, and ends the service with SIGTERM. Then it compares each answer with the tables.
//!
//! ```text
//! intake ─► customer      the actors: one per customer, passivated when idle; start reading here
//!       └─► writer        a pool of connections that write batches
//! http, serve             the routes, and the service's `main`
//! drill                   what is done to the service, and the ledger
//! client, tally, postgres clients that send, what they were answered, the database's processes
//! ```

mod client;
mod customer;
mod drill;
mod http;
mod intake;
mod postgres;
mod serve;
mod tally;
mod writer;

use std::process::ExitCode;

use supervise_examples::service::{self, Program, Setting};

const PROGRAM: Program = Program {
    command: "cargo run --example intake --features intake",
    about: "\
Takes orders over HTTP and keeps them in PostgreSQL, while the database is killed, suspended and broken. Needs PostgreSQL
(apt-get install postgresql). `serve PORT DATABASE` runs the service alone, for example with
`serve 8080 'host=localhost user=intake dbname=intake'`.",
    settings: &[
        Setting { name: "--clients", about: "how many clients send at once", default: 16, allowed: 1..=500 },
        Setting { name: "--calm", about: "seconds between two faults", default: 3, allowed: 1..=600 },
        Setting { name: "--port", about: "the service's port on 127.0.0.1, 0 for a free one", default: 0, allowed: 0..=65_535 },
    ],
};

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    if arguments.next_if(|argument| argument == "serve").is_none() {
        return service::run(&PROGRAM, arguments, drill::run).await;
    }
    match serve::run(arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(service::NOTHING_RUN)
        }
    }
}
