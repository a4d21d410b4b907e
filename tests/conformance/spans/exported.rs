//! An OpenTelemetry exporter in memory, below a subscriber of this thread.

use opentelemetry::trace::{SpanId, TracerProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use tracing::level_filters::LevelFilter;
use tracing::subscriber::{DefaultGuard, set_default};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, Registry};

/// Exports the spans of this thread as long as it lives.
pub(super) struct Exported {
    exporter: InMemorySpanExporter,
    _provider: SdkTracerProvider,
    _subscriber: DefaultGuard,
}

impl Exported {
    pub(super) fn at(level: LevelFilter) -> Self {
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test")).with_filter(level);
        let subscriber = set_default(Registry::default().with(layer));
        Self { exporter, _provider: provider, _subscriber: subscriber }
    }

    /// The spans that are closed, in the order in which they were closed.
    pub(super) fn all(&self) -> Vec<SpanData> {
        self.exporter.get_finished_spans().unwrap()
    }

    /// The only span of this name.
    #[track_caller]
    pub(super) fn one(&self, name: &str) -> SpanData {
        let all = self.all();
        let names: Vec<_> = all.iter().map(|span| span.name.to_string()).collect();
        let mut found = all.into_iter().filter(|span| span.name == name);
        let (Some(one), None) = (found.next(), found.next()) else { panic!("not one {name} among {names:?}") };
        one
    }
}

pub(super) fn is_root(span: &SpanData) -> bool {
    span.parent_span_id == SpanId::INVALID
}

/// The spans that it follows from.
pub(super) fn origins(span: &SpanData) -> Vec<SpanId> {
    span.links.iter().map(|link| link.span_context.span_id()).collect()
}

pub(super) fn id(span: &SpanData) -> SpanId {
    span.span_context.span_id()
}

pub(super) fn attribute(span: &SpanData, key: &str) -> Option<String> {
    span.attributes.iter().find(|pair| pair.key.as_str() == key).map(|pair| pair.value.to_string())
}
