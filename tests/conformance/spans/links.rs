//! The fields of a span of a message, and the spans that it follows from.

use std::future::{IntoFuture, pending};
use std::pin::pin;
use std::task::{Context as TaskContext, Waker};

use opentelemetry::trace::{SpanKind, Status};
use supervise::prelude::*;
use supervise::spans::Spans;
use supervise::testkit::TestSystem;
use tracing::level_filters::LevelFilter;
use tracing::{Instrument, Metadata, Span, trace_span};

use super::exported::{Exported, attribute, id, is_root, origins};
use crate::fixture::{Boom, secs};

#[actor(stop_timeout = "1s")]
struct Front {
    stock: StockRef,
}

#[actor]
impl Front {
    #[handler]
    async fn order(&mut self, pieces: u32) -> Result<u32, AskError> {
        // A span of the handler, over an await point.
        let left = async { self.stock.take(pieces).await }.instrument(trace_span!("look")).await?;
        trace_span!("after").in_scope(|| {});
        Ok(left)
    }

    #[handler]
    async fn hang(&mut self) {
        trace_span!("hanging").in_scope(|| {});
        pending::<()>().await;
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("as told"))
    }

    #[handler(inline)]
    fn fail_inline(&mut self) -> Result<(), Boom> {
        Err(Boom("as told"))
    }

    #[handler]
    async fn panic_late(&mut self) {
        tokio::task::yield_now().await;
        panic!("as told");
    }

    #[handler]
    fn count(&mut self, down: u32, ctx: &mut Context<Self>) {
        if let Some(down) = down.checked_sub(1) {
            ctx.me().count(down).tell().unwrap();
        }
    }
}

#[actor(stash = 10)]
struct Stock {
    pieces: u32,
    is_open: bool,
}

#[actor]
impl Stock {
    #[handler]
    async fn take(&mut self, pieces: u32) -> u32 {
        tokio::time::sleep(secs(1)).await;
        self.pieces -= pieces;
        self.pieces
    }

    /// The name of the span that is current.
    #[handler(inline)]
    fn current(&mut self) -> Option<&'static str> {
        trace_span!("inline").in_scope(|| {});
        Span::current().metadata().map(Metadata::name)
    }

    #[handler(batch = 8)]
    fn gather(&mut self, pieces: Vec<u32>) {
        self.pieces += pieces.iter().sum::<u32>();
    }

    #[handler]
    fn open(&mut self) {
        self.is_open = true;
    }

    #[handler]
    fn shut(&mut self) {
        self.is_open = false;
    }

    #[handler]
    fn sell(&mut self) {}

    #[stash_while]
    fn is_shut(&self, message: &StockMessage) -> bool {
        !self.is_open && matches!(message, StockMessage::Sell)
    }
}

fn shop(system: &TestSystem) -> (FrontRef, StockRef) {
    Spans::of(system).start();
    let stock = system.spawn("stock", || Stock { pieces: 10, is_open: false }).unwrap();
    let its = stock.clone();
    (system.spawn("front", move || Front { stock: its.clone() }).unwrap(), stock)
}

/// Rules 25.1 and 25.2.
#[supervise::test]
async fn spn_01_a_message_is_a_root_that_follows_from_where_it_was_sent(system: &TestSystem) {
    let exported = Exported::at(LevelFilter::TRACE);
    let (front, _stock) = shop(system);
    let outside = trace_span!("outside");
    assert_eq!(front.order(3).into_future().instrument(outside.clone()).await.unwrap(), 7);
    drop(outside);
    system.settle().await;
    let (outside, order, look) = (exported.one("outside"), exported.one("Front::order"), exported.one("look"));
    let (after, take) = (exported.one("after"), exported.one("Stock::take"));
    assert!(is_root(&order) && is_root(&take) && is_root(&outside));
    assert_eq!(origins(&order), [id(&outside)]);
    // It was asked within a span of the handler.
    assert_eq!((look.parent_span_id, origins(&take)), (id(&order), vec![id(&look)]));
    assert_eq!(after.parent_span_id, id(&order), "a handler that waited keeps its span");
    assert_ne!(order.span_context.trace_id(), outside.span_context.trace_id());
    assert_eq!((order.span_kind.clone(), order.status.clone()), (SpanKind::Consumer, Status::Unset));
    let facts =
        ["handler", "actor.path", "messaging.operation.type", "error.type"].map(|key| attribute(&order, key));
    assert_eq!(facts, [Some("order"), Some("/user/front"), Some("process"), None].map(|it| it.map(str::to_owned)));
    assert!(attribute(&order, "actor.type").unwrap().ends_with("links::Front"));
    assert_eq!(exported.all().len(), 5);
}

