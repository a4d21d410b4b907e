//! A crawler made of stages with bounded mailboxes. The site that it reads misbehaves, and some of its pages are poison:
//!
//! ```text
//! cargo run --example crawler
//! ```
//!
//! A page that makes the parser fail at each delivery is set aside, and the crawl continues. When the parser fails, rest-for-one restarts
//! it and the fetchers, which hold pages for it. The index, where the pages end, stays as it is.
//!
//! ```text
//! crawl ─► index          the actors, in the order in which they start: begin reading at `crawl`
//!       ├► parser
//!       └► fetchers       a pool; a page goes from a fetcher to the parser to the index
//! site                    the server, and which of its pages are bad
//! drill, progress         the run, the ledger, and what is shown meanwhile
//! ```

mod crawl;
mod drill;
mod fetcher;
mod index;
mod parser;
mod progress;
mod site;

use std::process::ExitCode;

use supervise_examples::service::{self, Program, Setting};

const PROGRAM: Program = Program {
    command: "cargo run --example crawler",
    about: "Crawls a site that misbehaves, in stages with bounded mailboxes, and sets aside pages that always fail.",
    settings: &[
        Setting { name: "--pages", about: "how many pages the site has", default: 1500, allowed: 50..=100_000 },
        Setting {
            name: "--faults",
            about: "how many requests in a hundred go wrong",
            default: 10,
            allowed: 0..=60,
        },
        Setting { name: "--seed", about: "selects the pages and the faults", default: 1, allowed: 0..=u64::MAX },
    ],
};

#[tokio::main]
async fn main() -> ExitCode {
    service::run(&PROGRAM, std::env::args_os().skip(1), drill::run).await
}
