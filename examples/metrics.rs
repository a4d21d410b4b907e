//! A shop with a `/metrics` endpoint for Prometheus:
//!
//! ```text
//! cargo run --example metrics --features metrics
//! curl -s http://127.0.0.1:9464/metrics | grep supervise_
//! ```
//!
//! The argument is the number of seconds after which it ends (never). The acquirer refuses now and then, and the audit falls behind.
//! `data/supervise_alerts.yaml` has alert rules for Prometheus, `data/supervise_grafana.json` a board for Grafana.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusBuilder;
use supervise::metrics::Metrics;
use supervise::prelude::*;

const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9464);

#[actor]
#[supervise(one_for_one(max_retries = 20, within = "60s"), on(io::Error) = Restart(backoff(min = "100ms", max = "2s")))]
struct Payments;

#[actor]
impl Payments {
    #[handler]
    fn gateway(&mut self, ctx: &mut Context<Self>) -> Result<GatewayRef, SpawnError> {
        ctx.spawn("gateway", || Gateway)
    }
}

#[actor]
struct Gateway;

#[actor]
impl Gateway {
    #[handler]
    fn charge(&mut self, order: u64) -> io::Result<u64> {
        if order.is_multiple_of(50) {
            return Err(io::Error::new(io::ErrorKind::ConnectionRefused, "cannot reach the acquirer"));
        }
        Ok(order)
    }
}

#[actor]
struct Audit {
    entries: u64,
}

#[actor]
impl Audit {
    #[handler]
    async fn enter(&mut self) {
        tokio::time::sleep(Duration::from_millis(60)).await;
        self.entries += 1;
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds: Option<u64> = std::env::args().nth(1).map(|argument| argument.parse()).transpose()?;
    // First the recorder: what is recorded before goes nowhere.
    PrometheusBuilder::new().with_http_listener(ADDRESS).install()?;
    let system = ActorSystem::new("shop");
    let metrics = Metrics::of(&system).every(Duration::from_secs(2)).by_path("/user/payments/*")?.start()?;
    println!("http://{ADDRESS}/metrics");

    let gateway = system.spawn("payments", || Payments)?.gateway().await?;
    let audit = system.spawn("audit", || Audit { entries: 0 })?;
    let mut ticks = tokio::time::interval(Duration::from_millis(50));
    for order in 1_u64.. {
        ticks.tick().await;
        gateway.charge(order).tell()?;
        audit.enter().tell()?;
        if seconds.is_some_and(|seconds| order >= seconds * 20) {
            break;
        }
    }
    system.terminate().await;
    // The last values are there for one more scrape.
    metrics.ended().await;
    Ok(())
}