/// Rule 25.3.
#[supervise::test]
async fn spn_02_a_span_ends_with_its_handler_however_that_ends(system: &TestSystem) {
    let exported = Exported::at(LevelFilter::TRACE);
    let (front, _stock) = shop(system);
    system.allow_failures();
    let failed = Status::Error { description: "".into() };
    assert!(front.fail().await.is_err());
    assert!(front.panic_late().await.is_err());
    system.settle().await;
    for (name, error) in [("Front::fail", "Boom"), ("Front::panic_late", "Panic")] {
        let span = exported.one(name);
        assert_eq!(span.status, failed, "{name}");
        assert!(attribute(&span, "error.type").unwrap().ends_with(error), "{name}");
    }
    front.hang().tell().unwrap();
    system.settle().await;
    assert_eq!(exported.all().len(), 3, "it goes on");
    front.actor_ref().stop();
    system.advance(secs(1)).await;
    let hang = exported.one("Front::hang");
    assert_eq!((hang.status.clone(), attribute(&hang, "error.type").as_deref()), (failed, Some("Aborted")));
    assert_eq!(exported.one("hanging").parent_span_id, id(&hang));
}

/// Rule 25.1.
#[supervise::test]
async fn spn_03_a_chain_of_a_thousand_messages_does_not_nest(system: &TestSystem) {
    let exported = Exported::at(LevelFilter::TRACE);
    let (front, _stock) = shop(system);
    front.count(999).tell().unwrap();
    system.settle().await;
    let spans = exported.all();
    assert_eq!(spans.len(), 1_000);
    assert!(spans.iter().all(is_root));
    assert!(origins(&spans[0]).is_empty());
    for pair in spans.windows(2) {
        assert_eq!(origins(&pair[1]), [id(&pair[0])]);
        assert_ne!(pair[0].span_context.trace_id(), pair[1].span_context.trace_id());
    }
}

/// Rule 25.2.
#[supervise::test]
async fn spn_04_neither_span_leaks_into_the_other_context(system: &TestSystem) {
    let exported = Exported::at(LevelFilter::TRACE);
    let (_front, stock) = shop(system);
    // Only an idle actor runs on the asker's stack.
    system.settle().await;
    let name = || Span::current().metadata().map(Metadata::name);
    let asking = async {
        let inside = stock.current().await.unwrap();
        (inside, name())
    };
    assert_eq!(asking.instrument(trace_span!("asker")).await, (Some("message"), Some("asker")));
    assert_eq!(stock.current().await.unwrap(), Some("message"));
    assert_eq!(name(), None);
    system.settle().await;
    let (asker, all) = (exported.one("asker"), exported.all());
    let inline: Vec<_> = all.iter().filter(|span| span.name == "Stock::current").collect();
    assert!(inline.iter().all(|span| is_root(span)));
    assert_eq!((origins(inline[0]), origins(inline[1])), (vec![id(&asker)], vec![]));
    let within: Vec<_> = all.iter().filter(|span| span.name == "inline").map(|span| span.parent_span_id).collect();
    assert_eq!(within, [id(inline[0]), id(inline[1])]);
}

