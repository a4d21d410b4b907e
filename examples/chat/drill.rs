//! The run and its ledger.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use supervise::prelude::*;
use supervise::{Event, Interest};
use supervise_examples::service::{Ledger, Values, hide_bugs, say};
use tokio::sync::{Barrier, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::bots::{self, Seen, clumsy, cutter, deaf, poisoner, steady};
use crate::server::{self, DoorRef, Traffic};

/// Well-behaved bots in each room.
const STEADY: usize = 6;
/// How often each other bot misbehaves.
const TIMES: usize = 8;
/// How long the chat may take to become quiet.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) async fn run(values: Values) -> Result<Ledger, Box<dyn Error>> {
    let (rooms, texts): (usize, usize) = (values.get("--rooms"), values.get("--texts"));
    let server = server::start(values.get("--port"))?;
    hide_bugs();
    let address = server.address;
    let restarts = gather(&server.system);
    say(&format!("http://{address}/, {rooms} rooms with {} bots each", STEADY + 4));

    let (end, ended) = watch::channel(false);
    let here = Arc::new(Barrier::new(rooms * STEADY + 1));
    let mut talking = JoinSet::new();
    for room in 0..rooms {
        for number in 0..STEADY {
            let (here, ended) = (here.clone(), ended.clone());
            talking.spawn(async move { steady(address, room, format!("bot{number}"), texts, &here, ended).await });
        }
    }
    here.wait().await;
    let mut misbehaving = JoinSet::new();
    let mut not_reading = JoinSet::new();
    for room in 0..rooms {
        misbehaving.spawn(async move { [poisoner(address, room, TIMES).await, 0, 0] });
        misbehaving.spawn(async move { [0, clumsy(address, room, TIMES).await, 0] });
        misbehaving.spawn(async move { [0, 0, cutter(address, room, TIMES).await] });
        not_reading.spawn(deaf(address, room, ended.clone()));
    }
    let did = misbehaving.join_all().await;
    let [refused, bugs, cuts] = did.into_iter().fold([0; 3], |sum, did| [0, 1, 2].map(|of| sum[of] + did[of]));
    quiet(&server.door, rooms, texts).await?;
    end.send_replace(true);
    let seen = talking.join_all().await;
    let unread = not_reading.join_all().await.into_iter().flatten().count();
    let traffic = empty(&server.door).await?;
    sleep(Duration::from_secs(1)).await;
    let left = left(&server.system);

    let stay: u64 = values.get("--stay");
    if stay > 0 {
        say(&format!("http://{address}/ stays for {stay} s"));
        sleep(Duration::from_secs(stay)).await;
    }
    server.system.coordinated_shutdown().run("the drill is over").await?;
    server.system.when_terminated().await?;
    let restarts = restarts.await?;

    let mut ledger = Ledger::default();
    let connections = traffic.entered;
    ledger.note("rooms", rooms);
    ledger.note("connections", connections);
    talk(&mut ledger, &seen, rooms, texts);
    let poisons = rooms * TIMES;
    let of = |path: &str| {
        restarts.iter().filter(|(actor, _)| actor.ends_with(path)).map(|(_, times)| times).sum::<usize>()
    };
    let did = |ledger: &mut Ledger, what: &str, did: usize, then: usize| {
        ledger.demand(what, format!("{did}, {then}"), "the same, not 0", did == then && did > 0);
    };
    did(&mut ledger, "texts that panic a filter, and texts refused", poisons, refused);
    did(&mut ledger, "texts that panic a filter, and restarts of filters", poisons, of("/filter"));
    did(&mut ledger, "users who panic their member, and members ended", bugs, traffic.ended("panicked"));
    // A member also breaks off if a line is shown to it while it closes.
    let broken_off = traffic.ended("broken off");
    ledger.demand(
        "connections broken off, and members ended",
        format!("{cuts}, {broken_off}"),
        "all, not 0",
        (1..=broken_off).contains(&cuts),
    );
    did(&mut ledger, "users who do not read, and members removed", unread, traffic.ended("removed"));
    ledger.none("restarts of rooms and other actors", restarts.values().sum::<usize>() - of("/filter"));
    ledger.none("actors left when everybody is gone", left);
    Ok(ledger)
}

