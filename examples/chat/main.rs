//! A chat in the browser: rooms and users are actors behind `WebSockets`. Bots talk, and some of them misbehave:
//!
//! ```text
//! cargo run --example chat --features chat
//! cargo run --example chat --features chat -- --port 8080 --stay 600
//! ```
//!
//! The second command serves the page for ten more minutes: open <http://127.0.0.1:8080/>. `tests/browser/tests/chat.rs` tests the page
//! in Chromium.
//!
//! ```text
//! server/door ─► member          the actors: one member per connection; start reading here
//! server/room ─► filter          a room keeps what was said, and its filter takes the risks
//! server/web, server/page.html   the routes and the page
//! bots, drill                    who talks, and the ledger
//! ```

mod bots;
mod drill;
mod server;

use std::process::ExitCode;

use supervise_examples::service::{self, Program, Setting};

const PROGRAM: Program = Program {
    command: "cargo run --example chat --features chat",
    about: "Serves a chat, in which bots talk and some of them misbehave.",
    settings: &[
        Setting { name: "--rooms", about: "how many rooms there are", default: 8, allowed: 1..=30 },
        Setting {
            name: "--texts",
            about: "how many texts each well-behaved bot says",
            default: 60,
            allowed: 60..=1000,
        },
        Setting {
            name: "--port",
            about: "the port on 127.0.0.1, 0 for a free one",
            default: 0,
            allowed: 0..=65_535,
        },
        Setting {
            name: "--stay",
            about: "seconds for which people can chat afterwards",
            default: 0,
            allowed: 0..=86_400,
        },
    ],
};

#[tokio::main]
async fn main() -> ExitCode {
    service::run(&PROGRAM, std::env::args_os().skip(1), drill::run).await
}
