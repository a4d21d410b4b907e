//! Many refs and many watches between many nodes, each in a process of its own: how long each step takes, how much memory it needs, and
//! whether every message was handled and every watcher told. By default 2 and 3 nodes with 2000 refs and 600 watches;
//! `SCALE=2-8:100000:10000` takes 2 to 8 nodes with 100 000 refs and 10 000 watches.
//!
//! Rules 26.1, 26.4 and 26.8.

mod there;

use std::time::{Duration, Instant};

use supervise::remote::Node;
use supervise::zenoh::Zenoh;
use supervise::{ActorSystem, Event, Interest};
use supervise_remote_zenoh::{Gone, Hive, HiveRef, LIMIT, MemberRef, resident};

use tokio::process::Command;

use crate::there::There;

/// How long a step may take: many processes share few processors.
const SOON: Duration = Duration::from_secs(120);

/// How many refs one message has.
const CHUNK: usize = 500;

async fn soon<T>(what: impl IntoFuture<Output = T>) -> T {
    tokio::time::timeout(SOON, what.into_future()).await.expect("it happens within two minutes")
}

/// Asks until the answer is the one that is waited for.
async fn until<T: PartialEq + std::fmt::Debug>(wanted: T, mut ask: impl AsyncFnMut() -> T) {
    let waits = async {
        loop {
            let now = ask().await;
            if now == wanted {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waits = tokio::time::timeout(SOON, waits).await;
    if waits.is_err() {
        assert_eq!(ask().await, wanted);
    }
}

/// The time since the last call, in milliseconds.
struct Clock(Instant);

impl Clock {
    fn lap(&mut self) -> u128 {
        let now = Instant::now();
        let lap = now - self.0;
        self.0 = now;
        lap.as_millis()
    }
}

/// Another node, its hive, and the members of the hive.
struct Place {
    there: There,
    hive: HiveRef,
    members: Vec<MemberRef>,
}

async fn run(nodes: usize, refs: usize, watches: usize) {
    let mut clock = Clock(Instant::now());
    let system = ActorSystem::new("here");
    let builder = Node::builder(&system).serve::<Hive>().limit(LIMIT);
    let mut events = system.events().subscribe_to(Interest::FAILURES);
    tokio::spawn(async move {
        while let Some(event) = events.recv().await {
            if let Event::NodeDown { node, why, .. } = event {
                eprintln!("{node} is down: {why}");
            }
        }
    });
    let node = builder.join(Zenoh::listen("127.0.0.1:0")).await.unwrap();
    let here = system.spawn("hive", Hive::default).unwrap();
    let mut places = Vec::new();
    for _ in 1..nodes {
        let mut there = Command::new(env!("CARGO_BIN_EXE_node"));
        there.args(["127.0.0.1:0", node.id().address()]).env("NODE_PATIENCE", "10");
        let there = There::run(there).await;
        let hive = soon(node.find::<Hive>(there.path("hive"))).await.unwrap();
        places.push(Place { there, hive, members: Vec::new() });
    }
    for place in &places {
        until(nodes - 1, async || soon(place.hive.peers()).await.unwrap()).await;
    }
    let (joined, empty) = (clock.lap(), resident());
    let each = refs / places.len();
    for place in &mut places {
        while place.members.len() < each {
            let count = CHUNK.min(each - place.members.len());
            place.members.extend(soon(place.hive.breed(count as u64)).await.unwrap());
        }
    }
    assert!(places.iter().all(|place| !place.members.iter().any(|member| member.actor_ref().has_ended())));
    let (got, full) = (clock.lap(), resident());
    // One message to each.
    for member in places.iter().flat_map(|place| &place.members) {
        member.poke().send().await.unwrap();
    }
    for place in &places {
        until(each as u64, async || soon(place.hive.handled()).await.unwrap()).await;
    }
    let told = clock.lap();
    // This node watches members of each other node, and each of them watches members of the next one.
    let share = watches / places.len();
    let hives = [&here].into_iter().chain(places.iter().map(|place| &place.hive));
    for (at, hive) in hives.enumerate() {
        let of: Vec<usize> = match at {
            0 => (0..places.len()).collect(),
            _ if places.len() == 1 => Vec::new(),
            _ => vec![at % places.len()],
        };
        for place in of {
            for chunk in places[place].members[..share].chunks(CHUNK) {
                soon(hive.watch(chunk.to_vec())).await.unwrap();
            }
        }
    }
    // The answers prove that the watches have arrived, because both take the same way in order.
    for place in &places {
        soon(place.hive.peers()).await.unwrap();
    }
    let watching = clock.lap();
    // One node is killed. This node and the one before it are told of each member.
    let mut killed = places.remove(0);
    clock.lap();
    killed.there.kill().await;
    let lost = share as u64;
    until(Gone { gracefully: 0, unreachable: lost }, async || soon(here.gone()).await.unwrap()).await;
    if let Some(last) = places.last() {
        until(Gone { gracefully: 0, unreachable: lost }, async || soon(last.hive.gone()).await.unwrap()).await;
    }
    let news = clock.lap();
    drop(killed);
    let theirs = match places.last() {
        Some(place) => soon(place.hive.resident()).await.unwrap(),
        None => 0,
    };
    // The others end in an orderly way.
    let others = places.len() as u64;
    clock.lap();
    for place in places {
        place.there.end().await;
    }
    let all = Gone { gracefully: others * lost, unreachable: lost };
    until(all, async || soon(here.gone()).await.unwrap()).await;
    let ended = clock.lap();
    let left = resident();
    assert!(node.known_refs() <= 64, "{} refs are left", node.known_refs());
    eprintln!(
        "{nodes} nodes, {refs} refs, {watches} watches: joined {joined} ms, refs {got} ms, told each {told} ms, watched {watching} ms, \
         a kill is told {news} ms, an orderly end {ended} ms; KiB here: {empty} empty, {full} with refs, {left} in the end; there {theirs}"
    );
    soon(system.terminate()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rem_32_many_refs_and_watches_between_many_nodes() {
    let scale = std::env::var("SCALE").unwrap_or_else(|_| "2-3:2000:600".to_owned());
    let numbers: Vec<usize> = scale.split(['-', ':']).map(|number| number.parse().expect("a number")).collect();
    let [fewest, most, refs, watches] = numbers[..] else {
        panic!("`SCALE` is like `2-8:100000:10000`: nodes, refs, watches")
    };
    for nodes in fewest..=most {
        run(nodes, refs, watches).await;
    }
}
