//! Actors of other nodes whose mailboxes are full, under attack: nothing waits for ever, nothing is lost in silence, nothing is left.
//!
//! Rules 26.2 and 26.11.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};
use supervise::remote::NodeBuilder;
use supervise::remote::memory::Network;
use supervise::{DeadLetterReason, SendErrorReason, actor};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep, timeout};

use crate::fixture::{Oops, Place, drain, settle, soon};

/// Longer than any test.
const EVER: u64 = 1_000_000;

/// Has room for two messages, and says which ones it handles: who sent them, and their numbers.
#[actor(mailbox = bounded(2))]
struct Bin {
    log: UnboundedSender<(u64, u64)>,
}

#[actor(remote)]
impl Bin {
    #[handler]
    async fn nap(&mut self, seconds: u64) {
        sleep(Duration::from_secs(seconds)).await;
    }

    #[handler]
    fn put(&mut self, who: u64, number: u64) {
        self.log.send((who, number)).unwrap();
    }

    #[handler]
    async fn work(&mut self, who: u64, number: u64) {
        self.log.send((who, number)).unwrap();
        sleep(Duration::from_millis(10)).await;
    }

    #[handler]
    fn large(&mut self, number: u64, padding: String) {
        let _ = padding;
        self.log.send((0, number)).unwrap();
    }

    #[handler]
    fn fail(&mut self, who: u64, number: u64) -> Result<(), Oops> {
        self.log.send((who, number)).unwrap();
        Err(Oops("bin".to_owned()))
    }

    #[handler]
    fn mine(&mut self, number: u64, mine: Mine) {
        let _ = self.log.send((0, number));
        std::mem::forget(mine);
    }

    #[handler]
    fn ready(&mut self) {}
}

/// Panics when it is dropped where it has arrived.
#[derive(Debug, Deserialize)]
struct Mine {
    is_armed: bool,
}

static EXPLODED: AtomicUsize = AtomicUsize::new(0);

impl Serialize for Mine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("is_armed", &true)?;
        map.end()
    }
}

impl Drop for Mine {
    fn drop(&mut self) {
        if self.is_armed {
            EXPLODED.fetch_add(1, Ordering::SeqCst);
            panic!("as told");
        }
    }
}

async fn place(network: &Network, name: &str) -> Place {
    Place::with(network, name, NodeBuilder::serve::<Bin>).await
}

/// A place with a small window.
async fn narrow(network: &Network, name: &str) -> Place {
    Place::with(network, name, |builder| builder.serve::<Bin>().window(2000)).await
}

fn spawn(there: &Place, name: &str) -> (BinRef, UnboundedReceiver<(u64, u64)>) {
    let (log, saw) = unbounded_channel();
    (there.system.spawn(name, move || Bin { log: log.clone() }).unwrap(), saw)
}

