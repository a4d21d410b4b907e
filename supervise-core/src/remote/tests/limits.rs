//! What a node keeps stays bounded, whatever its peers do.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context as TaskContext, Waker};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::super::association::{Frame, Greeting, Packet, VERSIONS};
use super::super::memory::Network;
use super::super::transport::NodeId;
use super::super::wire::{Note, bytes, encode};
use super::super::{JoinError, Node, NodeBuilder, RegisterError};
use super::puppet::{MINE, Puppet, Stage};
use super::{Plain, find, place, settle};
use crate::actor::{Actor, ActorRef, ActorSystem, Context, Supervisor, Terminated};
use crate::failure::Failure;
use crate::observe::{Event, Interest};
use crate::supervision::HowEnded;

#[tokio::test(start_paused = true)]
async fn a_node_forgets_peers_that_are_gone() {
    let network = Network::new(1);
    let (_hub, hub) = place(&network, "hub").await;
    for number in 0..20 {
        let name = format!("p{number}");
        let (peer, _node) = place(&network, &name).await;
        let _plain = peer.spawn("plain", || Plain).unwrap();
        let found = find(&hub, &name).await;
        if number % 2 == 0 {
            peer.terminate().await;
        } else {
            network.kill(&format!("{name}:1"));
        }
        settle().await;
        assert!(found.has_ended());
    }
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(hub.0.all_links().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_greeted_about_leaves_nothing_behind() {
    let (_system, node, mut puppet) = Puppet::new(|builder| builder).await;
    for number in 0..100 {
        puppet.me = NodeId::new("nobody", &format!("nobody:{number}"));
        puppet.say(&Packet::Goodbye { to: 1, from: 2 });
        puppet.say(&Packet::Welcome { from: Puppet::greeting(), yours: 1, mine: 2 });
        puppet.inbox.vanished(puppet.me.clone(), 5);
        puppet.frames(Vec::new());
        assert_eq!(
            puppet.hears().await,
            Packet::Goodbye { to: MINE, from: 0 },
            "it does not know the association"
        );
    }
    settle().await;
    assert_eq!(node.0.all_links().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_greets_and_falls_silent_is_forgotten() {
    let (_system, node, mut puppet) = Puppet::new(|builder| builder).await;
    puppet.say(&Packet::Hello { from: Puppet::greeting(), mine: MINE });
    assert!(matches!(puppet.hears().await, Packet::Hello { .. }));
    assert_eq!(node.0.all_links().len(), 1);
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(node.0.all_links().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn names_that_were_taken_back_leave_nothing_behind() {
    let network = Network::new(1);
    let (here, here_node) = place(&network, "here").await;
    let (_there, there_node) = place(&network, "there").await;
    settle().await;
    let plain = here.spawn("plain", || Plain).unwrap();
    let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    for number in 0..5_000 {
        let name = format!("name {number}");
        here_node.register(&name, &plain).unwrap();
        here_node.unregister(&name, &plain);
    }
    settle().await;
    assert_eq!(there_node.0.peer_names(), 0);
    let now = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    assert!(now <= tasks + 1, "{tasks} tasks before, {now} now");
    here_node.register("last", &plain).unwrap();
    here_node.register("also", &plain).unwrap();
    settle().await;
    assert_eq!(there_node.0.peer_names(), 2);
    plain.stop();
    settle().await;
    assert_eq!(there_node.0.peer_names(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_takes_back_names_that_it_never_gave_adds_nothing() {
    let (_system, node, mut puppet) = Puppet::new(|builder| builder).await;
    puppet.up().await;
    for number in 0..5_000 {
        let actor = puppet.actor(1, "Plain");
        puppet.note(&Note::Named { name: format!("name {number}"), actor, is_taken: false });
    }
    settle().await;
    assert_eq!(node.peers().len(), 1);
    assert_eq!(node.0.peer_names(), 0);
}

/// A name, as a peer gives it.
fn named(puppet: &Puppet, name: String, uid: u64) -> Note {
    let actor = puppet.actor(uid, "Plain");
    Note::Named { name, actor, is_taken: true }
}

#[tokio::test(start_paused = true)]
async fn a_peer_may_have_as_many_names_as_there_is_room_for_and_repeat_them() {
    let (system, node, mut puppet) = Puppet::new(|builder| builder).await;
    let mut events = system.events().subscribe();
    puppet.up().await;
    for number in (0..4096).chain([0, 4095]) {
        let news = named(&puppet, format!("name {number}"), number);
        puppet.note(&news);
        if number % 256 == 0 {
            tokio::task::yield_now().await;
        }
    }
    settle().await;
    assert_eq!(node.0.peer_names(), 4096);
    assert_eq!(verdicts(&mut events), Vec::<&str>::new());
    let news = named(&puppet, "one more".to_owned(), 1);
    puppet.note(&news);
    settle().await;
    assert_eq!(verdicts(&mut events), ["broke"]);
    assert_eq!(node.0.peer_names(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_name_and_its_path_have_at_most_2048_bytes() {
    let (system, node, mut puppet) = Puppet::new(|builder| builder).await;
    let mut events = system.events().subscribe();
    let plain = system.spawn("plain", || Plain).unwrap();
    assert_eq!(node.register("a".repeat(2048), &plain), Ok(()));
    assert_eq!(node.register("a".repeat(2049), &plain), Err(RegisterError::TooLong));
    puppet.up().await;
    for (name, verdict) in [("a".repeat(2048), vec![]), ("a".repeat(2049), vec!["broke"])] {
        let news = named(&puppet, name, 1);
        puppet.note(&news);
        settle().await;
        assert_eq!(verdicts(&mut events), verdict);
    }
}

/// Their number alone does not bound their memory.
#[tokio::test(start_paused = true)]
async fn the_contracts_of_a_peer_have_at_most_16_mib_together() {
    let (system, _node, mut puppet) = Puppet::new(|builder| builder).await;
    let mut events = system.events().subscribe();
    puppet.up().await;
    for number in 0..20 {
        assert_eq!(verdicts(&mut events), Vec::<&str>::new(), "after {number} of 1 MB");
        let handler = "h".repeat(1_000_000);
        puppet.note(&Note::Contract { number, actor: "Plain".to_owned(), handler, arguments: Vec::new() });
        settle().await;
        if number == 16 {
            break;
        }
    }
    assert_eq!(verdicts(&mut events), ["broke"]);
}

#[tokio::test(start_paused = true)]
async fn a_proxy_keeps_the_beginning_of_a_long_path() {
    let (_system, node, mut puppet) = Puppet::new(|builder| builder).await;
    let (link, mine) = puppet.linked(&node).await;
    let proxy = link.proxy::<Plain>(mine, 1, &format!("/user/{}", "a".repeat(1 << 20))).unwrap();
    assert_eq!(proxy.path().local().len(), 2048);
    assert!(!proxy.has_ended());
}

/// Extreme settings are clamped.
#[tokio::test(start_paused = true)]
async fn settings_of_any_size_let_a_node_join() {
    for patience in [Duration::ZERO, Duration::MAX] {
        let most = |builder: NodeBuilder| {
            builder.patience(patience).window(u64::MAX).max_message(usize::MAX).limit(usize::MAX)
        };
        let (_system, node, mut puppet) = Puppet::new(most).await;
        puppet.up().await;
        puppet.frames(Vec::new());
        tokio::task::yield_now().await;
        let peers = async {
            while node.peers().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_millis(1), peers).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn refs_that_nobody_holds_do_not_count_towards_the_limit() {
    let (_system, node, mut puppet) = Puppet::new(|builder| builder.limit(300)).await;
    let (link, mine) = puppet.linked(&node).await;
    let held: Vec<_> = (0..170).map(|uid| link.proxy::<Plain>(mine, uid, "/user/a").unwrap()).collect();
    for uid in 1_000..3_000 {
        assert!(link.proxy::<Plain>(mine, uid, "/user/a").is_some(), "the ref {uid}");
        tokio::task::yield_now().await;
    }
    assert_eq!(node.peers().len(), 1);
    let rest: Vec<_> = (5_000..5_130).filter_map(|uid| link.proxy::<Plain>(mine, uid, "/user/a")).collect();
    assert_eq!(held.len() + rest.len(), 300);
    tokio::task::yield_now().await;
    assert!(link.proxy::<Plain>(mine, 9_000, "/user/a").is_none(), "one too many");
    assert_eq!(node.peers().len(), 0);
}

/// A peer whose limit is higher than this node's.
#[tokio::test(start_paused = true)]
async fn a_watch_beyond_the_limit_is_refused_alone_and_a_peer_that_goes_on_is_given_up() {
    let (system, node, mut puppet) = Puppet::new(|builder| builder.limit(3).window(256)).await;
    let mut events = system.events().subscribe();
    let plain = system.spawn("plain", || Plain).unwrap();
    node.register("plain", &plain).unwrap();
    puppet.up().await;
    settle().await;
    let subject = u64::from(plain.core().uid);
    let watch = |puppet: &mut Puppet, watcher: u64| {
        let wire = puppet.actor(watcher, "");
        puppet.frames(vec![Frame::Watch { subject, watcher, body: bytes(&wire).into() }]);
    };
    // 3 are within the limit, and 12 more may be on their way.
    for watcher in 1..=15 {
        watch(&mut puppet, watcher);
        settle().await;
        assert_eq!(verdicts(&mut events), Vec::<&str>::new(), "after {watcher} watches");
        // The node itself waits for the end of the actor that has a name.
        assert_eq!(plain.core().protocol().watchers().count() as u64, 1 + watcher.min(3));
    }
    watch(&mut puppet, 16);
    settle().await;
    assert_eq!(verdicts(&mut events), ["broke"]);
}

/// Watches whom it is told, and writes down how they ended.
struct Watcher(UnboundedSender<HowEnded>);

impl Supervisor for Watcher {
    type Ref = ActorRef<Self>;
    const STASH_CAPACITY: usize = 0;
}

impl Actor for Watcher {
    type Message = ActorRef<Plain>;

    async fn handle(&mut self, other: ActorRef<Plain>, ctx: &mut Context<Self>) -> Result<(), Failure> {
        ctx.watch_unchecked(&other.to_any());
        Ok(())
    }

    async fn terminated(&mut self, gone: Terminated, _: &mut Context<Self>) -> Result<(), Failure> {
        self.0.send(gone.how()).unwrap();
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn the_watcher_of_a_watch_beyond_the_limit_is_told_and_nobody_else() {
    // The limit of the watching node, and that of the other one.
    for (mine, theirs) in [(3, 3), (3, 100), (100, 3)] {
        let network = Network::new(1);
        let (here, there) = (ActorSystem::new("here"), ActorSystem::new("there"));
        let node = |system, limit| Node::builder(system).serve::<Plain>().limit(limit);
        let here_node = node(&here, mine).join(network.transport("here:1")).await.unwrap();
        let _there_node = node(&there, theirs).join(network.transport("there:1")).await.unwrap();
        let mut events = here.events().subscribe();
        let (mut subjects, mut far, mut watchers, mut told) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for name in ["one", "other"] {
            subjects.push(there.spawn(name, || Plain).unwrap());
            let path = format!("supervise://there@there:1/user/{name}");
            far.push(here_node.find::<Plain>(path).await.unwrap());
            let (log, tells) = unbounded_channel();
            watchers.push(here.spawn(name, move || Watcher(log.clone())).unwrap());
            told.push(tells);
        }
        for watcher in &watchers {
            for subject in &far {
                watcher.tell(subject.clone()).unwrap();
                settle().await;
            }
        }
        let mut heard = || -> Vec<Vec<HowEnded>> {
            told.iter_mut().map(|tells| std::iter::from_fn(|| tells.try_recv().ok()).collect()).collect()
        };
        assert_eq!(heard(), [vec![], vec![HowEnded::TooManyWatches]], "limits {mine} and {theirs}");
        assert!(far.iter().all(|subject| !subject.has_ended()));
        assert_eq!(verdicts(&mut events), Vec::<&str>::new());
        // The end of a watched subject makes room for another watch.
        subjects[0].stop();
        settle().await;
        assert_eq!(heard(), [[HowEnded::Graceful], [HowEnded::Graceful]]);
        watchers[1].tell(far[1].clone()).unwrap();
        settle().await;
        subjects[1].stop();
        settle().await;
        assert_eq!(heard(), [[HowEnded::Graceful], [HowEnded::Graceful]]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_join_that_was_given_up_may_be_tried_again() {
    let system = ActorSystem::new("stage");
    {
        let stage = Stage::that_hangs();
        let mut joins = pin!(Node::builder(&system).join(stage));
        assert!(joins.as_mut().poll(&mut TaskContext::from_waker(Waker::noop())).is_pending());
        let second = Node::builder(&system).join(Stage::default()).await;
        assert!(matches!(second, Err(JoinError::Joined(_))), "{second:?}");
    }
    assert!(system.node().is_none());
    Node::builder(&system).join(Stage::default()).await.unwrap();
    assert!(system.node().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_noise_does_not_hold_up_heartbeats() {
    let (_system, node, mut puppet) = Puppet::new(|builder| builder).await;
    puppet.up().await;
    puppet.frames(Vec::new());
    settle().await;
    while puppet.sent.try_recv().is_ok() {}
    let noise = NodeId::new("noise", "noise:1");
    for _ in 0..20_000 {
        puppet.inbox.packet(noise.clone(), vec![0xff; 8]);
    }
    tokio::time::advance(Duration::from_secs(3)).await;
    let mut turns = 0;
    while puppet.sent.try_recv().is_err() {
        turns += 1;
        assert!(turns < 5, "it is still busy with the noise");
        tokio::task::yield_now().await;
    }
    assert_eq!(node.peers().len(), 1);
}

/// Each refusal is answered, even one of a watch that nobody here has.
#[tokio::test(start_paused = true)]
async fn a_peer_that_refuses_watches_for_ever_and_takes_no_answer_is_given_up() {
    let small = |builder: NodeBuilder| builder.limit(3).window(4096).max_message(4096).backlog(0);
    let (system, node, mut puppet) = Puppet::new(small).await;
    let mut events = system.events().subscribe();
    let (link, _) = puppet.linked(&node).await;
    let mut most = 0;
    for round in 0..200 {
        let refused = (0..100).map(|watcher| Frame::NotWatched { subject: round, watcher });
        puppet.frames(refused.collect());
        settle().await;
        most = most.max(link.kept());
        if node.peers().is_empty() {
            break;
        }
    }
    assert!(most <= 3_000, "{most} answers wait");
    assert_eq!(verdicts(&mut events), ["broke"]);
}

#[tokio::test(start_paused = true)]
async fn rem_43_a_peer_of_another_version_is_refused_with_the_reason_and_hears_at_most_one_greeting_a_second() {
    let (system, node, mut puppet) = Puppet::new(|builder| builder).await;
    settle().await;
    let mut events = system.events().subscribe_to(Interest::FAILURES);
    let from = Greeting { versions: (VERSIONS.1 + 1, VERSIONS.1 + 2), ..Puppet::greeting() };
    for second in 0..30 {
        for _ in 0..5 {
            puppet.say(&Packet::Hello { from: from.clone(), mine: MINE });
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let refused: Vec<_> = std::iter::from_fn(|| events.try_recv()).collect();
        let is_told = |event: &Event| matches!(event, Event::NodeRefused { node, why: "version", .. } if **node == *"puppet@puppet:1");
        assert!(!refused.is_empty() && refused.iter().all(is_told), "{refused:?}");
        assert!(node.peers().is_empty());
        let heard = std::iter::from_fn(|| puppet.sent.try_recv().ok()).count();
        assert!(heard <= 1, "{heard} packets in the second {second}");
    }
}

/// Why associations have ended since the last call.
fn verdicts(events: &mut crate::observe::Events) -> Vec<&'static str> {
    let all = std::iter::from_fn(|| events.try_recv());
    all.filter_map(|event| if let Event::NodeDown { why, .. } = event { Some(why) } else { None }).collect()
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_sends_faster_than_the_node_reads_is_given_up_alone() {
    let (system, node, mut puppet) = Puppet::new(|builder| builder).await;
    let mut events = system.events().subscribe();
    let quiet = NodeId::new("quiet", "quiet:1");
    let loud = std::mem::replace(&mut puppet.me, quiet.clone());
    puppet.up().await;
    puppet.me = loud.clone();
    puppet.up().await;
    settle().await;
    assert_eq!(node.peers().len(), 2);
    // The node's task has no turn meanwhile.
    let memory = allocation_counter::measure(|| {
        for _ in 0..200 {
            puppet.inbox.packet(loud.clone(), vec![0xff; 1 << 20]);
        }
        for _ in 0..1_000_000 {
            puppet.inbox.packet(loud.clone(), vec![0xff]);
        }
    });
    assert!(memory.bytes_max < 12 << 20, "{} bytes wait", memory.bytes_max);
    settle().await;
    assert_eq!(verdicts(&mut events), ["broke"]);
    assert_eq!(node.peers(), [quiet]);
    // What it says later is heard.
    puppet.up().await;
    settle().await;
    assert_eq!(node.peers().len(), 2);
}

/// A node that forges the names of others cannot fill the memory either.
#[tokio::test(start_paused = true)]
async fn what_all_peers_together_have_sent_is_bounded() {
    let (_system, node, mut puppet) = Puppet::new(|builder| builder.window(1000).max_message(1000)).await;
    let memory = allocation_counter::measure(|| {
        for number in 0..100_000 {
            let peer = NodeId::new("peer", &format!("peer:{number}"));
            puppet.inbox.packet(peer.clone(), vec![0xff; 1000]);
            puppet.inbox.appeared(peer.clone(), 1);
            puppet.inbox.vanished(peer, 1);
        }
    });
    assert!(memory.bytes_max < 100 << 20, "{} bytes wait", memory.bytes_max);
    settle().await;
    puppet.up().await;
    settle().await;
    assert!(node.peers().contains(&puppet.me));
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_talks_and_does_not_listen_piles_up_nothing() {
    let (_system, node, mut puppet) = Puppet::with_room(2, |builder| builder).await;
    puppet.up().await;
    puppet.frames(Vec::new());
    for number in 0..5_000 {
        puppet.say(&Packet::Hello { from: Puppet::greeting(), mine: number });
        puppet.say(&Packet::Frames { to: 1, from: 2, sequence: 0, acknowledged: 0, frames: Vec::new() });
    }
    settle().await;
    let waits = node.0.link_of("puppet@puppet:1").unwrap().outbox();
    assert!(waits <= 4100, "{waits} packets wait for room");
}

/// An engine always has room for that much.
#[tokio::test(start_paused = true)]
async fn packets_are_sent_at_once_only_while_little_is_under_way() {
    let (_system, node, mut puppet) = Puppet::new(|builder| builder).await;
    puppet.up().await;
    puppet.frames(Vec::new());
    settle().await;
    let link = node.0.link_of("puppet@puppet:1").unwrap();
    let (mine, _) = link.numbers().unwrap();
    let (at_once, frame) = (Arc::clone(&puppet.at_once), Frame::Note(vec![0; 4064].into()));
    assert_eq!(frame.size(), 4096);
    let sends = || {
        let before = at_once.load(SeqCst);
        link.send(mine, frame.clone()).unwrap();
        link.flush();
        at_once.load(SeqCst) - before
    };
    assert_eq!([(); 6].map(|()| sends()), [1, 1, 1, 1, 0, 0]);
    let (to, sequence) = (puppet.to, puppet.sequence);
    puppet.say(&Packet::Frames { to, from: MINE, sequence, acknowledged: 6 * 4096, frames: Vec::new() });
    settle().await;
    assert_eq!(sends(), 1);
}

/// What so many peers that say nothing but that they are alive cost in a second.
async fn cost_of_peers(count: usize) -> Duration {
    let (_system, node, mut puppet) = Puppet::new(|builder| builder).await;
    let mut peers = Vec::new();
    for number in 0..count {
        puppet.me = NodeId::new("peer", &format!("peer:{number}"));
        puppet.up().await;
        peers.push((puppet.me.clone(), puppet.to));
    }
    let mut least = Duration::MAX;
    for sequence in 0..20 {
        let began = Instant::now();
        for (peer, to) in &peers {
            let (to, frames) = (*to, Vec::new());
            let packet = Packet::Frames { to, from: MINE, sequence, acknowledged: 0, frames };
            puppet.inbox.packet(peer.clone(), encode(&packet));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        while puppet.sent.try_recv().is_ok() {}
        least = least.min(began.elapsed());
    }
    assert_eq!(node.peers().len(), count);
    least
}

#[tokio::test(start_paused = true)]
async fn four_times_the_peers_cost_about_four_times_as_much() {
    let (few, many) = (cost_of_peers(1000).await, cost_of_peers(4000).await);
    assert!(many < few * 12, "{few:?} and {many:?}");
}
