//! A shop in the middle of the night, in which several things are wrong, and the console that shows them:
//!
//! ```text
//! cargo run --release --example night --features console
//! curl -s http://127.0.0.1:6670/text
//! ```
//!
//! Arguments: the number of sessions (100 000), and the seconds after which it ends (never). With `--operator`, it also prints the
//! address of a page that may restart and stop actors: whoever has this address may do so. The log goes to stderr. The gateway is refused, a connection hangs with orders waiting behind it, the mail is near its limit,
//! the audit falls behind, and the reports have stopped.

mod shop;

use std::time::Duration;

use supervise::console::{Console, Token};
use supervise::prelude::*;

use self::shop::Shop;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (flags, numbers): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|argument| argument == "--operator");
    let numbers: Result<Vec<u64>, _> = numbers.iter().map(|number| number.parse()).collect();
    let Some(numbers) = numbers.ok().filter(|numbers| numbers.len() <= 2) else {
        eprintln!(
            "usage: night [--operator] [SESSIONS, by default 100000] [SECONDS until it ends, by default for ever]"
        );
        std::process::exit(2);
    };
    let sessions = usize::try_from(numbers.first().copied().unwrap_or(100_000))?;
    let seconds = numbers.get(1).copied();
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let system = ActorSystem::new("shop");
    let console = Console::of(&system);
    let console = if flags.is_empty() { console } else { console.allow_actions(Token::random()) };
    let console = console.serve("127.0.0.1:6670")?;
    println!("http://127.0.0.1:6670 to read");
    if let Some(address) = console.operator_url() {
        println!("{address} for an operator");
    }
    let shop = Shop::open(&system, sessions).await?;
    let mut ticks = tokio::time::interval(Duration::from_millis(50));
    for tick in 0_u64.. {
        ticks.tick().await;
        shop.work(tick)?;
        if seconds.is_some_and(|seconds| tick >= seconds * 20) {
            break;
        }
    }
    println!("{}", console.text());
    system.terminate().await;
    Ok(())
}
