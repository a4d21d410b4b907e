//! What is logged on this test's thread. All of a test system's actors run on it.

use std::cell::RefCell;
use std::fmt::{self, Write as _};
use std::rc::Rc;
use std::sync::Once;

use tracing::field::{Field, Visit};
use tracing::span;
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};

type Records = Rc<RefCell<Vec<Record>>>;

thread_local! {
    static OPEN: RefCell<Option<Records>> = const { RefCell::new(None) };
}

/// The records from the moment it was opened until it is dropped. Only one can exist at a time.
pub(crate) struct Log {
    records: Records,
}

#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) level: Level,
    /// The message and all fields.
    pub(crate) text: String,
}

impl Log {
    pub(crate) fn open() -> Self {
        // One subscriber for all threads, which decides each time. With one subscriber for each thread, the interest that
        // tracing caches for a callsite would depend on the subscribers of other threads.
        static LISTEN: Once = Once::new();
        LISTEN.call_once(|| tracing::subscriber::set_global_default(Capture).expect("nobody else listens"));
        let records = Records::default();
        OPEN.set(Some(Rc::clone(&records)));
        Self { records }
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
        self.records.borrow().clone()
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        OPEN.set(None);
    }
}

struct Capture;

impl Subscriber for Capture {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("supervise") && OPEN.with_borrow(Option::is_some)
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
        OPEN.with_borrow(|open| {
            if let Some(records) = open {
                records.borrow_mut().push(record);
            }
        });
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
