//! Watches that cross refusals, ends and verdicts: each is told once, and nothing of it is left on either node.
//!
//! Rule 26.4.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Waker};
use std::time::Duration;

use fastrand::Rng;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::super::association::{Frame, Input, Packet};
use super::super::codec::{Abandon, ok};
use super::super::memory::{Faults, Network};
use super::super::remote_actor::Nobody;
use super::super::wire::{FindAnswer, WireEnd, bytes};
use super::super::{FindError, Node};
use super::puppet::{MINE, Puppet};
use super::{Plain, settle};
use crate::actor::{Actor, ActorRef, ActorSystem, Context, EndReason, Supervisor, System, Terminated};
use crate::base::Uid;
use crate::failure::Failure;
use crate::supervision::{ChildId, HowEnded};

/// Watches whom it is told, and notes how they ended.
struct Fickle {
    open: Open,
    told: UnboundedSender<Terminated>,
}

/// The subjects that a watcher watches now: the uid of its ref, and the uid on the subject's node.
type Open = Arc<Mutex<HashMap<Uid, u64>>>;

enum Wish {
    Watch(ActorRef<Plain>, u64),
    Unwatch(ActorRef<Plain>),
}

impl Supervisor for Fickle {
    type Ref = ActorRef<Self>;
    const STASH_CAPACITY: usize = 0;
}

impl Actor for Fickle {
    type Message = Wish;

    async fn handle(&mut self, wish: Wish, ctx: &mut Context<Self>) -> Result<(), Failure> {
        let mut open = self.open.lock().unwrap();
        match wish {
            Wish::Watch(subject, id) => {
                open.insert(subject.uid(), id);
                ctx.watch_unchecked(&subject.to_any());
            }
            Wish::Unwatch(subject) => {
                open.remove(&subject.uid());
                ctx.unwatch(&subject);
            }
        }
        Ok(())
    }

    async fn terminated(&mut self, gone: Terminated, _: &mut Context<Self>) -> Result<(), Failure> {
        let was_open = self.open.lock().unwrap().remove(&gone.subject().uid());
        assert!(was_open.is_some(), "it is told of {gone:?}, which it does not watch");
        let _over = self.told.send(gone);
        Ok(())
    }
}

struct Watcher {
    actor: ActorRef<Fickle>,
    open: Open,
    told: UnboundedReceiver<Terminated>,
}

impl Watcher {
    fn new(system: &ActorSystem, name: &str) -> Self {
        let (tell, told) = unbounded_channel();
        let open = Open::default();
        let actor = {
            let open = Arc::clone(&open);
            system.spawn(name, move || Fickle { open: Arc::clone(&open), told: tell.clone() }).unwrap()
        };
        Self { actor, open, told }
    }

    fn watch(&self, subject: &ActorRef<Plain>) {
        self.actor.tell(Wish::Watch(subject.clone(), 0)).unwrap();
    }

    fn unwatch(&self, subject: &ActorRef<Plain>) {
        self.actor.tell(Wish::Unwatch(subject.clone())).unwrap();
    }

    /// How the subjects ended of which it was told since the last call.
    fn heard(&mut self) -> Vec<HowEnded> {
        std::iter::from_fn(|| self.told.try_recv().ok()).map(|gone| gone.how()).collect()
    }
}

async fn join(network: &Network, name: &str, limit: usize) -> (ActorSystem, Node) {
    let system = ActorSystem::new(name);
    let joins = Node::builder(&system).serve::<Plain>().limit(limit).join(network.transport(&format!("{name}:1")));
    let node = joins.await.unwrap();
    (system, node)
}

/// A subject, and a ref to it from another node.
async fn subject(system: &ActorSystem, name: &str, from: &Node) -> (ActorRef<Plain>, ActorRef<Plain>) {
    let here = system.spawn(name, || Plain).unwrap();
    let at = system.name();
    (here, from.find::<Plain>(format!("supervise://{at}@{at}:1/user/{name}")).await.unwrap())
}

/// How many frames, asks and watches a node keeps for its peers.
fn kept(node: &Node) -> usize {
    node.0.all_links().iter().map(|link| link.kept()).sum()
}

fn watchers(subject: &ActorRef<Plain>) -> usize {
    subject.core().protocol().watchers().count()
}

