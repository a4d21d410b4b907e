//! A shop with a `/metrics` endpoint for Prometheus:
//!
//! ```text
//! cargo run --example metrics --features metrics
//! curl -s http://127.0.0.1:9464/metrics | grep supervise_
//! ```
//!
//! `--help` lists the options. The shop is that of the example `night`: the acquirer refuses a payment every second, and
//! the audit falls behind.
//! `data/supervise_alerts.yaml` has alert rules for Prometheus, `data/supervise_grafana.json` a board for Grafana.

#[path = "night/shop.rs"]
mod shop;

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusBuilder;
use supervise::ActorSystem;
use supervise::metrics::Metrics;
use supervise_examples::service::{self, Program, Setting, Values};

use self::shop::Shop;

const PROGRAM: Program = Program {
    command: "cargo run --example metrics --features metrics",
    about: "Runs a shop with a `/metrics` endpoint for Prometheus.",
    settings: &[
        Setting {
            name: "--seconds",
            about: "after how many seconds it ends, 0 for never",
            default: 0,
            allowed: 0..=86_400,
        },
        Setting { name: "--port", about: "the port on 127.0.0.1", default: 9464, allowed: 1..=65_535 },
    ],
};

/// How many customers the shop has.
const SESSIONS: usize = 40;

#[tokio::main]
async fn main() -> ExitCode {
    service::show(&PROGRAM, std::env::args_os().skip(1), run).await
}

async fn run(values: Values) -> Result<(), Box<dyn Error>> {
    let seconds = values.get::<u64>("--seconds");
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, values.get("--port")));
    // The recorder comes first, because values that are recorded without one are lost.
    let installed = PrometheusBuilder::new().with_http_listener(address).install();
    installed.map_err(|error| format!("cannot listen on {address}: {error}"))?;
    let system = ActorSystem::new("shop");
    let metrics = Metrics::of(&system).every(Duration::from_secs(2)).by_path("/user/payments/*")?.start()?;
    println!("http://{address}/metrics");

    let shop = Shop::open(&system, SESSIONS).await?;
    let mut ticks = tokio::time::interval(Duration::from_millis(50));
    for tick in 1_u64.. {
        ticks.tick().await;
        shop.work(tick)?;
        if seconds > 0 && tick >= seconds * 20 {
            break;
        }
    }
    system.terminate().await;
    // Leaves the last values available for one more scrape.
    metrics.ended().await;
    Ok(())
}