async fn find(from: &Place, there: &Place, name: &str) -> BinRef {
    soon(from.node.find::<Bin>(there.path(name))).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn rem_54_a_ref_goes_on_even_if_others_keep_the_window_closed() {
    let network = Network::new(1);
    let (here, there) = (narrow(&network, "here").await, narrow(&network, "there").await);
    let (slow, mut log) = spawn(&here, "slow");
    let far = find(&there, &here, "slow").await;
    let mut stuck = Vec::new();
    for number in 0..60 {
        let name = format!("stuck-{number}");
        let (bin, log) = spawn(&there, &name);
        bin.nap(EVER).tell().unwrap();
        stuck.push((log, find(&here, &there, &name).await));
    }
    slow.nap(30).tell().unwrap();
    settle().await;
    let sends = tokio::spawn(async move {
        for number in 0..300 {
            far.put(0, number).send().await.unwrap();
        }
    });
    settle().await;
    // Each of them holds at least one message that nearly fills the window, and the limit is 16.
    for (_, bin) in &stuck {
        let bin = bin.clone();
        tokio::spawn(async move {
            for number in 0..10 {
                bin.large(number, "x".repeat(1500)).send().await.unwrap();
            }
        });
    }
    sleep(Duration::from_secs(10)).await;
    let asks = here.node.find::<Bin>(there.path("stuck-0"));
    assert!(timeout(Duration::from_secs(3), asks).await.is_err(), "the window is closed");
    sleep(Duration::from_secs(60)).await;
    // It has read everything, so it is full no more.
    soon(sends).await.unwrap();
    settle().await;
    assert_eq!(drain(&mut log), (0..300).map(|number| (0, number)).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn rem_55_messages_that_reach_a_node_behind_the_end_of_their_actor_are_dead_letters_there() {
    let network = Network::new(1);
    let (mut here, mut there) = (place(&network, "here").await, place(&network, "there").await);
    let (bin, mut log) = spawn(&there, "bin");
    let far = find(&here, &there, "bin").await;
    bin.actor_ref().stop();
    // Nothing there holds the actor any more.
    drop(bin);
    for number in 0..10 {
        soon(far.put(0, number).send()).await.unwrap();
    }
    settle().await;
    assert_eq!(drain(&mut log), []);
    assert!(here.dead_letters().is_empty());
    let letters = there.dead_letters();
    assert_eq!(letters.len(), 10);
    for letter in letters {
        assert_eq!((letter.message, letter.reason), ("Put", DeadLetterReason::Stopped));
        assert_eq!(
            (letter.recipient.local(), letter.recipient_type),
            ("/user/bin", Some(std::any::type_name::<Bin>()))
        );
    }
    assert_eq!(far.put(0, 10).tell().unwrap_err().reason(), SendErrorReason::Stopped);
}

#[tokio::test(start_paused = true)]
async fn rem_56_a_peer_that_is_gone_while_its_messages_wait_for_room_leaves_nothing_behind() {
    let network = Network::new(1);
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let mut here = place(&network, "here").await;
    let (bin, _log) = spawn(&here, "bin");
    bin.nap(EVER).tell().unwrap();
    settle().await;
    let before = tasks();
    for number in 0..5 {
        let there = place(&network, &format!("there-{number}")).await;
        let far = find(&there, &here, "bin").await;
        for number in 0..1000 {
            soon(far.put(0, number).send()).await.unwrap();
        }
        settle().await;
        network.kill(&format!("there-{number}:1"));
        settle().await;
        there.system.terminate().await;
        assert_eq!(here.dead_letters().len(), if number == 0 { 998 } else { 1000 });
    }
    // The node greets a peer that the engine calls gone for a while.
    sleep(Duration::from_secs(60)).await;
    settle().await;
    assert_eq!(tasks(), before);
}

#[tokio::test(start_paused = true)]
async fn a_message_whose_drop_panics_waits_and_is_lost_as_any_other() {
    for is_verdict in [true, false] {
        let network = Network::new(1);
        let (here, mut there) = (place(&network, "here").await, place(&network, "there").await);
        let (bin, mut log) = spawn(&there, "bin");
        let far = find(&here, &there, "bin").await;
        bin.nap(30).tell().unwrap();
        settle().await;
        let before = EXPLODED.load(Ordering::SeqCst);
        for number in 0..20 {
            soon(far.mine(number, Mine { is_armed: false }).send()).await.unwrap();
        }
        settle().await;
        if is_verdict {
            network.kill("here:1");
            settle().await;
            assert_eq!(there.dead_letters().len(), 18, "two had room");
            sleep(Duration::from_secs(60)).await;
            assert_eq!(drain(&mut log), [(0, 0), (0, 1)]);
            soon(bin.ready()).await.unwrap();
        } else {
            bin.actor_ref().stop();
            sleep(Duration::from_secs(60)).await;
            assert_eq!(there.dead_letters().len(), 20);
        }
        assert_eq!(EXPLODED.load(Ordering::SeqCst) - before, if is_verdict { 18 } else { 20 });
        let again = place(&network, "again").await;
        spawn(&there, "next");
        soon(find(&again, &there, "next").await.ready()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn senders_on_different_nodes_share_the_room_fairly() {
    let network = Network::new(1);
    let (one, two) = (place(&network, "one").await, place(&network, "two").await);
    let there = place(&network, "there").await;
    let (local, mut log) = spawn(&there, "bin");
    for (who, bin) in [(1, find(&one, &there, "bin").await), (2, find(&two, &there, "bin").await), (3, local)] {
        tokio::spawn(async move { while bin.work(who, 0).send().await.is_ok() {} });
    }
    sleep(Duration::from_secs(30)).await;
    let saw = drain(&mut log);
    for who in 1..=3 {
        let count = saw.iter().filter(|one| one.0 == who).count();
        assert!((900..=1100).contains(&count), "{who} had {count} of {}", saw.len());
    }
}

#[tokio::test(start_paused = true)]
async fn an_actor_that_fails_on_each_message_is_slowed_down_and_loses_none() {
    let network = Network::new(1);
    let (mut here, mut there) = (place(&network, "here").await, place(&network, "there").await);
    let (bin, mut log) = spawn(&there, "bin");
    let far = find(&here, &there, "bin").await;
    bin.nap(30).tell().unwrap();
    settle().await;
    for number in 0..200 {
        soon(far.fail(0, number).send()).await.unwrap();
    }
    sleep(Duration::from_secs(600)).await;
    assert_eq!(drain(&mut log), (0..200).map(|number| (0, number)).collect::<Vec<_>>());
    assert!(here.dead_letters().is_empty() && there.dead_letters().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_thousand_full_actors_cost_another_one_no_time() {
    let network = Network::new(1);
    let (here, there) = (place(&network, "here").await, place(&network, "there").await);
    let mut waits = Vec::new();
    for number in 0..1000 {
        let name = format!("stuck-{number}");
        let (bin, log) = spawn(&there, &name);
        bin.nap(3000).tell().unwrap();
        let far = find(&here, &there, &name).await;
        let sends = tokio::spawn(async move {
            for number in 0..10 {
                far.put(0, number).send().await.unwrap();
            }
        });
        waits.push((log, sends));
    }
    settle().await;
    spawn(&there, "other");
    let other = find(&here, &there, "other").await;
    for _ in 0..100 {
        let began = Instant::now();
        soon(other.ready()).await.unwrap();
        assert!(began.elapsed() <= Duration::from_millis(2), "there and back: {:?}", began.elapsed());
    }
    sleep(Duration::from_secs(3000)).await;
    for (mut log, sends) in waits {
        soon(sends).await.unwrap();
        settle().await;
        assert_eq!(drain(&mut log), (0..10).map(|number| (0, number)).collect::<Vec<_>>());
    }
}
