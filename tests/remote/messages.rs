//! Messages and asks: what cannot travel, other versions, failures, full mailboxes.
//!
//! Rules 26.2, 26.6 and 26.7.

use std::time::Duration;

use supervise::remote::memory::{Faults, Network};
use supervise::{AskError, DeadLetterReason, FailureKind, SendErrorReason, Stage, actor};

use crate::fixture::{Picky, Place, Socket, Tight, settle, soon, two};

#[tokio::test(start_paused = true)]
async fn rem_10_a_value_that_cannot_be_written_is_one_dead_letter() {
    let network = Network::new(1);
    let (mut here, there) = two(&network).await;
    let echo = there.echo("echo", &here).await;
    for value in [Picky::CannotBeWritten, Picky::PanicsWhenWritten] {
        echo.picky(value).tell().unwrap();
        let asked = soon(echo.picky(value)).await;
        assert!(matches!(asked, Err(AskError::Undeliverable)), "{asked:?}");
        let reasons: Vec<_> = here.dead_letters().iter().map(|letter| letter.reason).collect();
        assert_eq!(reasons, [DeadLetterReason::Unsendable; 2]);
        soon(echo.picky(Picky::Fine)).await.unwrap();
    }
    echo.attach(Socket).tell().unwrap();
    let asked = soon(echo.attach(Socket)).await;
    assert!(matches!(asked, Err(AskError::Undeliverable)), "{asked:?}");
    let letters = here.dead_letters();
    assert_eq!(letters.len(), 2);
    assert_eq!((letters[0].message, letters[0].reason), ("Attach", DeadLetterReason::Unsendable));
    assert_eq!(letters[0].recipient.to_string(), "supervise://there@there:1/user/echo");
}

#[tokio::test(start_paused = true)]
async fn rem_11_a_value_that_cannot_be_read_is_one_dead_letter_there() {
    let network = Network::new(1);
    let (mut here, mut there) = two(&network).await;
    let echo = there.echo("echo", &here).await;
    echo.picky(Picky::PanicsWhenRead).tell().unwrap();
    let asked = soon(echo.picky(Picky::PanicsWhenRead)).await;
    assert!(matches!(asked, Err(AskError::Undeliverable)), "{asked:?}");
    soon(echo.picky(Picky::Fine)).await.unwrap();
    let reasons: Vec<_> = there.dead_letters().iter().map(|letter| letter.reason).collect();
    assert_eq!(reasons, [DeadLetterReason::Undecodable; 2]);
    assert!(here.dead_letters().is_empty());
}

#[derive(Default)]
#[actor]
struct OldItem {
    counts: Vec<u64>,
}

#[actor(remote = "shop.Item")]
impl OldItem {
    #[handler]
    fn add(&mut self, count: u64) {
        self.counts.push(count);
    }

    #[handler]
    fn sum(&mut self) -> u64 {
        self.counts.iter().sum()
    }
}

#[derive(Default)]
#[actor]
struct NewItem {
    counts: Vec<u64>,
    notes: Vec<Option<String>>,
}

#[actor(remote = "shop.Item")]
impl NewItem {
    #[handler]
    fn add(&mut self, note: Option<String>, count: u64) {
        self.notes.push(note);
        self.counts.push(count);
    }

    #[handler]
    fn sum(&mut self) -> u64 {
        self.counts.iter().sum()
    }

    #[handler]
    fn notes(&mut self) -> Vec<Option<String>> {
        self.notes.clone()
    }
}

#[tokio::test(start_paused = true)]
async fn rem_12_an_unknown_handler_is_refused_and_its_siblings_work() {
    let network = Network::new(1);
    let here = Place::new(&network, "here").await;
    let mut there = Place::with(&network, "there", supervise::remote::NodeBuilder::serve::<OldItem>).await;
    there.system.spawn("item", OldItem::default).unwrap();
    let item = soon(here.node.find::<NewItem>(there.path("item"))).await.unwrap();
    item.add(None, 3).tell().unwrap();
    let asked = soon(item.notes()).await;
    assert!(matches!(asked, Err(AskError::Undeliverable)), "{asked:?}");
    item.notes().tell().unwrap();
    assert_eq!(soon(item.sum()).await.unwrap(), 3);
    let reasons: Vec<_> = there.dead_letters().iter().map(|letter| letter.reason).collect();
    assert_eq!(reasons, [DeadLetterReason::UnknownMessage; 2]);
}

#[tokio::test(start_paused = true)]
async fn rem_13_an_argument_that_only_one_side_has_takes_its_default_or_is_skipped() {
    let network = Network::new(1);
    let here = Place::with(&network, "here", supervise::remote::NodeBuilder::serve::<NewItem>).await;
    let there = Place::with(&network, "there", supervise::remote::NodeBuilder::serve::<OldItem>).await;
    there.system.spawn("item", OldItem::default).unwrap();
    here.system.spawn("item", NewItem::default).unwrap();
    // The newer side sends more, in another order.
    let old = soon(here.node.find::<NewItem>(there.path("item"))).await.unwrap();
    old.add(Some("fragile".to_owned()), 4).tell().unwrap();
    assert_eq!(soon(old.sum()).await.unwrap(), 4);
    // The older side sends less.
    let new = soon(there.node.find::<OldItem>(here.path("item"))).await.unwrap();
    new.add(5).tell().unwrap();
    assert_eq!(soon(new.sum()).await.unwrap(), 5);
    let own = soon(here.node.find::<NewItem>(here.path("item"))).await.unwrap();
    assert_eq!(own.notes().await.unwrap(), [None]);
}

