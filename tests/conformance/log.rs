//! What is logged on this test's thread. All of a test system's actors run on it.

use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span;
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Metadata, Subscriber};

/// The records since it was opened.
pub(crate) struct Log {
    records: Arc<Mutex<Vec<Record>>>,
    _capturing: DefaultGuard,
}

#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) level: Level,
    /// The message and all fields.
    pub(crate) text: String,
}

impl Log {
    pub(crate) fn open() -> Self {
        let records = Arc::default();
        let capturing = tracing::subscriber::set_default(Capture { records: Arc::clone(&records) });
        Self { records, _capturing: capturing }
    }

    /// The records of this level so far.
    pub(crate) fn at(&self, level: Level) -> Vec<String> {
        self.all().into_iter().filter(|record| record.level == level).map(|record| record.text).collect()
    }

    pub(crate) fn errors(&self) -> Vec<String> {
        self.at(Level::ERROR)
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        self.at(Level::WARN)
    }

    pub(crate) fn all(&self) -> Vec<Record> {
        self.records.lock().expect("no test panics while it logs").clone()
    }
}

struct Capture {
    records: Arc<Mutex<Vec<Record>>>,
}

impl Subscriber for Capture {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("supervise")
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        let record = Record { level: *event.metadata().level(), text: text.0 };
        self.records.lock().expect("no test panics while it logs").push(record);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing into a string cannot fail.
        let _ = write!(self.0, "{}={value:?} ", field.name());
    }
}
