//! Sharded actors with keys that misbehave, and with settings at their limits.
//!
//! Rules 28.2 and 28.3.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use supervise::remote::Node;
use supervise::remote::memory::Network;
use supervise::sharded::{ShardError, Sharded};
use supervise::{ActorSystem, AskError, Context, DeadLetterReason, Event, Events, Interest, actor, supervise};

use crate::fixture::{settle, soon};

/// A key that panics after it has travelled, because that is not written.
#[derive(Debug, Clone, Eq, Serialize, Deserialize)]
struct Key {
    number: u64,
    what: Panics,
    #[serde(skip, default = "travelled")]
    has_travelled: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Panics {
    Never,
    WhenHashed,
    WhenShown,
}

fn travelled() -> bool {
    true
}

impl Key {
    fn new(number: u64) -> Self {
        Self { number, what: Panics::Never, has_travelled: false }
    }

    fn panic_if(&self, what: Panics) {
        assert!(self.what != what || !self.has_travelled, "as told");
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.panic_if(Panics::WhenHashed);
        self.number.hash(state);
    }
}

/// Keys that differ by 1000 have the same text.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.panic_if(Panics::WhenShown);
        write!(f, "{}", self.number % 1000)
    }
}

#[actor]
struct Thing(u64);

#[actor(remote)]
impl Thing {
    #[handler]
    fn number(&self) -> u64 {
        self.0
    }

    #[handler]
    async fn sleep(&self) {
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
}

/// The parent of the things of one node. One failure, and its table stops the child.
#[actor]
#[supervise(one_for_one, on(_) = Stop)]
struct Shelf {
    handover: Duration,
    things: Option<Sharded<Key, Thing>>,
}

#[actor]
impl Shelf {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) -> Result<(), ShardError> {
        let things = Sharded::of(|key: &Key| Thing(key.number)).handover(self.handover).limit(10);
        self.things = Some(things.spawn(ctx, "things")?);
        Ok(())
    }

    #[handler]
    fn things(&mut self) -> Sharded<Key, Thing> {
        self.things.clone().unwrap()
    }
}

struct Room {
    system: ActorSystem,
    things: Sharded<Key, Thing>,
    letters: Events,
}

impl Room {
    async fn new(network: &Network, name: &str, handover: Duration) -> Self {
        let system = ActorSystem::new(name);
        Node::builder(&system).join(network.transport(&format!("{name}:1"))).await.unwrap();
        let letters = system.events().subscribe_to(Interest::DEAD_LETTERS);
        let shelf = system.spawn("shelf", move || Shelf { handover, things: None }).unwrap();
        let things = shelf.things().await.unwrap();
        Self { system, things, letters }
    }

    /// A key whose home is another node. Each call has another one.
    fn key_of(&self, node: &str, what: Panics, from: u64) -> Key {
        let mut keys = (from..).map(|number| Key { what, ..Key::new(number) });
        keys.find(|key| self.things.home(key).unwrap().system() == node).unwrap()
    }

    fn letter(&mut self) -> Option<DeadLetterReason> {
        match self.letters.try_recv()? {
            Event::DeadLetter(letter) => Some(letter.reason),
            _ => None,
        }
    }
}

async fn two(network: &Network, handover: Duration) -> (Room, Room) {
    let rooms = (Room::new(network, "a", handover).await, Room::new(network, "b", handover).await);
    settle().await;
    rooms
}

#[tokio::test(start_paused = true)]
async fn shr_24_a_key_that_panics_at_its_home_costs_its_own_message_only() {
    let network = Network::new(24);
    let (a, mut b) = two(&network, Duration::from_secs(20)).await;
    for (from, what) in [(0, Panics::WhenHashed), (100, Panics::WhenShown)] {
        let bad = a.key_of("b", what, from);
        assert!(matches!(soon(a.things.get(bad).unwrap().number()).await, Err(AskError::Undeliverable)));
        assert_eq!(b.letter(), Some(DeadLetterReason::Undecodable));
        let fine = a.key_of("b", Panics::Never, from + 50);
        assert_eq!(soon(a.things.get(fine.clone()).unwrap().number()).await.unwrap(), fine.number);
    }
    // A node that has not let all keys go yet is asked for each key.
    for number in 400..420 {
        a.things.get(Key::new(number)).unwrap().sleep().tell().unwrap();
    }
    settle().await;
    let c = Room::new(&network, "c", Duration::from_secs(20)).await;
    soon(c.things.wait_for(|nodes| nodes.len() == 3)).await;
    for (from, what) in [(200, Panics::WhenHashed), (300, Panics::WhenShown)] {
        let bad = c.things.get(c.key_of("c", what, from)).unwrap();
        bad.number().tell().unwrap();
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(c.things.nodes().len(), 3, "no node has lost its gate or its keeper");
}

#[tokio::test(start_paused = true)]
async fn shr_25_a_key_with_the_text_of_another_key_is_not_said_to_be_stopped() {
    let network = Network::new(25);
    let (a, mut b) = two(&network, Duration::from_secs(20)).await;
    let same = (0..1000).find(|number| {
        let is_of_b = |number| a.things.home(&Key::new(number)).unwrap().system() == "b";
        is_of_b(*number) && is_of_b(number + 1000)
    });
    let same = same.unwrap();
    assert_eq!(soon(b.things.get(Key::new(same)).unwrap().number()).await.unwrap(), same);
    assert!(matches!(
        soon(a.things.get(Key::new(same + 1000)).unwrap().number()).await,
        Err(AskError::Undeliverable)
    ));
    assert_eq!(b.letter(), Some(DeadLetterReason::Undecodable));
}

#[tokio::test(start_paused = true)]
async fn shr_26_the_longest_handover_is_no_failure() {
    let network = Network::new(26);
    let (a, b) = two(&network, Duration::MAX).await;
    for number in 0..10 {
        assert_eq!(soon(a.things.get(Key::new(number)).unwrap().number()).await.unwrap(), number);
    }
    soon(b.things.leave()).await.unwrap();
    assert_eq!(soon(b.things.get(Key::new(0)).unwrap().number()).await.unwrap(), 0);
    soon(b.system.terminate()).await;
}

#[tokio::test(start_paused = true)]
async fn shr_27_ways_to_keys_for_which_there_is_no_room_do_not_stay() {
    let network = Network::new(27);
    let (a, b) = two(&network, Duration::from_secs(20)).await;
    for number in 0..900 {
        a.things.get(Key::new(number)).unwrap().number().tell().unwrap();
    }
    settle().await;
    assert!(a.things.here().len() == 10 && b.things.here().len() == 10);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    for room in [&a, &b] {
        assert_eq!(room.system.select("/user/shelf/things-routes/*").unwrap().identify().len(), 0);
        assert_eq!(room.things.here().len(), 10, "the actors have no idle time");
    }
}
