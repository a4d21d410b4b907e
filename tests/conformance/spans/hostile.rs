//! Filters, threads and ends at which spans could get lost, stay open, or be mixed up.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
use supervise::prelude::*;
use supervise::spans::Spans;
use supervise::testkit::TestSystem;
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id};
use tracing::subscriber::set_default;
use tracing::{Dispatch, Subscriber, trace_span};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::{Context as LayerContext, SubscriberExt};
use tracing_subscriber::{Layer, Registry, reload};

use super::exported::{Exported, id, is_root, origins};
use crate::fixture::secs;

/// Writes down the names of spans.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn write(&self, line: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<S: Subscriber> Layer<S> for Log {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: LayerContext<'_, S>) {
        self.write(format!("+{}", attributes.metadata().name()));
    }
}

#[actor]
struct Echo;

#[actor]
impl Echo {
    #[handler(inline)]
    fn now(&mut self, word: u32) -> u32 {
        word
    }

    #[handler]
    async fn wait(&mut self) {
        tokio::time::sleep(secs(1)).await;
    }

    #[handler]
    fn pass(&mut self) {}
}

/// Rule 25.4. A filter of a whole subscriber sees the name and the fields of the span whenever it is asked.
#[supervise::test]
async fn spn_10_a_filter_may_choose_the_span_by_its_name_and_fields(system: &TestSystem) {
    let log = Log::default();
    let is_chosen = filter_fn(|place| place.name() == "message" && place.fields().field("handler").is_some());
    let _subscriber = set_default(Registry::default().with(log.clone()).with(is_chosen));
    Spans::of(system).start();
    let echo = system.spawn("echo", || Echo).unwrap();
    echo.now(1).await.unwrap();
    assert_eq!(log.take(), ["+message"]);
}

/// Rule 25.1.
#[supervise::test]
async fn spn_11_a_message_that_is_skipped_leaves_no_origin_to_the_next(system: &TestSystem) {
    let exported = Exported::at(LevelFilter::TRACE);
    Spans::of(system).start();
    let echo = system.spawn("echo", || Given).unwrap();
    echo.wait().tell().unwrap();
    system.settle().await;
    system.allow_dead_letters();
    let one = trace_span!("one");
    {
        let asked = one.in_scope(|| echo.find().into_future());
        let mut asked = std::pin::pin!(asked);
        std::future::poll_fn(|cx| {
            let _polled = one.in_scope(|| asked.as_mut().poll(cx));
            std::task::Poll::Ready(())
        })
        .await;
    }
    echo.pass().tell().unwrap();
    drop(one);
    system.advance(secs(2)).await;
    let one = exported.one("one");
    assert!(exported.all().iter().all(|span| span.name != "Given::find"), "it was skipped");
    let origins = origins(&exported.one("Given::pass"));
    assert!(origins.is_empty(), "{origins:?}, one is {}", id(&one));
}

#[actor]
struct Hop {
    next: Option<HopRef>,
}

#[actor]
impl Hop {
    #[handler]
    async fn hop(&mut self) {
        tokio::task::yield_now().await;
        if let Some(next) = &self.next {
            next.hop().tell().unwrap();
        }
    }
}

/// Rules 25.1, 25.2 and 25.3.
#[test]
fn spn_13_spans_of_several_threads_are_not_mixed_up_and_all_end() {
    const CHAINS: usize = 16;
    const HOPS: usize = 8;
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    let dispatch = Dispatch::new(Registry::default().with(layer));
    let for_threads = dispatch.clone();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_time()
        .on_thread_start(move || std::mem::forget(tracing::dispatcher::set_default(&for_threads)))
        .build()
        .unwrap();
    let _dispatch = tracing::dispatcher::set_default(&dispatch);
    runtime.block_on(async {
        let system = ActorSystem::new("threads");
        Spans::of(&system).start();
        for _ in 0..CHAINS {
            let mut next = None;
            for _ in 0..HOPS {
                let behind = next.take();
                next = Some(system.spawn_anonymous(move || Hop { next: behind.clone() }).unwrap());
            }
            trace_span!("chain").in_scope(|| next.unwrap().hop().tell().unwrap());
        }
        while exporter.get_finished_spans().unwrap().len() < CHAINS * (HOPS + 1) {
            tokio::task::yield_now().await;
        }
        system.terminate().await;
    });
    drop(runtime);
    let spans = exporter.get_finished_spans().unwrap();
    assert_eq!(spans.len(), CHAINS * (HOPS + 1));
    assert!(spans.iter().all(is_root));
    let hops: Vec<_> = spans.iter().filter(|span| span.name == "Hop::hop").map(origins).collect();
    assert!(hops.iter().all(|origins| origins.len() == 1));
    let distinct: BTreeSet<_> = hops.iter().map(|origins| origins[0].to_bytes()).collect();
    assert_eq!(distinct.len(), CHAINS * HOPS, "each span follows from another one");
}

/// Rule 25.3.
#[test]
fn spn_14_spans_end_with_the_runtime_and_senders_are_let_go() {
    let exported = Exported::at(LevelFilter::TRACE);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let system = ActorSystem::new("brief");
        Spans::of(&system).start();
        let echo = system.spawn("echo", || Echo).unwrap();
        trace_span!("first").in_scope(|| echo.wait().tell().unwrap());
        tokio::task::yield_now().await;
        trace_span!("second").in_scope(|| echo.pass().tell().unwrap());
        tokio::task::yield_now().await;
    });
    drop(runtime);
    let mut names: Vec<_> = exported.all().into_iter().map(|span| span.name.into_owned()).collect();
    names.sort_unstable();
    assert_eq!(names, ["Echo::wait", "first", "second"]);
}

#[actor]
struct Given;

#[actor]
impl Given {
    #[handler]
    async fn wait(&mut self) {
        tokio::time::sleep(secs(1)).await;
    }

    #[handler(skip_abandoned)]
    fn find(&mut self) -> u32 {
        1
    }

    #[handler]
    fn pass(&mut self) {}
}

/// Rules 25.1 and 25.4.
#[supervise::test]
async fn spn_12_a_filter_that_changes_while_the_system_runs_counts_from_the_next_message(system: &TestSystem) {
    let log = Log::default();
    let (filter, handle) = reload::Layer::new(LevelFilter::OFF);
    let _subscriber = set_default(Registry::default().with(log.clone().with_filter(filter)));
    Spans::of(system).start();
    let echo = system.spawn("echo", || Echo).unwrap();
    for (level, spans) in
        [(LevelFilter::OFF, 0), (LevelFilter::TRACE, 2), (LevelFilter::INFO, 0), (LevelFilter::TRACE, 2)]
    {
        handle.reload(level).unwrap();
        echo.now(1).await.unwrap();
        echo.pass().tell().unwrap();
        system.settle().await;
        assert_eq!(log.take(), vec!["+message"; spans], "{level}");
    }
}
