//! Limits, and what a program sees at the moment of a verdict.
//!
//! Rules 26.2, 26.3 and 26.7.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Wake, Waker};
use std::time::Duration;

use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};
use supervise::remote::memory::Network;
use supervise::{AskError, DeadLetterReason, Event, Events, SendErrorReason, actor};

use crate::fixture::{EchoRef, Place, settle, soon, two};

#[tokio::test(start_paused = true)]
async fn a_message_above_the_limit_of_the_receiver_is_a_dead_letter_there() {
    let network = Network::new(1);
    let here = Place::new(&network, "here").await;
    let mut there = Place::with(&network, "there", |builder| builder.max_message(1000)).await;
    let echo = there.echo("echo", &here).await;
    assert!(matches!(soon(echo.bytes(vec![1; 1000])).await, Err(AskError::Undeliverable)));
    echo.bytes(vec![1; 1000]).tell().unwrap();
    assert_eq!(soon(echo.bytes(vec![1; 100])).await.unwrap(), 100);
    let letters: Vec<_> = there.dead_letters().iter().map(|letter| (letter.message, letter.reason)).collect();
    assert_eq!(letters, [("Bytes", DeadLetterReason::TooLarge); 2]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_above_the_limit_of_the_asker_is_no_answer() {
    let network = Network::new(1);
    let here = Place::with(&network, "here", |builder| builder.max_message(1000)).await;
    let there = Place::new(&network, "there").await;
    let echo = there.echo("echo", &here).await;
    for number in 0..500 {
        echo.note(number + 1_000_000_000).tell().unwrap();
    }
    assert!(matches!(soon(echo.noted()).await, Err(AskError::Unanswered)));
    assert_eq!(soon(echo.echo("next".to_owned())).await.unwrap(), "next");
}

#[tokio::test(start_paused = true)]
async fn a_packet_far_above_the_limits_ends_the_association() {
    let network = Network::new(1);
    let here = Place::with(&network, "here", |builder| builder.max_message(8 << 20)).await;
    let there = Place::new(&network, "there").await;
    let echo = there.echo("echo", &here).await;
    let mut events = there.system.events().subscribe();
    assert!(matches!(soon(echo.bytes(vec![1; 4 << 20])).await, Err(AskError::ConnectionLost)));
    let why = std::iter::from_fn(|| events.try_recv()).find_map(|event| match event {
        Event::NodeDown { why, .. } => Some(why),
        _ => None,
    });
    assert_eq!(why, Some("broke"));
}

/// A value that is nested to any depth.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Nest {
    End,
    In(Box<Nest>),
}

fn nest(depth: u32) -> Nest {
    (0..depth).fold(Nest::End, |nest, _| Nest::In(Box::new(nest)))
}

/// Writes a [`Nest`] of this depth without a stack of its own.
#[derive(Debug, Deserialize)]
struct Forged(u32);

impl Serialize for Forged {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Head;
        impl Serialize for Head {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_map(Some(1))?.end()
            }
        }
        let mut map = serializer.serialize_map(Some(1))?;
        for _ in 1..self.0 {
            map.serialize_entry("In", &Head)?;
        }
        map.serialize_entry("In", "End")?;
        map.end()
    }
}

/// An actor that pretends to be a weaver.
#[actor]
struct Forger;

#[actor(remote = "Weaver")]
impl Forger {
    #[handler]
    fn take(&mut self, nest: Forged) -> bool {
        nest.0 > 0
    }
}

#[actor]
struct Weaver;

#[actor(remote)]
impl Weaver {
    #[handler]
    fn nest(&mut self, depth: u32) -> Nest {
        nest(depth)
    }

