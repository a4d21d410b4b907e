//! The routes. A refusal says with 503 that the order may be sent again, under the same id.

use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use metrics_exporter_prometheus::PrometheusHandle;
use supervise::prelude::*;
use supervise::{FailureKind, NodeState};

use crate::customer::{CustomerRef, Order, Placed};
use crate::intake::IntakeRef;

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) system: ActorSystem,
    pub(crate) intake: IntakeRef,
    pub(crate) metrics: PrometheusHandle,
}

/// Why a request is refused or fails.
struct Refused(AskError);

impl From<AskError> for Refused {
    fn from(error: AskError) -> Self {
        Self(error)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let is_bug = self.0.failure().is_some_and(|failure| matches!(failure.kind(), FailureKind::Panic));
        if is_bug { StatusCode::INTERNAL_SERVER_ERROR.into_response() } else { again_later() }
    }
}

fn again_later() -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")]).into_response()
}

pub(crate) fn router(service: Service) -> Router {
    Router::new()
        .route("/customers/{customer}", get(orders))
        .route("/customers/{customer}/orders/{id}", put(place))
        .route("/ready", get(ready))
        .route("/live", get(live))
        .route("/metrics", get(metrics))
        .with_state(service)
}

async fn customer(service: &Service, name: String) -> Result<CustomerRef, Response> {
    let customer = service.intake.customer(name).timeout(PATIENCE).await;
    match customer.map_err(|error| Refused(error).into_response())? {
        Ok(customer) => Ok(customer),
        Err(SpawnError::InvalidName { .. }) => Err(StatusCode::BAD_REQUEST.into_response()),
        Err(_full_or_stopping) => Err(again_later()),
    }
}

/// Sending an order again under its id is harmless: 200 instead of 201, with the number that it has.
async fn place(
    State(service): State<Service>,
    Path((name, id)): Path<(String, String)>,
    article: String,
) -> Result<Response, Response> {
    let customer = customer(&service, name).await?;
    let placed = customer.place(Order { id, article }).timeout(PATIENCE).await;
    Ok(match placed {
        Ok(Placed::New(number)) => (StatusCode::CREATED, number.to_string()).into_response(),
        Ok(Placed::Before(number)) => (StatusCode::OK, number.to_string()).into_response(),
        Ok(Placed::Full) => again_later(),
        Err(error) => Refused(error).into_response(),
    })
}

async fn orders(State(service): State<Service>, Path(name): Path<String>) -> Result<String, Response> {
    let orders = customer(&service, name).await?.orders().timeout(PATIENCE).await;
    Ok(orders.map_err(|error| Refused(error).into_response())?.to_string())
}

/// Whether orders should come here: the intake runs, and a connection does.
async fn ready(State(service): State<Service>) -> StatusCode {
    let (mut intake, mut writers) = (false, 0);
    service.system.look(|actor| {
        let path = actor.actor().path();
        if actor.state() == NodeState::Running {
            intake |= path.local() == "/user/intake";
            writers += usize::from(path.local().starts_with("/user/intake/writers/"));
        }
    });
    if intake && writers > 0 { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}

/// Whether the process answers at all. If it does, a restart would not help, so this asks neither an actor nor the database. When the
/// system has ended, `main` returns.
async fn live() -> StatusCode {
    StatusCode::OK
}

async fn metrics(State(service): State<Service>) -> String {
    service.metrics.render()
}
