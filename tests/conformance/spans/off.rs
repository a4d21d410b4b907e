//! Spans that are off, and subscribers that misbehave.

use supervise::prelude::*;
use supervise::spans::Spans;
use supervise::testkit::TestSystem;
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::set_default;
use tracing::{Event, Level, Metadata, Subscriber, trace_span};

use super::exported::Exported;

#[actor]
struct Echo;

#[actor]
impl Echo {
    #[handler]
    async fn echo(&mut self, word: u32) -> u32 {
        tokio::task::yield_now().await;
        word
    }

    #[handler(inline)]
    fn now(&mut self, word: u32) -> u32 {
        word
    }
}

async fn names(system: &TestSystem, level: LevelFilter, start: impl FnOnce(&ActorSystem)) -> Vec<String> {
    let exported = Exported::at(level);
    start(system);
    let echo = system.spawn_anonymous(|| Echo).unwrap();
    let span = tracing::error_span!("outside");
    let _inside = span.enter();
    assert_eq!((echo.echo(1).await.unwrap(), echo.now(2).await.unwrap()), (1, 2));
    exported.all().into_iter().map(|span| span.name.into_owned()).collect()
}

/// Rule 25.4.
#[supervise::test]
async fn spn_06_there_is_no_span_before_the_start_and_below_the_level(system: &TestSystem) {
    assert_eq!(names(system, LevelFilter::TRACE, |_| {}).await, [""; 0]);
    assert_eq!(names(system, LevelFilter::DEBUG, |system| Spans::of(system).start()).await, [""; 0]);
    assert_eq!(names(system, LevelFilter::OFF, |_| {}).await, [""; 0]);
    let both = ["Echo::echo", "Echo::now"];
    assert_eq!(names(system, LevelFilter::TRACE, |_| {}).await, both);
    assert_eq!(
        names(system, LevelFilter::INFO, |system| Spans::of(system).level(Level::INFO).start()).await,
        both
    );
}

/// Panics at each call about a span of a message.
struct Broken;

impl Subscriber for Broken {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {
        panic!("record");
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {
        panic!("follows");
    }

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {
        panic!("enter");
    }

    fn exit(&self, _: &Id) {
        panic!("exit");
    }
}

/// Rule 25.3.
#[supervise::test]
async fn spn_07_a_subscriber_that_panics_changes_nothing(system: &TestSystem) {
    let _subscriber = set_default(Broken);
    Spans::of(system).start();
    let echo = system.spawn("echo", || Echo).unwrap();
    let _span = trace_span!("outside");
    for word in 0..10 {
        assert_eq!((echo.echo(word).await.unwrap(), echo.now(word).await.unwrap()), (word, word));
    }
}