/// Rule 25.2.
#[supervise::test]
async fn spn_05_origins_do_not_cut_a_batch_and_are_not_mixed_up(system: &TestSystem) {
    let exported = Exported::at(LevelFilter::TRACE);
    let (_front, stock) = shop(system);
    let (one, two) = (trace_span!("one"), trace_span!("two"));
    two.in_scope(|| {
        stock.gather(1).tell().unwrap();
        stock.gather(2).tell().unwrap();
    });
    stock.gather(3).tell().unwrap();
    one.in_scope(|| stock.open().tell().unwrap());
    stock.sell().send().instrument(two.clone()).await.unwrap();
    system.settle().await;
    // This message is set aside and handled after `open`, which comes after a batch.
    one.in_scope(|| stock.shut().tell().unwrap());
    one.in_scope(|| stock.sell().tell().unwrap());
    two.in_scope(|| stock.gather(4).tell().unwrap());
    two.in_scope(|| stock.open().tell().unwrap());
    drop((one, two));
    system.settle().await;
    let (one, two) = (exported.one("one"), exported.one("two"));
    let all = exported.all();
    let of = |name: &str| all.iter().filter(|span| span.name == name).map(origins).collect::<Vec<_>>();
    assert_eq!(of("Stock::gather"), [vec![id(&two), id(&two)], vec![id(&two)]], "one span for each batch");
    assert_eq!(of("Stock::open"), [vec![id(&one)], vec![]]);
    assert_eq!(of("Stock::shut"), [[id(&one)]]);
    // The message that was set aside has lost its origin, and has not got another one.
    assert_eq!(of("Stock::sell"), [vec![id(&two)], vec![]]);
}

#[actor(mailbox = bounded(1, overflow = fail))]
struct Narrow;

#[actor]
impl Narrow {
    #[handler]
    async fn wait(&mut self) {
        tokio::time::sleep(secs(1)).await;
    }

    #[handler]
    fn pass(&mut self) {}
}

#[actor(mailbox = bounded(1, overflow = drop_oldest))]
struct Latest;

#[actor]
impl Latest {
    #[handler]
    async fn wait(&mut self) {
        tokio::time::sleep(secs(1)).await;
    }

    #[handler]
    fn pass(&mut self) {}
}

/// Rule 25.1.
#[supervise::test]
async fn spn_08_a_message_that_is_refused_or_displaced_leaves_no_origin_to_another(system: &TestSystem) {
    let exported = Exported::at(LevelFilter::TRACE);
    Spans::of(system).start();
    let narrow = system.spawn("narrow", || Narrow).unwrap();
    let latest = system.spawn("latest", || Latest).unwrap();
    system.settle().await;
    let (one, two) = (trace_span!("one"), trace_span!("two"));
    narrow.wait().tell().unwrap();
    latest.wait().tell().unwrap();
    system.settle().await;
    system.allow_dead_letters();
    one.in_scope(|| narrow.pass().tell().unwrap());
    two.in_scope(|| assert!(narrow.pass().tell().is_err()));
    one.in_scope(|| latest.pass().tell().unwrap());
    latest.pass().tell().unwrap();
    system.advance(secs(2)).await;
    narrow.pass().tell().unwrap();
    drop((one, two));
    system.settle().await;
    let one = exported.one("one");
    let all = exported.all();
    let of = |name: &str| all.iter().filter(|span| span.name == name).map(origins).collect::<Vec<_>>();
    assert_eq!(of("Narrow::pass"), [vec![id(&one)], vec![]]);
    assert_eq!(of("Latest::pass"), [vec![]]);
}

/// Rules 19.10 and 25.1.
#[supervise::test]
async fn spn_08_an_ask_that_waited_for_room_follows_from_its_asker(system: &TestSystem) {
    let exported = Exported::at(LevelFilter::TRACE);
    Spans::of(system).asks_as_children().start();
    let narrow = system.spawn("narrow", || Narrow).unwrap();
    narrow.wait().tell().unwrap();
    system.settle().await;
    narrow.wait().tell().unwrap();
    let (asks, sends) = (trace_span!("asks"), trace_span!("sends"));
    let asked = narrow.pass().when_room().into_future().instrument(asks);
    let sent = narrow.wait().send().instrument(sends);
    let (asked, sent) = tokio::join!(asked, sent);
    asked.unwrap();
    sent.unwrap();
    system.advance(secs(2)).await;
    assert_eq!(exported.one("Narrow::pass").parent_span_id, id(&exported.one("asks")));
    let sends = id(&exported.one("sends"));
    assert_eq!(exported.all().iter().filter(|span| origins(span) == [sends]).count(), 1);
}

