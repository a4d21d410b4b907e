//! A shop in the middle of the night, in which several things are wrong, and the console that shows them:
//!
//! ```text
//! cargo run --release --example night --features console
//! ```
//!
//! It prints the address of the page, and the address of the text report. `--help` lists the options. With
//! `--operator`, it also prints the address of a page that may restart and stop actors: whoever has this address
//! may do so. The log goes to stderr. The gateway is refused, a connection hangs with orders waiting behind it,
//! the mail is near its limit, the audit falls behind, and the reports have stopped.

mod shop;

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use supervise::console::{Console, Token};
use supervise::prelude::*;
use supervise_examples::service::{self, Program, Setting, Values};

use self::shop::Shop;

const PROGRAM: Program = Program {
    command: "cargo run --release --example night --features console",
    about: "\
Runs a shop in which several things are wrong, and the console that shows them. With `--operator` as well, it prints the
address of a page that may restart and stop actors.",
    settings: &[
        Setting {
            name: "--sessions",
            about: "how many sessions there are",
            default: 100_000,
            allowed: 0..=1_000_000,
        },
        Setting {
            name: "--seconds",
            about: "after how many seconds it ends, 0 for never",
            default: 0,
            allowed: 0..=86_400,
        },
        Setting {
            name: "--port",
            about: "the console's port on 127.0.0.1, 0 for a free one",
            default: 6670,
            allowed: 0..=65_535,
        },
    ],
};

#[tokio::main]
async fn main() -> ExitCode {
    let (flags, options): (Vec<_>, Vec<_>) =
        std::env::args_os().skip(1).partition(|argument| argument == "--operator");
    service::show(&PROGRAM, options, |values| run(values, !flags.is_empty())).await
}

async fn run(values: Values, has_operator: bool) -> Result<(), Box<dyn Error>> {
    let (sessions, seconds) = (values.get("--sessions"), values.get::<u64>("--seconds"));
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let system = ActorSystem::new("shop");
    let console = Console::of(&system);
    let console = if has_operator { console.allow_actions(Token::random()) } else { console };
    let console = console.serve(SocketAddr::from((Ipv4Addr::LOCALHOST, values.get("--port"))))?;
    if let Some(address) = console.local_addr() {
        println!("http://{address} to read, or as text: curl -s http://{address}/text");
    }
    if let Some(address) = console.operator_url() {
        println!("{address} for an operator");
    }
    let shop = Shop::open(&system, sessions).await?;
    let mut ticks = tokio::time::interval(Duration::from_millis(50));
    for tick in 0_u64.. {
        ticks.tick().await;
        shop.work(tick)?;
        if seconds > 0 {
            // The console looks every second only while it is asked, and the last text should be fresh.
            let text = console.text();
            if tick >= seconds * 20 {
                println!("{text}");
                break;
            }
        }
    }
    system.terminate().await;
    Ok(())
}
