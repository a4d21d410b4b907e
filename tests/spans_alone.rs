//! SPN-09: a log beside traces. A process of its own with one subscriber, because several of them hide the defect: then each is asked
//! before each line.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use supervise::prelude::*;
use supervise::spans::Spans;
use supervise::testkit::TestSystem;
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id};
use tracing::{Event, Subscriber, info, trace_span};
use tracing_subscriber::layer::{Context as LayerContext, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

#[actor]
struct Echo;

#[actor]
impl Echo {
    #[handler]
    fn pass(&mut self) {}
}

/// Counts the lines of this file and the spans of messages.
#[derive(Debug, Clone, Default)]
struct Counts {
    lines: Arc<AtomicU32>,
    spans: Arc<AtomicU32>,
}

impl Counts {
    fn of(&self) -> (u32, u32) {
        (self.lines.load(Ordering::Relaxed), self.spans.load(Ordering::Relaxed))
    }
}

impl<S: Subscriber> Layer<S> for Counts {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: LayerContext<'_, S>) {
        self.spans.fetch_add(u32::from(attributes.metadata().name() == "message"), Ordering::Relaxed);
    }

    fn on_event(&self, event: &Event<'_>, _: LayerContext<'_, S>) {
        self.lines.fetch_add(u32::from(event.metadata().target() == module_path!()), Ordering::Relaxed);
    }
}

/// Rule 25.2. Asking whether the span is enabled must not hide what the sender logs next.
#[supervise::test]
async fn spn_09_a_log_that_does_not_show_the_spans_loses_no_line_of_the_sender(system: &TestSystem) {
    let (log, traces) = (Counts::default(), Counts::default());
    Registry::default()
        .with(log.clone().with_filter(LevelFilter::INFO))
        .with(traces.clone().with_filter(LevelFilter::TRACE))
        .init();
    Spans::of(system).start();
    let echo = system.spawn("echo", || Echo).unwrap();
    system.settle().await;
    for _ in 0..3 {
        trace_span!("outside").in_scope(|| {
            echo.pass().tell().unwrap();
            info!("told");
        });
        system.settle().await;
    }
    assert_eq!((log.of(), traces.of()), ((3, 0), (3, 3)));
}