/// The peer refuses the first watch. When the second one arrives, there is room for it.
#[tokio::test(start_paused = true)]
async fn a_watch_again_that_crosses_the_refusal_leaves_nothing_behind() {
    let network = Network::new(1);
    let ((here, here_node), (there, there_node)) =
        (join(&network, "here", 100).await, join(&network, "there", 3).await);
    let mut takes_place = Vec::new();
    for name in ["one", "two", "three"] {
        takes_place.push(subject(&there, name, &here_node).await);
    }
    drop(takes_place.pop());
    let (other, far) = subject(&there, "other", &here_node).await;
    let (mut first, mut second) = (Watcher::new(&here, "first"), Watcher::new(&here, "second"));
    for (_, far) in &takes_place {
        first.watch(far);
    }
    first.watch(&far);
    settle().await;
    assert_eq!((kept(&here_node), kept(&there_node)), (3, 3));
    let delay = Duration::from_millis(100);
    network.set_faults(Faults { delay: (delay, delay), ..Faults::default() });
    second.watch(&far);
    tokio::time::sleep(delay / 2).await;
    second.unwatch(&far);
    second.watch(&far);
    tokio::time::sleep(delay * 3 / 4).await;
    // The first watch was refused, and the second is on its way.
    takes_place[0].0.stop();
    settle().await;
    assert_eq!(first.heard(), [HowEnded::Graceful]);
    assert_eq!(second.heard(), [HowEnded::TooManyWatches]);
    assert_eq!((kept(&here_node), kept(&there_node), watchers(&other)), (2, 2, 1));
    // There is room for a watch now.
    second.watch(&far);
    settle().await;
    assert_eq!((kept(&here_node), kept(&there_node), watchers(&other)), (3, 3, 2));
    other.stop();
    settle().await;
    assert_eq!((first.heard(), second.heard()), (vec![HowEnded::Graceful], vec![HowEnded::Graceful]));
    assert_eq!((kept(&here_node), kept(&there_node)), (1, 1));
}

/// The news of a refusal may wait behind messages that wait for room in the watcher's mailbox. Meanwhile, another watch may begin.
#[tokio::test(start_paused = true)]
async fn the_late_news_of_a_refusal_ends_the_watch_that_it_meets() {
    let network = Network::new(1);
    let ((here, here_node), (there, there_node)) =
        (join(&network, "here", 100).await, join(&network, "there", 100).await);
    let (other, far) = subject(&there, "other", &here_node).await;
    let mut watcher = Watcher::new(&here, "watcher");
    watcher.watch(&far);
    settle().await;
    assert_eq!((kept(&here_node), kept(&there_node), watchers(&other)), (1, 1, 1));
    let how = HowEnded::TooManyWatches;
    watcher.actor.to_any().send_system(System::Ended { subject: far.to_any(), child: None, how });
    settle().await;
    assert_eq!(watcher.heard(), [HowEnded::TooManyWatches]);
    assert_eq!((kept(&here_node), kept(&there_node), watchers(&other)), (0, 0, 0));
    watcher.watch(&far);
    settle().await;
    other.stop();
    settle().await;
    assert_eq!(watcher.heard(), [HowEnded::Graceful]);
}

/// Watches an actor, and once more when that is refused.
struct Stubborn {
    far: ActorRef<Plain>,
    told: UnboundedSender<Terminated>,
}

impl Supervisor for Stubborn {
    type Ref = ActorRef<Self>;
    const STASH_CAPACITY: usize = 0;
}

impl Actor for Stubborn {
    type Message = Wish;

    async fn pre_start(&mut self, ctx: &mut Context<Self>) -> Result<(), Failure> {
        ctx.watch_unchecked(&self.far.to_any());
        Ok(())
    }

    async fn handle(&mut self, _: Wish, _: &mut Context<Self>) -> Result<(), Failure> {
        Ok(())
    }

    async fn terminated(&mut self, gone: Terminated, ctx: &mut Context<Self>) -> Result<(), Failure> {
        if gone.how() == HowEnded::TooManyWatches {
            ctx.watch_unchecked(&self.far.to_any());
        }
        let _over = self.told.send(gone);
        Ok(())
    }
}

