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
                let page = match text_page(&shared, wish).await {
                    Ok(page) => page,
                    Err(why) => return Ok(unavailable(why)),
                };
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
            let mut refusal = plain(StatusCode::METHOD_NOT_ALLOWED, "Only GET is allowed here.\n");
            refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return refusal;
        }
        if is_text && request.uri().query().is_some() {
            return plain(
                StatusCode::BAD_REQUEST,
                "/text takes no query. For one actor, ask for /text/user/NAME.\n",
            );
        }
        if is_text && path.strip_prefix("/text").and_then(Wish::of_text).is_none() {
            let text =
                "This is not the path of an actor: it is longer than 2048 bytes, badly encoded, or not UTF-8.\n";
            return plain(StatusCode::BAD_REQUEST, text);
        }
        self.shared.asked();
        let views = |content, is_stream| {
            let wish = Wish::of(request.uri().query().unwrap_or_default());
            let views = Body::views(&self.shared, wish, is_stream);
            views.map_or_else(unavailable, |views| response(StatusCode::OK, content, views))
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

fn unavailable(why: String) -> Response<Body> {
    response(StatusCode::SERVICE_UNAVAILABLE, TEXT, Body::whole(why))
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
        // A proxy that gathers answers would hold the views of a stream back.
        (HeaderName::from_static("x-accel-buffering"), "no"),
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

    fn asked(path: &str) -> Request<String> {
        Request::get(path).header("host", "localhost").body(String::new()).expect("a request")
    }

    async fn is_pending(answer: &mut Answering) -> bool {
        std::future::poll_fn(|cx| Poll::Ready(answer.as_mut().poll(cx).is_pending())).await
    }

    /// Each text that is asked for costs work in every look. Rule 22.4.
    #[tokio::test]
    async fn con_18_a_bounded_number_of_texts_is_made_at_a_time() {
        let system = supervise_core::ActorSystem::new("shop");
        let mut service = Service::new(Shared::idle(&system));
        let mut waiting: Vec<_> = (0..16).map(|n| service.call(asked(&format!("/text/user/a{n}")))).collect();
        for answer in &mut waiting {
            assert!(is_pending(answer).await);
        }
        assert!(is_pending(&mut service.call(asked("/text/user/a3"))).await, "readers of the same text share it");
        let more = tokio::time::timeout(std::time::Duration::from_secs(10), service.call(asked("/text/user/a16")));
        assert_eq!(more.await.expect("it is refused").expect("it never fails").status(), 503);
        drop(waiting);
        assert!(is_pending(&mut service.call(asked("/text/user/a16"))).await, "there is room again");
        system.terminate().await;
    }

    /// No reader waits for a view that will never come. Rule 22.4.
    #[tokio::test]
    async fn con_26_a_stopped_console_says_so() {
        let system = supervise_core::ActorSystem::new("shop");
        let running = Console::of(&system).start().expect("a thread");
        let mut service = running.clone().into_service();
        let mut stream = service.call(asked("/events")).await.expect("it never fails").into_body();
        running.stop();
        let soon = std::time::Duration::from_secs(20);
        let rest = async {
            while let Some(frame) =
                std::future::poll_fn(|cx| http_body::Body::poll_frame(Pin::new(&mut stream), cx)).await
            {
                frame.expect("it never fails");
            }
        };
        tokio::time::timeout(soon, rest).await.expect("the stream ends");
        for path in ["/text", "/text/user", "/snapshot.json", "/events"] {
            let answer = tokio::time::timeout(soon, service.call(asked(path))).await.expect("it is answered");
            assert_eq!(answer.expect("it never fails").status(), 503, "{path}");
        }
        assert!(!system.has_terminated());
        system.terminate().await;
    }
}
