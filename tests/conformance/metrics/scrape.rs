//! A scrape over HTTP, of metrics that are measured on a thread of their own.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusBuilder;
use supervise::metrics::{Kind, Metrics, SERIES, Timing};
use supervise::prelude::*;
use tokio::runtime::Builder;

use super::exporter::Scrape;
use crate::fixture::Boom;

/// After this long, a test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(60);

#[actor]
#[supervise(on(Boom) = Restart(backoff(min = "1ms", max = "2ms")), on(_) = Stop)]
struct Shop;

#[actor]
impl Shop {
    #[handler]
    fn till(&mut self, ctx: &mut Context<Self>) -> Result<TillRef, SpawnError> {
        ctx.spawn("till", || Till)
    }
}

#[actor(stop_timeout = "1ms")]
struct Till;

#[actor]
impl Till {
    #[handler]
    fn jam(&mut self) -> Result<(), Boom> {
        Err(Boom("jammed"))
    }

    #[handler]
    async fn wait(&mut self) {
        std::future::pending::<()>().await;
    }
}

fn scrape(address: SocketAddr) -> Scrape {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut whole = String::new();
    socket.read_to_string(&mut whole).unwrap();
    let (head, body) = whole.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(!head.to_ascii_lowercase().contains("chunked"), "{head}");
    // Other tests of this process have systems too.
    let own: Vec<_> = body.lines().filter(|it| it.starts_with('#') || it.contains("system=\"scraped\"")).collect();
    Scrape::read(&own.join("\n"))
}

/// The only test that installs the recorder of the whole process. Rules 24.1, 24.2, 24.3 and 24.5.
#[test]
fn con_29_each_metric_is_scraped_with_its_name_kind_help_and_labels() {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        PrometheusBuilder::new().with_http_listener(free).install().unwrap();
        let system = ActorSystem::new("scraped");
        let till = system.spawn("shop", || Shop).unwrap().till().await.unwrap();
        // So rare that no second message is timed by chance.
        let rare = Timing::Sampled(1_000_000);
        let metrics =
            Metrics::of(&system).timing(rare).every(PATIENCE).by_path("/user/shop").unwrap().start().unwrap();
        assert!(till.jam().await.is_err());
        till.wait().tell().unwrap();
        // The answer was sent after the message that waits.
        system.spawn("other", || Shop).unwrap().till().await.unwrap();
        while !parked(&system) {
            tokio::task::yield_now().await;
        }
        till.jam().tell().unwrap();
        system.terminate().await;
        tokio::time::timeout(PATIENCE, metrics.ended()).await.expect("the thread ends with the system");
        let scrape = tokio::task::spawn_blocking(move || scrape(free)).await.unwrap();
        for series in SERIES {
            if series.kind == Kind::Buckets {
                for (suffix, extra) in [("bucket", ",le=\"+Inf\""), ("count", "")] {
                    let name = format!("{}_{suffix}", series.name);
                    assert_eq!(scrape.kinds.get(&name).map(String::as_str), Some("counter"), "{name}");
                    assert_eq!(scrape.help.get(&name).map(String::as_str), Some(series.help), "{name}");
                    let handler = if series.labels.contains(&"handler") { ",handler=\"jam\"" } else { "" };
                    // The first message after the first look.
                    scrape.expect(&format!("{name}{{actor=\"Till\"{handler}{extra}}}"), 1.0);
                }
                continue;
            }
            let kind = match series.kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
                // Without buckets the exporter makes a summary of it.
                Kind::Histogram => "summary",
                _ => unreachable!("there is no other kind"),
            };
            assert_eq!(scrape.kinds.get(series.name).map(String::as_str), Some(kind), "{}", series.name);
            assert_eq!(scrape.help.get(series.name).map(String::as_str), Some(series.help), "{}", series.name);
            let (name, _) = scrape.of(series.name).next().expect(series.name);
            let labels: Vec<_> = name.split_once('{').map_or("", |it| it.1).split(',').collect();
            for label in series.labels {
                assert!(labels.iter().any(|pair| pair.starts_with(&format!("{label}="))), "{name} has no {label}");
            }
            let is_suffixed = series.name.ends_with("_total");
            assert_eq!(is_suffixed, series.kind == Kind::Counter, "{}", series.name);
            if series.kind == Kind::Gauge {
                assert!(scrape.of(series.name).all(|(_, value)| value.abs() < f64::EPSILON), "{name}");
            }
        }
        scrape.expect("supervise_aborted_total{actor=\"Till\"}", 1.0);
        scrape.expect("supervise_restarts_total{actor=\"Till\"}", 1.0);
    });
}

fn parked(system: &ActorSystem) -> bool {
    let mut parked = false;
    system.look(|glimpse| parked |= glimpse.is_parked());
    parked
}

/// Rule 24.5.
#[test]
fn met_07_stop_ends_the_thread_and_not_the_system() {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let system = ActorSystem::new("stopped");
        let metrics = Metrics::of(&system).start().unwrap();
        metrics.stop();
        tokio::time::timeout(PATIENCE, metrics.ended()).await.expect("the thread ends");
        assert!(!system.has_terminated());
        system.terminate().await;
    });
}