#[tokio::test(start_paused = true)]
async fn rem_14_a_failing_handler_answers_with_its_failure() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let echo = there.echo("echo", &here).await;
    let asked = soon(echo.fail("door".to_owned())).await;
    let Err(AskError::Failed(failure)) = asked else { panic!("{asked:?}") };
    assert_eq!(failure.kind(), FailureKind::Error);
    assert_eq!(failure.stage(), Stage::Running);
    assert_eq!(failure.to_string(), "the door is broken");
    assert!(failure.downcast_ref::<crate::fixture::Oops>().is_none(), "the error stays on its node");
    assert_eq!(soon(echo.echo("after".to_owned())).await.unwrap(), "after");
}

#[tokio::test(start_paused = true)]
async fn rem_15_an_ask_that_timed_out_frees_its_number_and_a_late_answer_is_dropped() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let echo = there.echo("echo", &here).await;
    let late = soon(echo.sleep(20).timeout(Duration::from_secs(1))).await;
    assert!(matches!(late, Err(AskError::Timeout(_))), "{late:?}");
    let held = soon(echo.hold().timeout(Duration::from_secs(1))).await;
    assert!(matches!(held, Err(AskError::Timeout(_))), "{held:?}");
    settle().await;
    assert_eq!(here.node.asks_under_way(), 0);
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(soon(echo.echo("after".to_owned())).await.unwrap(), "after");
}

#[tokio::test(start_paused = true)]
async fn rem_16_a_full_proxy_refuses_a_tell_and_send_waits_in_order() {
    let network = Network::new(1);
    let small = |builder: supervise::remote::NodeBuilder| builder.window(1000).patience(Duration::from_secs(100));
    let here = Place::with(&network, "here", small).await;
    let there = Place::with(&network, "there", small).await;
    let tight = there.system.spawn("tight", Tight::default).unwrap();
    let far = soon(here.node.find::<Tight>(there.path("tight"))).await.unwrap();
    settle().await;
    network.partition("here:1", "there:1");
    let padding = || "x".repeat(300);
    let mut told = 0;
    let refused = loop {
        match far.put(told, padding()).tell() {
            Ok(()) => told += 1,
            Err(refused) => break refused.reason(),
        }
        // The proxy has its turn.
        tokio::time::sleep(Duration::from_millis(1)).await;
    };
    assert_eq!(refused, SendErrorReason::MailboxFull);
    assert!((3..10).contains(&told), "{told} messages fit into the window and the mailbox");
    let waits = tokio::spawn({
        let far = far.clone();
        async move {
            for number in told..told + 20 {
                far.put(number, padding()).send().await.unwrap();
            }
        }
    });
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(!waits.is_finished());
    network.heal();
    soon(waits).await.unwrap();
    settle().await;
    assert_eq!(tight.all().await.unwrap(), (0..told + 20).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn rem_17_an_actor_that_does_not_read_holds_up_no_other() {
    let network = Network::new(1);
    let (here, mut there) = two(&network).await;
    let (busy, other) = (there.echo("busy", &here).await, there.echo("other", &here).await);
    there.system.spawn("tight", Tight::default).unwrap();
    let tight = soon(here.node.find::<Tight>(there.path("tight"))).await.unwrap();
    busy.sleep(1000).tell().unwrap();
    tight.sleep(1000).tell().unwrap();
    // Both have begun to sleep.
    settle().await;
    for number in 0..3000 {
        busy.note(number).tell().unwrap();
    }
    let sends = tokio::spawn(async move {
        for number in 0..20_000 {
            tight.put(number, "x".repeat(100)).send().await.unwrap();
        }
    });
    for _ in 0..10 {
        assert_eq!(soon(other.echo("still here".to_owned())).await.unwrap(), "still here");
        settle().await;
    }
    assert!(!sends.is_finished(), "more than the window holds");
    assert!(there.dead_letters().is_empty());
}

#[tokio::test(start_paused = true)]
async fn rem_18_large_messages_do_not_look_like_silence() {
    let network = Network::new(1);
    network.set_faults(Faults {
        delay: (Duration::from_millis(300), Duration::from_millis(900)),
        ..Faults::default()
    });
    let (here, there) = two(&network).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let echo = there.echo("echo", &here).await;
    for _ in 0..20 {
        echo.bytes(vec![1; (1 << 20) - 100]).tell().unwrap();
    }
    let noted = soon(echo.noted()).await.unwrap();
    assert_eq!(noted, [(1 << 20) - 100; 20]);
}

/// All of them wait in the queue of the ref, and together they exceed what the association keeps for a slow peer. Rule 1.6.
#[tokio::test(start_paused = true)]
async fn large_messages_leave_the_queue_of_the_ref_only_as_the_window_opens() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let echo = there.echo("echo", &here).await;
    let text = "x".repeat((1 << 20) - 100);
    for _ in 0..80 {
        echo.echo(text.clone()).tell().unwrap();
    }
    assert_eq!(soon(echo.echo("last".to_owned())).await.unwrap(), "last");
    assert_eq!(here.node.peers(), [there.node.id().clone()]);
}