    #[handler]
    fn take(&mut self, nest: Nest) -> bool {
        matches!(nest, Nest::In(_) | Nest::End)
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_nested_too_deep_is_not_read() {
    let network = Network::new(1);
    let here = Place::with(&network, "here", supervise::remote::NodeBuilder::serve::<Weaver>).await;
    let there = Place::with(&network, "there", supervise::remote::NodeBuilder::serve::<Weaver>).await;
    there.system.spawn("weaver", || Weaver).unwrap();
    let weaver = soon(here.node.find::<Weaver>(there.path("weaver"))).await.unwrap();
    assert_eq!(soon(weaver.nest(64)).await.unwrap(), nest(64));
    assert!(matches!(soon(weaver.nest(65)).await, Err(AskError::Unanswered)));
    assert!(soon(weaver.take(nest(64))).await.unwrap());
    assert!(matches!(soon(weaver.take(nest(65))).await, Err(AskError::Undeliverable)));
    assert!(soon(weaver.take(nest(0))).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_peer_cannot_overflow_the_stack() {
    let network = Network::new(1);
    let here = Place::with(&network, "here", supervise::remote::NodeBuilder::serve::<Forger>).await;
    let there = Place::with(&network, "there", supervise::remote::NodeBuilder::serve::<Weaver>).await;
    there.system.spawn("weaver", || Weaver).unwrap();
    let weaver = soon(here.node.find::<Forger>(there.path("weaver"))).await.unwrap();
    assert!(soon(weaver.take(Forged(10))).await.unwrap());
    assert!(matches!(soon(weaver.take(Forged(200_000))).await, Err(AskError::Undeliverable)));
    assert!(soon(weaver.take(Forged(10))).await.unwrap());
}

/// Tells the actor again as soon as its ask has failed.
struct Retry {
    echo: EchoRef,
    outcome: Mutex<Option<Result<(), SendErrorReason>>>,
}

impl Wake for Retry {
    fn wake(self: Arc<Self>) {
        let told = self.echo.note(1).tell().map_err(|error| error.reason());
        *self.outcome.lock().unwrap() = Some(told);
    }
}

#[tokio::test(start_paused = true)]
async fn when_an_ask_has_lost_its_connection_the_ref_takes_no_more() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let echo = there.echo("echo", &here).await;
    let retry = Arc::new(Retry { echo: echo.clone(), outcome: Mutex::default() });
    let mut asked = pin!(echo.hold().into_future());
    let waker = Waker::from(Arc::clone(&retry));
    assert!(asked.as_mut().poll(&mut TaskContext::from_waker(&waker)).is_pending());
    settle().await;
    network.kill("there:1");
    settle().await;
    let outcome = retry.outcome.lock().unwrap().take();
    assert_eq!(outcome, Some(Err(SendErrorReason::Unreachable)));
    assert!(matches!(soon(asked).await, Err(AskError::ConnectionLost)));
    drop(here);
}

#[tokio::test(start_paused = true)]
async fn askers_that_gave_up_do_not_count_towards_the_limit() {
    let network = Network::new(1);
    let here = Place::with(&network, "here", |builder| builder.limit(10)).await;
    let there = Place::with(&network, "there", |builder| builder.limit(10)).await;
    let echo = there.echo("echo", &here).await;
    for number in 0..30 {
        let asked = soon(echo.hold().timeout(Duration::from_secs(2))).await;
        assert!(matches!(asked, Err(AskError::Timeout(_))), "{number}: {asked:?}");
    }
    settle().await;
    assert_eq!(soon(echo.waiting()).await.unwrap(), 0, "the handler sees that nobody waits");
    assert_eq!(here.node.asks_under_way(), 0);
}

/// Why the associations of a place have ended since it subscribed.
fn verdicts(events: &mut Events) -> Vec<&'static str> {
    let all = std::iter::from_fn(|| events.try_recv());
    all.filter_map(|event| if let Event::NodeDown { why, .. } = event { Some(why) } else { None }).collect()
}

/// Asks what is never answered.
async fn hold(echo: EchoRef, seconds: u64) -> Result<u64, AskError> {
    echo.hold().timeout(Duration::from_secs(seconds)).await
}

/// Together they are more than may be queued for a peer. Rule 26.7.
#[tokio::test(start_paused = true)]
async fn answers_that_find_no_room_fail_their_own_asks_alone() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let echo = there.echo("echo", &here).await;
    let mut events = there.system.events().subscribe();
    let ask = |echo: EchoRef| async move { echo.text(1_000_000).await };
    let asks: Vec<_> = (0..100).map(|_| tokio::spawn(ask(echo.clone()))).collect();
    let (mut answered, mut unanswered) = (0, 0);
    for asked in asks {
        match soon(asked).await.unwrap() {
            Ok(text) if text.len() == 1_000_000 => answered += 1,
            Err(AskError::Unanswered) => unanswered += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(verdicts(&mut events), Vec::<&str>::new());
    assert!(answered >= 67 && unanswered >= 1, "{answered} were answered, {unanswered} were not");
    assert_eq!(soon(echo.echo("next".to_owned())).await.unwrap(), "next");
}

/// Rule 26.6.
#[tokio::test(start_paused = true)]
async fn an_ask_beyond_the_limit_is_refused_at_the_asker() {
    let network = Network::new(1);
    let here = Place::with(&network, "here", |builder| builder.limit(10)).await;
    let there = Place::with(&network, "there", |builder| builder.limit(10)).await;
    let echo = there.echo("echo", &here).await;
    let mut events = there.system.events().subscribe();
    let asks: Vec<_> = (0..30).map(|_| tokio::spawn(hold(echo.clone(), 5))).collect();
    let (mut timed_out, mut refused) = (0, 0);
    for asked in asks {
        match soon(asked).await.unwrap() {
            Err(AskError::Timeout(_)) => timed_out += 1,
            Err(AskError::MailboxFull) => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((timed_out, refused), (10, 20));
    settle().await;
    assert_eq!(verdicts(&mut events), Vec::<&str>::new());
    assert_eq!(soon(echo.echo("next".to_owned())).await.unwrap(), "next");
}

/// With a limit of 0, the node could not even search for an actor.
#[tokio::test(start_paused = true)]
async fn a_node_whose_limit_is_set_to_nothing_knows_one_actor_and_asks_it() {
    let network = Network::new(1);
    let here = Place::with(&network, "here", |builder| builder.limit(0)).await;
    let there = Place::new(&network, "there").await;
    let mut events = here.system.events().subscribe();
    let echo = there.echo("echo", &here).await;
    assert_eq!(soon(echo.echo("same".to_owned())).await.unwrap(), "same");
    assert_eq!(verdicts(&mut events), Vec::<&str>::new());
}

/// A search counts as an ask.
#[tokio::test(start_paused = true)]
async fn rem_68_a_search_beyond_the_limit_of_asks_goes_on_when_an_ask_has_ended() {
    let network = Network::new(68);
    let here = Place::with(&network, "here", |builder| builder.limit(10)).await;
    let there = Place::with(&network, "there", |builder| builder.limit(10)).await;
    let echo = there.echo("echo", &here).await;
    let asks: Vec<_> = (0..10).map(|_| tokio::spawn(hold(echo.clone(), 2))).collect();
    settle().await;
    let found = soon(here.node.find::<crate::fixture::Echo>(there.path("echo"))).await;
    assert_eq!(found.map(|found| found.actor_ref() == echo.actor_ref()), Ok(true));
    drop(asks);
}

/// The news that askers gave up and the next asks arrive together.
#[tokio::test(start_paused = true)]
async fn asks_may_follow_those_that_were_given_up_at_once() {
    let network = Network::new(1);
    let here = Place::with(&network, "here", |builder| builder.limit(10)).await;
    let there = Place::with(&network, "there", |builder| builder.limit(10)).await;
    let echo = there.echo("echo", &here).await;
    let mut events = there.system.events().subscribe();
    let hold = |seconds| (0..10).map(|_| tokio::spawn(hold(echo.clone(), seconds))).collect::<Vec<_>>();
    let first = hold(3);
    settle().await;
    network.partition("here:1", "there:1");
    settle().await;
    let second = hold(20);
    settle().await;
    network.heal();
    settle().await;
    assert_eq!(verdicts(&mut events), Vec::<&str>::new());
    assert_eq!(soon(echo.waiting()).await.unwrap_err().to_string(), AskError::MailboxFull.to_string());
    for asked in first.into_iter().chain(second) {
        assert!(matches!(soon(asked).await.unwrap(), Err(AskError::Timeout(_))));
    }
}

/// Each message is a packet of its own. They all arrive at once. Rule 26.12.
#[tokio::test(start_paused = true)]
async fn a_window_full_of_small_packets_is_not_too_much_at_once() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let echo = there.echo("echo", &here).await;
    settle().await;
    network.partition("here:1", "there:1");
    for number in 0..40_000 {
        echo.note(number).tell().unwrap();
        tokio::task::yield_now().await;
    }
    network.heal();
    settle().await;
    assert_eq!(soon(echo.noted()).await.unwrap().len(), 40_000);
}

/// How long it takes until as many refs, which all wait for the window, have told one message each.
async fn cost_of_waiting_refs(count: u64) -> Duration {
    let network = Network::new(1);
    let small = |builder: supervise::remote::NodeBuilder| builder.window(4000).patience(Duration::from_secs(1000));
    let (here, there) = (Place::with(&network, "here", small).await, Place::with(&network, "there", small).await);
    let mut refs = Vec::new();
    for number in 0..count {
        refs.push(there.echo(&format!("echo-{number}"), &here).await);
    }
    settle().await;
    network.partition("here:1", "there:1");
    for echo in &refs {
        echo.note(1).tell().unwrap();
    }
    settle().await;
    let began = std::time::Instant::now();
    network.heal();
    for echo in &refs {
        while soon(echo.noted()).await.unwrap() != [1] {}
    }
    began.elapsed()
}

#[tokio::test(start_paused = true)]
async fn sixteen_times_the_refs_that_wait_do_not_cost_hundreds_of_times_as_much() {
    let (few, many) = (cost_of_waiting_refs(500).await, cost_of_waiting_refs(8000).await);
    // With a cost that grows as the square, it is 256 times as much.
    assert!(many < few * 80, "{few:?} and {many:?}");
}
