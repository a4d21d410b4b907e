//! Answers requests: `/`, `/text`, `/text/user/gateway`, `/snapshot.json`, `/events`; and `/act`, the only one that changes the system, if it is allowed.
//!
//! Rule 22.7.

mod act;
mod body;
mod guard;
mod io;
mod listen;
mod page;
mod sha256;

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, Method, Request, Response, StatusCode};

pub use self::body::Body;
use self::body::text_page;
pub(super) use self::listen::Listener;
use super::running::Shared;
use super::wish::Wish;

const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";
const STREAM: &str = "text/event-stream";

/// The console as a tower service. [`Console::service`](super::Console::service) makes it.
#[derive(Clone)]
pub struct Service {
    shared: Arc<Shared>,
}

type Answering = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

impl Service {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Answers a request. Two answers have to wait: an action for its body, and a text for a look of its own.
    fn respond<B>(&self, request: Request<B>) -> Answering
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
    {
        let shared = &self.shared;
        if request.uri().path() == "/act"
            && shared.actions.is_some()
            && guard::check(&request, &shared.hosts).is_ok()
        {
            let shared = Arc::clone(shared);
            return Box::pin(async move {
                let Some(actions) = &shared.actions else { unreachable!("checked before") };
                Ok(act::answer(actions, request).await)
            });
        }
        let answer = self.answer(&request);
        if answer.status() != StatusCode::OK {
            return Box::pin(async { Ok(answer) });
        }
        let text = request.uri().path().strip_prefix("/text").and_then(Wish::of_text);
        if let Some(wish) = text {
            let shared = Arc::clone(shared);
            return Box::pin(async move {
                let Some(page) = text_page(&shared, wish).await else { return Ok(ended()) };
                let status = if page.is_found { StatusCode::OK } else { StatusCode::NOT_FOUND };
                Ok(response(status, TEXT, Body::whole(page.content.clone())))
            });
        }
        Box::pin(async { Ok(answer) })
    }

    fn answer<B>(&self, request: &Request<B>) -> Response<Body> {
        if let Err(refused) = guard::check(request, &self.shared.hosts) {
            return plain(refused.status(), refused.text());
        }
        let path = request.uri().path();
        let is_text = path == "/text" || path.starts_with("/text/");
        if !is_text && !matches!(path, "" | "/" | "/snapshot.json" | "/events") {
            return plain(StatusCode::NOT_FOUND, "There is nothing here. Try / or /text.\n");
        }
        if request.method() != Method::GET && request.method() != Method::HEAD {
            let mut refusal = plain(StatusCode::METHOD_NOT_ALLOWED, "Only GET is answered here.\n");
            refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return refusal;
        }
        if is_text && request.uri().query().is_some() {
            return plain(StatusCode::BAD_REQUEST, "The text takes no query. One actor: /text/user\n");
        }
        if is_text && path.strip_prefix("/text").and_then(Wish::of_text).is_none() {
            let text = "This is not the path of an actor: it is longer than 2048 bytes or not UTF-8.\n";
            return plain(StatusCode::BAD_REQUEST, text);
        }
        self.shared.asked();
        let views = |content, is_stream| {
            let wish = Wish::of(request.uri().query().unwrap_or_default());
            let views = Body::views(&self.shared, wish, is_stream);
            views.map_or_else(too_many, |views| response(StatusCode::OK, content, views))
        };
        match path {
            _ if is_text => response(StatusCode::OK, TEXT, Body::whole("")),
            "/snapshot.json" | "/events" if request.method() == Method::HEAD => {
                let content = if path == "/events" { STREAM } else { JSON };
                response(StatusCode::OK, content, Body::whole(""))
            }
            "/snapshot.json" => views(JSON, false),
            "/events" => views(STREAM, true),
            _ => response(StatusCode::OK, HTML, Body::whole(Bytes::from_static(page::PAGE.as_bytes()))),
        }
    }
}

fn too_many() -> Response<Body> {
    let text = "Too many pages are open: 16 are served at a time. Close one.\n";
    plain(StatusCode::SERVICE_UNAVAILABLE, text)
}

fn ended() -> Response<Body> {
    plain(StatusCode::SERVICE_UNAVAILABLE, "The console has ended.\n")
}

fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    response(status, TEXT, Body::whole(text))
}

fn response(status: StatusCode, content: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, content),
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(CONTENT_SECURITY_POLICY, page::policy());
    response
}

impl<B> tower_service::Service<Request<B>> for Service
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.respond(request)
    }
}

impl<B> hyper::service::Service<Request<B>> for Service
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn call(&self, request: Request<B>) -> Self::Future {
        self.respond(request)
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("system", &self.shared.system).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use tower_service::Service as _;

    use super::super::Console;
    use super::*;

    /// A mounted service is called with the path below its place, which may be empty.
    #[tokio::test]
    async fn con_20_a_mounted_service_answers_below_its_place() {
        let system = supervise_core::ActorSystem::new("shop");
        let mut service = Console::of(&system).allow_host("ops.example.com").service();
        for (host, path, status) in [
            ("ops.example.com", "/", 200),
            ("ops.example.com:443", "/text", 200),
            ("ops.example.com", "/text/user", 200),
            ("ops.example.com", "/text/", 200),
            ("ops.example.com", "/text/%75ser/", 200),
            ("ops.example.com", "/text/user/nobody", 404),
            ("ops.example.com", "/text/%ff", 400),
            ("ops.example.com", "/text?search=gateway", 400),
            ("ops.example.com", "/texts", 404),
            ("ops.example.com", "/snapshot.json", 200),
            ("ops.example.com", "/act", 404),
            ("evil.test", "/", 421),
        ] {
            let request = Request::get(path).header("host", host).body(String::new()).expect("a request");
            let answer = service.call(request).await.expect("it never fails");
            assert_eq!(answer.status(), status, "{host}{path}");
            assert!(answer.headers().contains_key(CONTENT_SECURITY_POLICY), "{host}{path}");
        }
        system.terminate().await;
    }
}