/// A narrow actor, and one below it.
#[actor(mailbox = bounded(1))]
#[supervise(one_for_one, on(_) = Restart)]
struct Above;

#[actor]
impl Above {
    #[handler]
    fn below(&mut self, ctx: &mut Context<Self>) -> Result<BelowRef, SpawnError> {
        ctx.spawn("below", || Below)
    }

    #[handler]
    async fn fail(&mut self) -> Result<(), Boom> {
        tokio::time::sleep(secs(1)).await;
        Err(Boom("as told"))
    }

    #[handler]
    fn pass(&mut self) {}
}

#[actor]
struct Below;

#[actor]
impl Below {
    #[handler]
    async fn send(&mut self, above: AboveRef) {
        for _ in 0..2 {
            above.pass().send().instrument(trace_span!("sends")).await.unwrap();
        }
    }
}

/// Rules 14.8 and 25.1: the second message exceeds the bound.
#[supervise::test]
async fn spn_08_a_message_beyond_the_bound_follows_from_its_sender(system: &TestSystem) {
    system.allow_failures();
    let exported = Exported::at(LevelFilter::TRACE);
    Spans::of(system).start();
    let above = system.spawn("above", || Above).unwrap();
    let below = above.below().await.unwrap();
    above.fail().tell().unwrap();
    below.send(above.clone()).tell().unwrap();
    system.advance(secs(2)).await;
    system.expect_restarts(&above, 1).await;
    let all = exported.all();
    let of = |name: &str| all.iter().filter(|span| span.name == name).collect::<Vec<_>>();
    let (sends, passes) = (of("sends"), of("Above::pass"));
    assert_eq!(passes.len(), 2);
    for (pass, sends) in passes.into_iter().zip(sends) {
        assert_eq!(origins(pass), [id(sends)]);
    }
}

/// Rule 25.1: for viewers without links, an ask is below its asker, and a tell is still a root.
#[supervise::test]
async fn spn_15_asks_are_children_where_the_program_wishes_that(system: &TestSystem) {
    let exported = Exported::at(LevelFilter::TRACE);
    let (front, stock) = shop(system);
    Spans::of(system).asks_as_children().start();
    let outside = trace_span!("outside");
    assert_eq!(front.order(3).into_future().instrument(outside.clone()).await.unwrap(), 7);
    outside.in_scope(|| stock.shut().tell()).unwrap();
    drop(outside);
    system.settle().await;
    let (outside, order, look) = (exported.one("outside"), exported.one("Front::order"), exported.one("look"));
    let (take, shut) = (exported.one("Stock::take"), exported.one("Stock::shut"));
    assert_eq!((order.parent_span_id, take.parent_span_id), (id(&outside), id(&look)));
    assert!(origins(&order).is_empty() && origins(&take).is_empty(), "a child has no link to its parent");
    assert_eq!(take.span_context.trace_id(), outside.span_context.trace_id(), "one trace");
    assert!(is_root(&shut));
    assert_eq!(origins(&shut), [id(&outside)]);
}

/// Rule 25.3. The actor takes up what follows from the failure in a turn of its own.
#[supervise::test]
async fn spn_16_the_span_of_an_inline_handler_that_fails_ends_with_it(system: &TestSystem) {
    let exported = Exported::at(LevelFilter::TRACE);
    let (front, _stock) = shop(system);
    system.allow_failures();
    system.settle().await;
    let asked = pin!(front.fail_inline().into_future());
    assert!(asked.poll(&mut TaskContext::from_waker(Waker::noop())).is_ready(), "inline");
    let span = exported.one("Front::fail_inline");
    assert!(attribute(&span, "error.type").unwrap().ends_with("Boom"));
    system.settle().await;
    assert_eq!(exported.all().iter().filter(|span| span.name == "Front::fail_inline").count(), 1);
}
