//! A shop with a `/metrics` endpoint for Prometheus:
//!
//! ```text
//! cargo run --example metrics --features metrics
//! curl -s http://127.0.0.1:9464/metrics | grep supervise_
//! ```
//!
//! The argument is the number of seconds after which it ends (never). The shop is that of the example `night`: the acquirer refuses every
//! second, and the audit falls behind.
//! `data/supervise_alerts.yaml` has alert rules for Prometheus, `data/supervise_grafana.json` a board for Grafana.

#[path = "night/shop.rs"]
mod shop;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusBuilder;
use supervise::ActorSystem;
use supervise::metrics::Metrics;

use self::shop::Shop;

const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9464);

/// How many customers the shop has.
const SESSIONS: usize = 40;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds: Result<Option<u64>, _> = std::env::args().nth(1).map(|argument| argument.parse()).transpose();
    let Ok(seconds) = seconds else {
        eprintln!("usage: metrics [SECONDS until it ends, by default for ever]");
        std::process::exit(2);
    };
    // The recorder comes first, because values that are recorded without one are lost.
    PrometheusBuilder::new().with_http_listener(ADDRESS).install()?;
    let system = ActorSystem::new("shop");
    let metrics = Metrics::of(&system).every(Duration::from_secs(2)).by_path("/user/payments/*")?.start()?;
    println!("http://{ADDRESS}/metrics");

    let shop = Shop::open(&system, SESSIONS).await?;
    let mut ticks = tokio::time::interval(Duration::from_millis(50));
    for tick in 1_u64.. {
        ticks.tick().await;
        shop.work(tick)?;
        if seconds.is_some_and(|seconds| tick >= seconds * 20) {
            break;
        }
    }
    system.terminate().await;
    // Leaves the last values available for one more scrape.
    metrics.ended().await;
    Ok(())
}
