//! The service's `main`.

use std::error::Error;
use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusBuilder;
use supervise::Phase;
use supervise::metrics::Metrics;
use supervise::prelude::*;
use supervise_examples::service::say;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_postgres::Config;

use crate::http::{Service, router};
use crate::intake::Intake;

/// The table of `/user`. A failure that no table below decides ends the process, which its supervisor outside then
/// starts again.
#[supervise(one_for_one(max_retries = 20, within = "1m", on_limit = Escalate), on(_) = Restart)]
struct Top;

/// Serves until SIGTERM. Then the listener closes, the requests that have come are answered, and the actors end.
pub(crate) async fn run(mut arguments: impl Iterator<Item = OsString>) -> Result<(), Box<dyn Error>> {
    let mut text = || arguments.next().and_then(|argument| argument.into_string().ok());
    let (Some(port), Some(database), None) = (text(), text(), text()) else {
        return Err("expected `serve PORT DATABASE`".into());
    };
    let port: u16 = port.parse().map_err(|_| format!("`{port}` is not a port"))?;
    let database: Config = database.parse().map_err(|error| format!("`{database}`: {error}"))?;
    tracing_subscriber::fmt().with_ansi(false).with_writer(std::io::stderr).init();
    let recorder = PrometheusBuilder::new().install_recorder()?;

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    let listener = listener.map_err(|error| format!("cannot listen on 127.0.0.1:{port}: {error}"))?;
    let address = listener.local_addr()?;
    let system = ActorSystem::builder("orders").supervised_by::<Top>().start()?;
    system.shutdown_on_signal()?;
    let (close, closed) = oneshot::channel::<()>();
    let (served, all_served) = oneshot::channel();
    let shutdown = system.coordinated_shutdown();
    shutdown.add_task(Phase::SERVICE_UNBIND, "close the listener", async move {
        let _closed_already = close.send(());
    })?;
    shutdown.add_task(Phase::SERVICE_REQUESTS_DONE, "answer the last requests", async move {
        let _served = all_served.await;
    })?;
    let metrics = Metrics::of(&system).every(Duration::from_millis(500)).start()?;
    let intake = system.spawn("intake", move || Intake::new(database.clone()))?;
    let app = router(Service { system: system.clone(), intake, metrics: recorder });
    tokio::spawn(async move {
        let until = async move { drop(closed.await) };
        let ended = axum::serve(listener, app).with_graceful_shutdown(until).await;
        let _shutdown_waits_no_more = served.send(ended);
    });
    say(&format!("listening on {address}"));

    system.when_terminated().await?;
    metrics.ended().await;
    Ok(())
}