/// An actor has two refs, if it became known as a watcher before its type was known. They have a task each, and the news of its
/// watches names the first one.
#[tokio::test(start_paused = true)]
async fn a_watch_through_the_second_ref_of_an_actor_outlasts_the_refusal_of_an_earlier_one() {
    let (system, node, mut puppet) = Puppet::new(|builder| builder).await;
    let (link, mine) = puppet.linked(&node).await;
    let first = link.proxy::<Nobody>(mine, 1_000, "/user/a").unwrap();
    let far = link.proxy::<Plain>(mine, 1_000, "/user/a").unwrap();
    let (tell, mut told) = unbounded_channel();
    let watcher = {
        let far = far.clone();
        system.spawn("watcher", move || Stubborn { far: far.clone(), told: tell.clone() }).unwrap()
    };
    settle().await;
    assert_eq!(kept(&node), 1);
    let how = HowEnded::TooManyWatches;
    watcher.to_any().send_system(System::Ended { subject: first.to_any(), child: None, how });
    // The second ref has its turn before the first one.
    far.to_any().send_system(System::ResetBackoff(ChildId::ROOT));
    settle().await;
    assert_eq!(told.try_recv().unwrap().how(), how);
    assert_eq!(kept(&node), 1, "the second watch stays");
}

#[tokio::test(start_paused = true)]
async fn who_watches_the_second_ref_of_an_actor_is_told_of_that_ref() {
    let (system, node, mut puppet) = Puppet::new(|builder| builder).await;
    let (link, mine) = puppet.linked(&node).await;
    let _first = link.proxy::<Nobody>(mine, 1_000, "/user/a").unwrap();
    let far = link.proxy::<Plain>(mine, 1_000, "/user/a").unwrap();
    let mut watcher = Watcher::new(&system, "watcher");
    watcher.watch(&far);
    settle().await;
    let body = bytes(&WireEnd::new(HowEnded::Graceful, &EndReason::Stopped)).into();
    puppet.frames(vec![Frame::Ended { subject: 1_000, watcher: watcher.actor.uid().into(), body }]);
    settle().await;
    let gone = watcher.told.try_recv().unwrap();
    assert!(matches!(gone.reason(), EndReason::Stopped), "{gone:?}");
    assert!(gone.downcast::<Plain>().is_ok(), "its type is known");
}

/// Ends the association when it is dropped.
struct Breaks(Arc<super::super::link::Link>);

impl Drop for Breaks {
    fn drop(&mut self) {
        self.0.step(Input::Broke);
    }
}

impl fmt::Debug for Breaks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Breaks")
    }
}

impl fmt::Display for Breaks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it breaks")
    }
}

impl std::error::Error for Breaks {}

/// The association ends while the ref has its turn, after it has looked whether there is one.
#[tokio::test(start_paused = true)]
async fn a_watch_that_meets_the_end_of_its_association_is_told() {
    let (system, node, mut puppet) = Puppet::new(|builder| builder).await;
    let (link, mine) = puppet.linked(&node).await;
    let far = link.proxy::<Plain>(mine, 1_000, "/user/a").unwrap();
    let mut watcher = Watcher::new(&system, "watcher");
    settle().await;
    // Both wait for the same turn.
    watcher.watch(&far);
    far.to_any().send_system(System::Resume(Some(Failure::new(Breaks(Arc::clone(&link))))));
    settle().await;
    assert!(far.has_ended());
    assert_eq!(watcher.heard(), [HowEnded::Unreachable]);
}

/// A packet, and the end of its association before the packet was carried out.
fn and_the_end(puppet: &mut Puppet, frame: Frame) {
    puppet.frames(vec![frame]);
    puppet.say(&Packet::Goodbye { to: puppet.to, from: MINE });
}