/// Compares what the steady bots saw: each must have seen the same texts, each text once.
fn talk(ledger: &mut Ledger, seen: &[Seen], rooms: usize, texts: usize) {
    let said = rooms * STEADY * texts;
    let (mut missing, mut twice, mut disordered, mut different) = (0, 0, 0, 0);
    for room in 0..rooms {
        let mut members = seen.iter().filter(|seen| seen.room == room);
        let first = members.next();
        different += members.filter(|seen| first.is_some_and(|first| first.said != seen.said)).count();
    }
    for seen in seen {
        let heard: BTreeSet<&str> = seen.said.iter().map(|(_, _, text)| text.as_str()).collect();
        let expected = (0..STEADY).flat_map(|bot| {
            (1..=texts).map(move |number| bots::text(&format!("bot{bot}"), number).replace("darn", "d***"))
        });
        missing += expected.filter(|text| !heard.contains(text.as_str())).count();
        twice += seen.said.len() - heard.len();
        disordered += seen.said.iter().zip(1..).filter(|((number, ..), at)| number != at).count();
    }
    ledger.note("texts said by well-behaved bots", said);
    ledger.demand(
        "texts shown to them",
        seen.iter().map(|seen| seen.said.len()).sum::<usize>(),
        "each to each in the room",
        seen.iter().all(|seen| seen.said.len() == STEADY * texts),
    );
    ledger.none("texts that somebody missed", missing);
    ledger.none("texts shown twice", twice);
    ledger.none("texts with a number that is not the next", disordered);
    ledger.none("bots that saw another conversation than the first of their room", different);
    ledger.none("well-behaved bots that lost their connection", seen.iter().filter(|seen| seen.lost).count());
}

/// Waits until the bots have said everything and the members that do not read have been removed. Then leaves the
/// chat two seconds to become quiet.
async fn quiet(door: &DoorRef, rooms: usize, texts: usize) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    // The pauses are below 100 ms.
    sleep(Duration::from_millis(60) * u32::try_from(texts)?).await;
    while door.traffic().await?.ended("removed") < rooms && began.elapsed() < PATIENCE {
        sleep(Duration::from_millis(50)).await;
    }
    sleep(Duration::from_secs(2)).await;
    Ok(())
}

/// Waits until the door has heard of the end of all members.
async fn empty(door: &DoorRef) -> Result<Traffic, Box<dyn Error>> {
    let gone = async {
        loop {
            let traffic = door.traffic().await?;
            if traffic.ended.values().sum::<usize>() == traffic.entered {
                return Ok(traffic);
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, gone).await.map_err(|_| "not all members end")?
}

/// How many rooms and members there are.
fn left(system: &ActorSystem) -> usize {
    let mut left = 0;
    system.look(|actor| {
        let path = actor.actor().path();
        left +=
            usize::from(path.local().starts_with("/user/door/") || path.local().starts_with("/user/rooms/rooms/"));
    });
    left
}

impl Traffic {
    fn ended(&self, how: &str) -> usize {
        self.ended.get(how).copied().unwrap_or(0)
    }
}

fn gather(system: &ActorSystem) -> JoinHandle<BTreeMap<String, usize>> {
    let mut events = system.events().subscribe_to(Interest::RESTARTS);
    tokio::spawn(async move {
        let mut restarts = BTreeMap::new();
        while let Some(event) = events.recv().await {
            if let Event::Restarted { actor, .. } = event {
                *restarts.entry(actor.local().to_string()).or_default() += 1;
            }
        }
        restarts
    })
}
