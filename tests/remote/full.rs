//! Actors of other nodes whose own bounded mailboxes are full.
//!
//! Rules 26.2 and 26.11.

use std::time::Duration;

use supervise::remote::NodeBuilder;
use supervise::remote::memory::Network;
use supervise::{AskError, Context, DeadLetterReason, HowEnded, SendErrorReason, Terminated, actor};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::fixture::{Place, Tight, TightRef, drain, settle, soon, two};

/// An actor with room for two messages, which sleeps for this many seconds, as another place sees it.
async fn asleep(there: &Place, here: &Place, name: &str, seconds: u64) -> TightRef {
    there.system.spawn(name, Tight::default).unwrap();
    let tight = soon(here.node.find::<Tight>(there.path(name))).await.unwrap();
    tight.sleep(seconds).tell().unwrap();
    settle().await;
    tight
}

/// Tells numbers until one is refused, and says how many were accepted.
async fn fill(tight: &TightRef, padding: usize) -> u64 {
    for number in 0..10_000 {
        if let Err(refused) = tight.put(number, "x".repeat(padding)).tell() {
            assert_eq!(refused.reason(), SendErrorReason::MailboxFull);
            return number;
        }
        // Everything that is under way arrives.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("10 000 messages were accepted for an actor with room for two");
}

#[tokio::test(start_paused = true)]
async fn rem_45_send_waits_for_room_in_the_mailbox_of_the_actor_itself() {
    let network = Network::new(1);
    // What is sent before the peer says that the actor is full fits into the window.
    let small = |builder: NodeBuilder| builder.window(2000);
    let (mut here, mut there) =
        (Place::with(&network, "here", small).await, Place::with(&network, "there", small).await);
    let tight = asleep(&there, &here, "tight", 30).await;
    let sends = tokio::spawn({
        let tight = tight.clone();
        async move {
            for number in 0..300 {
                tight.put(number, String::new()).send().await.unwrap();
            }
        }
    });
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(!sends.is_finished(), "the actor sleeps");
    soon(sends).await.unwrap();
    settle().await;
    assert_eq!(soon(tight.all()).await.unwrap(), (0..300).collect::<Vec<_>>());
    assert!(here.dead_letters().is_empty() && there.dead_letters().is_empty());
}

#[tokio::test(start_paused = true)]
async fn rem_46_a_tell_comes_back_when_the_actor_is_full_and_what_was_accepted_is_handled() {
    let network = Network::new(1);
    let (mut here, mut there) = two(&network).await;
    let tight = asleep(&there, &here, "tight", 1000).await;
    let accepted = fill(&tight, 100).await;
    assert!((4..=8).contains(&accepted), "two mailboxes of two places, and what was under way: {accepted}");
    let refused = soon(tight.all()).await;
    assert!(matches!(refused, Err(AskError::MailboxFull)), "{refused:?}");
    tokio::time::sleep(Duration::from_secs(2000)).await;
    assert_eq!(soon(tight.all()).await.unwrap(), (0..accepted).collect::<Vec<_>>());
    assert!(here.dead_letters().is_empty() && there.dead_letters().is_empty());
}

#[tokio::test(start_paused = true)]
async fn rem_47_full_actors_hold_up_no_other() {
    let network = Network::new(1);
    let small = |builder: NodeBuilder| builder.window(4000);
    let here = Place::with(&network, "here", small).await;
    let mut there = Place::with(&network, "there", small).await;
    let mut full = Vec::new();
    for number in 0..10 {
        let tight = asleep(&there, &here, &format!("tight-{number}"), 1000).await;
        // The messages for each of them fill more than the window.
        let accepted = fill(&tight, 1000).await;
        full.push((tight, accepted));
    }
    let other = there.echo("other", &here).await;
    for number in 0..100 {
        soon(other.note(number).send()).await.unwrap();
    }
    assert_eq!(soon(other.noted()).await.unwrap(), (0..100).collect::<Vec<_>>());
    let tight = asleep(&there, &here, "awake", 0).await;
    for number in 0..100 {
        soon(tight.put(number, String::new()).send()).await.unwrap();
    }
    settle().await;
    assert_eq!(soon(tight.all()).await.unwrap().len(), 100);
    tokio::time::sleep(Duration::from_secs(2000)).await;
    for (tight, accepted) in full {
        assert_eq!(soon(tight.all()).await.unwrap(), (0..accepted).collect::<Vec<_>>());
    }
    assert!(there.dead_letters().is_empty());
}

#[tokio::test(start_paused = true)]
async fn rem_48_an_ask_of_a_full_actor_waits_in_its_turn() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let tight = asleep(&there, &here, "tight", 30).await;
    for number in 0..3 {
        tight.put(number, String::new()).tell().unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let asked = tight.all().ask().unwrap();
    tokio::time::sleep(Duration::from_millis(10)).await;
    tight.put(3, String::new()).tell().unwrap();
    assert_eq!(soon(asked).await.unwrap(), [0, 1, 2]);
    assert_eq!(soon(tight.all()).await.unwrap(), [0, 1, 2, 3]);
}

/// What a [`Slow`] has handled.
#[derive(Debug, Clone, PartialEq)]
enum Saw {
    Number(u64),
    Gone(HowEnded),
}

/// Has room for one message.
#[actor(mailbox = bounded(1))]
struct Slow {
    log: UnboundedSender<Saw>,
}

#[actor(remote)]
impl Slow {
    #[handler]
    fn hear(&mut self, number: u64) {
        self.log.send(Saw::Number(number)).unwrap();
    }

    #[handler]
    async fn sleep(&mut self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    #[handler(local)]
    fn watch(&mut self, who: TellerRef, ctx: &mut Context<Self>) {
        ctx.watch(&who);
    }

    #[watch]
    fn gone(&mut self, gone: Terminated<Teller>) {
        self.log.send(Saw::Gone(gone.how())).unwrap();
    }
}

#[actor]
struct Teller;

#[actor(remote)]
impl Teller {
    /// Sends this many numbers, and then ends.
    #[handler]
    async fn send(&mut self, slow: SlowRef, to: u64, ctx: &mut Context<Self>) {
        for number in 0..to {
            slow.hear(number).send().await.unwrap();
        }
        ctx.stop_self();
    }
}

struct Pair {
    here: Place,
    there: Place,
    slow: SlowRef,
    /// The ref to `slow` at `there`.
    far: SlowRef,
    saw: UnboundedReceiver<Saw>,
}

/// A `Slow` that sleeps for this many seconds, and two messages before it in its mailbox and at its door.
async fn slow(network: &Network, seconds: u64) -> Pair {
    let serve = |builder: NodeBuilder| builder.serve::<Slow>().serve::<Teller>();
    let (here, there) = (Place::with(network, "here", serve).await, Place::with(network, "there", serve).await);
    let (log, saw) = unbounded_channel();
    let slow = here.system.spawn("slow", move || Slow { log: log.clone() }).unwrap();
    let far = soon(there.node.find::<Slow>(here.path("slow"))).await.unwrap();
    slow.sleep(seconds).tell().unwrap();
    settle().await;
    Pair { here, there, slow, far, saw }
}

#[tokio::test(start_paused = true)]
async fn rem_49_the_news_of_an_end_comes_behind_messages_that_wait_for_room() {
    let network = Network::new(1);
    for messages in 0..8 {
        let Pair { here, there, slow, mut saw, .. } = slow(&network, 30).await;
        there.system.spawn("teller", || Teller).unwrap();
        let teller = soon(here.node.find::<Teller>(there.path("teller"))).await.unwrap();
        soon(slow.watch(teller.clone()).send()).await.unwrap();
        slow.sleep(30).send().await.unwrap();
        teller.send(slow.clone(), messages).tell().unwrap();
        tokio::time::sleep(Duration::from_secs(100)).await;
        let expected: Vec<Saw> = (0..messages).map(Saw::Number).chain([Saw::Gone(HowEnded::Graceful)]).collect();
        assert_eq!(drain(&mut saw), expected);
        here.system.terminate().await;
        there.system.terminate().await;
    }
}

#[tokio::test(start_paused = true)]
async fn rem_49_poison_and_kill_come_behind_messages_that_wait_for_room() {
    let network = Network::new(1);
    for kills in [false, true] {
        let Pair { mut here, there, slow, far, mut saw } = slow(&network, 30).await;
        for number in 0..3 {
            far.hear(number).tell().unwrap();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        if kills {
            far.actor_ref().kill();
        } else {
            far.actor_ref().poison();
        }
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(drain(&mut saw), (0..3).map(Saw::Number).collect::<Vec<_>>());
        assert!(slow.actor_ref().has_ended());
        assert!(here.dead_letters().is_empty());
        here.system.terminate().await;
        there.system.terminate().await;
    }
}

#[tokio::test(start_paused = true)]
async fn rem_50_an_actor_that_ends_makes_dead_letters_of_what_waits_for_room() {
    let network = Network::new(1);
    let Pair { mut here, slow, far, mut saw, .. } = slow(&network, 30).await;
    // They are under way together, before the peer says that the actor is full.
    for number in 0..3 {
        far.hear(number).send().await.unwrap();
    }
    tokio::task::yield_now().await;
    let asked = far.hear(3).ask().unwrap();
    tokio::time::sleep(Duration::from_millis(10)).await;
    slow.actor_ref().stop();
    assert!(matches!(soon(asked).await, Err(AskError::Stopped)));
    settle().await;
    assert_eq!(drain(&mut saw), []);
    let letters: Vec<_> = here.dead_letters().iter().map(|letter| (letter.message, letter.reason)).collect();
    assert_eq!(letters, [("Hear", DeadLetterReason::Stopped); 4]);
    assert_eq!(far.hear(4).tell().unwrap_err().reason(), SendErrorReason::Stopped);
}

#[tokio::test(start_paused = true)]
async fn rem_51_a_verdict_makes_dead_letters_of_what_waits_for_room() {
    let network = Network::new(1);
    let Pair { mut here, slow, far, mut saw, .. } = slow(&network, 30).await;
    for number in 0..3 {
        far.hear(number).send().await.unwrap();
    }
    settle().await;
    network.kill("there:1");
    settle().await;
    // One had room, and two had none.
    let letters: Vec<_> = here.dead_letters().iter().map(|letter| (letter.message, letter.reason)).collect();
    assert_eq!(letters, [("Hear", DeadLetterReason::MailboxFull); 2]);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(drain(&mut saw), [Saw::Number(0)]);
    soon(slow.hear(9)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn rem_51_a_verdict_is_told_behind_messages_that_had_room() {
    let network = Network::new(1);
    let Pair { here, there, slow, mut saw, .. } = slow(&network, 30).await;
    there.system.spawn("teller", || Teller).unwrap();
    let teller = soon(here.node.find::<Teller>(there.path("teller"))).await.unwrap();
    soon(slow.watch(teller.clone()).send()).await.unwrap();
    slow.sleep(30).send().await.unwrap();
    teller.send(slow.clone(), 2).tell().unwrap();
    settle().await;
    network.kill("there:1");
    tokio::time::sleep(Duration::from_secs(100)).await;
    let saw = drain(&mut saw);
    let news = [Saw::Gone(HowEnded::Graceful), Saw::Gone(HowEnded::Unreachable)];
    assert!(news.contains(saw.last().expect("it is told")), "{saw:?}");
    assert_eq!(saw.iter().filter(|one| matches!(one, Saw::Gone(_))).count(), 1, "{saw:?}");
}

#[tokio::test(start_paused = true)]
async fn rem_52_a_node_that_leaves_waits_for_actors_that_read_within_two_seconds() {
    let network = Network::new(1);
    let Pair { mut here, mut there, far, mut saw, .. } = slow(&network, 3).await;
    for number in 0..3 {
        far.hear(number).tell().unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    there.system.terminate().await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    // The first had room, the second waited for it, and the third did not leave its node.
    assert_eq!(drain(&mut saw), [Saw::Number(0), Saw::Number(1)]);
    assert!(here.dead_letters().is_empty());
    let letters: Vec<_> = there.dead_letters().iter().map(|letter| (letter.message, letter.reason)).collect();
    assert_eq!(letters, [("Hear", DeadLetterReason::Unreachable)]);
}

/// Drops the newest message.
#[derive(Default)]
#[actor(mailbox = bounded(2, overflow = drop_newest))]
struct Newest(Vec<u64>);

#[actor(remote)]
impl Newest {
    #[handler]
    fn put(&mut self, number: u64) {
        self.0.push(number);
    }

    #[handler]
    async fn sleep(&mut self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    #[handler]
    fn all(&mut self) -> Vec<u64> {
        self.0.clone()
    }
}

/// Drops the oldest message.
#[derive(Default)]
#[actor(mailbox = bounded(2, overflow = drop_oldest))]
struct Oldest(Vec<u64>);

#[actor(remote)]
impl Oldest {
    #[handler]
    fn put(&mut self, number: u64) {
        self.0.push(number);
    }

    #[handler]
    async fn sleep(&mut self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    #[handler]
    fn all(&mut self) -> Vec<u64> {
        self.0.clone()
    }
}

#[tokio::test(start_paused = true)]
async fn rem_53_send_waits_also_if_a_tell_would_drop_the_newest() {
    let network = Network::new(1);
    let serve = |builder: NodeBuilder| builder.serve::<Newest>();
    let (mut here, mut there) =
        (Place::with(&network, "here", serve).await, Place::with(&network, "there", serve).await);
    there.system.spawn("newest", Newest::default).unwrap();
    let newest = soon(here.node.find::<Newest>(there.path("newest"))).await.unwrap();
    newest.sleep(30).tell().unwrap();
    settle().await;
    for number in 0..100 {
        soon(newest.put(number).send()).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(soon(newest.all()).await.unwrap(), (0..100).collect::<Vec<_>>());
    assert!(here.dead_letters().is_empty() && there.dead_letters().is_empty());
    // A tell that finds no room is a dead letter on the sender's node.
    newest.sleep(30).tell().unwrap();
    for number in 100..200 {
        newest.put(number).tell().unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let dropped = here.dead_letters();
    assert!(dropped.iter().all(|letter| letter.reason == DeadLetterReason::MailboxFull));
    assert!(there.dead_letters().is_empty());
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(soon(newest.all()).await.unwrap().len() + dropped.len(), 200);
}

#[tokio::test(start_paused = true)]
async fn rem_53_a_mailbox_that_drops_the_oldest_keeps_the_newest() {
    let network = Network::new(1);
    let serve = |builder: NodeBuilder| builder.serve::<Oldest>();
    let (here, mut there) =
        (Place::with(&network, "here", serve).await, Place::with(&network, "there", serve).await);
    there.system.spawn("oldest", Oldest::default).unwrap();
    let far = soon(here.node.find::<Oldest>(there.path("oldest"))).await.unwrap();
    far.sleep(30).tell().unwrap();
    settle().await;
    for number in 0..10 {
        far.put(number).tell().unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(there.dead_letters().len(), 8);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(soon(far.all()).await.unwrap(), [8, 9]);
}

/// Rules 19.10 and 26.2.
#[tokio::test(start_paused = true)]
async fn an_ask_waits_for_room_in_the_mailbox_of_its_ref() {
    let network = Network::new(1);
    let (mut here, mut there) = two(&network).await;
    let tight = asleep(&there, &here, "tight", 1000).await;
    let accepted = fill(&tight, 0).await;
    let begun = tokio::time::Instant::now();
    let late = soon(tight.all().when_room().timeout(Duration::from_secs(5))).await;
    assert!(matches!(late, Err(AskError::Timeout(_))), "{late:?}");
    assert_eq!(begun.elapsed(), Duration::from_secs(5));
    let asked = tokio::spawn(async move { tight.all().when_room().await });
    tokio::time::sleep(Duration::from_secs(2000)).await;
    assert_eq!(soon(asked).await.unwrap().unwrap(), (0..accepted).collect::<Vec<_>>());
    assert!(here.dead_letters().is_empty() && there.dead_letters().is_empty());
}

/// Rules 19.10 and 26.2.
#[tokio::test(start_paused = true)]
async fn an_ask_that_waits_for_room_hears_of_the_verdict() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let tight = asleep(&there, &here, "tight", 1000).await;
    fill(&tight, 0).await;
    let asked = tokio::spawn(async move { tight.all().when_room().await });
    settle().await;
    network.kill("there:1");
    let told = soon(asked).await.unwrap();
    assert!(matches!(told, Err(AskError::Undeliverable)), "{told:?}");
}