#[tokio::test(start_paused = true)]
async fn an_end_that_arrives_right_before_the_verdict_is_told_as_it_was() {
    let (system, node, mut puppet) = Puppet::new(|builder| builder).await;
    let (link, mine) = puppet.linked(&node).await;
    let far = link.proxy::<Plain>(mine, 1_000, "/user/a").unwrap();
    let mut watcher = Watcher::new(&system, "watcher");
    watcher.watch(&far);
    settle().await;
    let body = bytes(&WireEnd::new(HowEnded::Aborted, &EndReason::Stopped)).into();
    let watcher_uid = watcher.actor.uid().into();
    and_the_end(&mut puppet, Frame::Ended { subject: 1_000, watcher: watcher_uid, body });
    settle().await;
    let gone = watcher.told.try_recv().unwrap();
    assert_eq!((gone.how(), gone.path()), (HowEnded::Aborted, far.path()));
    assert!(matches!(gone.reason(), EndReason::Stopped), "{gone:?}");
    assert!(gone.downcast::<Plain>().is_ok(), "its type is known");
    assert!(watcher.told.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn an_unwatch_that_arrives_right_before_the_verdict_leaves_no_watcher_behind() {
    let (system, node, mut puppet) = Puppet::new(|builder| builder).await;
    let plain = system.spawn("plain", || Plain).unwrap();
    node.register("plain", &plain).unwrap();
    puppet.up().await;
    settle().await;
    let (subject, watcher) = (plain.uid().into(), 5);
    let wire = puppet.actor(watcher, "");
    puppet.frames(vec![Frame::Watch { subject, watcher, body: bytes(&wire).into() }]);
    settle().await;
    // The node itself waits for the end of the actor that has a name.
    assert_eq!(watchers(&plain), 2);
    and_the_end(&mut puppet, Frame::Unwatch { subject, watcher });
    settle().await;
    assert_eq!(watchers(&plain), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_arrives_right_before_the_verdict_reaches_its_asker() {
    let (_system, node, mut puppet) = Puppet::new(|builder| builder).await;
    puppet.up().await;
    settle().await;
    let path = "supervise://puppet@puppet:1/user/a";
    let mut finds = node.find::<Plain>(path);
    assert!(finds.as_mut().poll(&mut TaskContext::from_waker(Waker::noop())).is_pending());
    let answer = ok(&FindAnswer::Nobody).unwrap();
    and_the_end(&mut puppet, Frame::Answer { ask: 1, body: answer.into() });
    assert_eq!(finds.await.unwrap_err(), FindError::NotFound(path.to_owned()));
}

/// An asker at a peer.
#[derive(Default)]
struct Asker(AtomicBool);

impl Abandon for Asker {
    fn abandon(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A peer that was started again counts its asks anew.
#[tokio::test(start_paused = true)]
async fn an_answer_of_an_earlier_association_does_not_touch_the_asks_of_the_next() {
    let (_system, node, mut puppet) = Puppet::new(|builder| builder).await;
    let (link, earlier) = puppet.linked(&node).await;
    puppet.say(&Packet::Goodbye { to: puppet.to, from: MINE });
    puppet.again().await;
    let (mine, _) = link.numbers().unwrap();
    let asker = Arc::new(Asker::default());
    link.answering(mine, 1, Arc::clone(&asker) as _);
    link.answer(earlier, 1, Vec::new());
    link.given_up(mine, 1);
    assert!(asker.0.load(Ordering::SeqCst), "its asker has given up");
}

/// A node of the random run, with its actors.
struct Place {
    name: &'static str,
    limit: usize,
    system: ActorSystem,
    node: Node,
    subjects: Vec<ActorRef<Plain>>,
    watchers: Vec<Watcher>,
    /// Refs to subjects of other nodes, also earlier ones, and the uids that those have there.
    refs: Vec<(ActorRef<Plain>, u64)>,
}

impl Place {
    async fn new(network: &Network, name: &'static str, limit: usize) -> Self {
        let (system, node) = join(network, name, limit).await;
        let subjects = (0..8).map(|at| system.spawn(format!("subject-{at}"), || Plain).unwrap()).collect();
        let watchers = (0..12).map(|at| Watcher::new(&system, &format!("watcher-{at}"))).collect();
        Self { name, limit, system, node, subjects, watchers, refs: Vec::new() }
    }

    /// For which subjects of other nodes the watchers wait.
    fn open(&self) -> Vec<u64> {
        self.watchers
            .iter()
            .flat_map(|watcher| watcher.open.lock().unwrap().values().copied().collect::<Vec<_>>())
            .collect()
    }
}

/// Watchers hear of each watch at most once, which they check themselves. In the end, exactly the watches that are open are kept.
async fn random_watches(seed: u64) -> (usize, usize) {
    let mut random = Rng::with_seed(seed);
    let network = Network::new(seed);
    let millis = Duration::from_millis;
    network.set_faults(Faults { delay: (millis(1), millis(50)), ..Faults::default() });
    let limits = [[60, 30], [30, 60], [40, 40]][random.usize(..3)];
    let mut places =
        vec![Place::new(&network, "here", limits[0]).await, Place::new(&network, "there", limits[1]).await];
    // The systems of nodes that were killed.
    let mut graves = Vec::new();
    let (mut refused, mut ended) = (0, 0);
    for _ in 0..1500 {
        let at = random.usize(..2);
        match random.u32(..1000) {
            0..60 => {
                let subject = random.usize(..8);
                let path = {
                    let peer = places[1 - at].name;
                    format!("supervise://{peer}@{peer}:1/user/subject-{subject}")
                };
                if let Ok(far) = places[at].node.find::<Plain>(path).await {
                    let id = places[1 - at].subjects[subject].uid().into();
                    let refs = &mut places[at].refs;
                    if refs.len() == 8 {
                        refs.remove(random.usize(..8));
                    }
                    refs.push((far, id));
                }
            }
            60..80 => {
                let place = &mut places[at];
                let subject = random.usize(..8);
                place.subjects[subject].stop();
                place.system.ended(&place.subjects[subject]).await;
                tokio::time::sleep(millis(1)).await;
                place.subjects[subject] = place.system.spawn(format!("subject-{subject}"), || Plain).unwrap();
            }
            80..82 => {
                let (name, limit) = (places[at].name, places[at].limit);
                network.kill(&format!("{name}:1"));
                let next = Place::new(&network, name, limit).await;
                graves.push(std::mem::replace(&mut places[at], next));
            }
            82..84 => {
                let (name, limit) = (places[at].name, places[at].limit);
                places[at].system.terminate().await;
                places[at] = Place::new(&network, name, limit).await;
            }
            _ => {
                let place = &places[at];
                if !place.refs.is_empty() {
                    let (far, id) = &place.refs[random.usize(..place.refs.len())];
                    let watcher = &place.watchers[random.usize(..12)];
                    for _ in 0..random.usize(1..4) {
                        let wish = if random.u8(..3) > 0 {
                            Wish::Watch(far.clone(), *id)
                        } else {
                            Wish::Unwatch(far.clone())
                        };
                        watcher.actor.tell(wish).unwrap();
                    }
                }
            }
        }
        if random.u8(..4) == 0 {
            tokio::time::sleep(millis(random.u64(..40))).await;
        }
        for watcher in &mut places[at].watchers {
            let heard = watcher.heard();
            ended += heard.len();
            refused += heard.iter().filter(|how| **how == HowEnded::TooManyWatches).count();
        }
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    let open = [places[0].open(), places[1].open()];
    for at in [0, 1] {
        let place = &places[at];
        assert_eq!(place.node.peers().len(), 1, "seed {seed}: they have met again");
        for subject in &place.subjects {
            let waiting = open[1 - at].iter().filter(|id| **id == u64::from(subject.uid())).count();
            assert_eq!(watchers(subject), waiting, "seed {seed}: {} at {}", subject.path(), place.name);
        }
        assert_eq!(kept(&place.node), open[0].len() + open[1].len(), "seed {seed}: {} keeps", place.name);
    }
    for place in &places {
        place.subjects.iter().for_each(ActorRef::stop);
    }
    settle().await;
    assert_eq!([places[0].open(), places[1].open()], [vec![], vec![]], "seed {seed}: all are told");
    assert_eq!([kept(&places[0].node), kept(&places[1].node)], [0, 0]);
    (refused, ended)
}

#[tokio::test(start_paused = true)]
async fn whatever_watches_meet_each_is_told_once_and_nothing_is_left() {
    let (mut refused, mut ended) = (0, 0);
    for seed in 0..5 {
        let (of_these, of_all) = random_watches(seed).await;
        refused += of_these;
        ended += of_all;
    }
    assert!(refused > 0 && ended > 2 * refused, "{ended} ends, {refused} of them refusals");
}
