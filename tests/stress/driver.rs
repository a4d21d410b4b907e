//! Drives a run: hands out jobs, tracks which nodes exist, and ends the run in order.
//!
//! ```text
//!   grow ──all ready──► stress ──no jobs left──► finish ──all answered, all well──► fell ──head gone──► done
//! ```

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use supervise::console::Console;
use supervise::prelude::*;
use supervise::testkit;
use tokio::sync::mpsc;

use crate::injected::Injected;
use crate::node::{NodeRef, Top, TopRef};
use crate::profile::Profile;
use crate::world::{Phase, Place, Report, World, is_within};

/// How long the driver waits for any report before it fails the run.
const PATIENCE: Duration = Duration::from_secs(45);

/// The name of the uppermost node.
const HEAD: &str = "head";

/// Why a run failed: the place, and what the driver observed.
struct Defect {
    place: Place,
    what: String,
}

struct Driver {
    world: Arc<World>,
    reports: mpsc::UnboundedReceiver<Report>,
    rng: fastrand::Rng,
    known: HashMap<Place, Known>,
    /// The nodes without an unanswered ping.
    idle: Vec<Place>,
    /// All.
    active: Vec<Place>,
    /// Pings that are not answered yet.
    outstanding: usize,
    /// A node that answers now is not asked again.
    last_round: bool,
    ever: Vec<NodeRef>,
    pings: u64,
    injections: u64,
}

struct Known {
    node: NodeRef,
    /// Messages sent.
    sent: u64,
    pinged: bool,
}

/// Runs a profile to its end.
///
/// # Panics
///
/// With the seed and the logs around the defect, if there is one.
pub(crate) fn run(name: &str, profile: Profile) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let began = Instant::now();
        let system = ActorSystem::new("stress");
        let (tell, reports) = mpsc::unbounded_channel();
        let world = Arc::new(World::new(profile, tell));
        let mut driver = Driver::new(Arc::clone(&world), reports);
        let over = Arc::new(AtomicBool::new(false));
        let looker = profile.looked_at.then(|| looker(&system, Arc::clone(&over)));
        let outcome = driver.drive(&system).await;
        over.store(true, Ordering::Relaxed);
        let looks = looker.map(|looker| looker.join().expect("it looks"));
        if let Err(Defect { place, what }) = outcome {
            panic!(
                "{place}: {what}\nseed {}, {profile:?}\nso far {}\n{}",
                profile.seed,
                driver.summary(),
                world.story(&place)
            );
        }
        println!("{name}: seed {}, {} in {:.1?}", profile.seed, driver.summary(), began.elapsed());
        assert!(looks.is_none_or(|looks| looks > 0), "nobody looked");
        drop(driver);
        system.terminate().await;
        assert!(tasks_end().await, "tasks are left, seed {}", profile.seed);
        assert_eq!(world.instances.load(Ordering::SeqCst), 0, "instances are left, seed {}", profile.seed);
    });
}

/// Looks without pause until it is over, and says how often.
fn looker(system: &ActorSystem, over: Arc<AtomicBool>) -> JoinHandle<u64> {
    let mut watch = Console::of(system).by_hand();
    thread::spawn(move || {
        let mut looks = 0;
        while !over.load(Ordering::Relaxed) {
            watch.look();
            looks += 1;
        }
        looks
    })
}

impl Driver {
    fn new(world: Arc<World>, reports: mpsc::UnboundedReceiver<Report>) -> Self {
        Self {
            rng: fastrand::Rng::with_seed(world.profile.seed),
            world,
            reports,
            known: HashMap::new(),
            idle: Vec::new(),
            active: Vec::new(),
            outstanding: 0,
            last_round: false,
            ever: Vec::new(),
            pings: 0,
            injections: 0,
        }
    }

    async fn drive(&mut self, system: &ActorSystem) -> Result<(), Defect> {
        let top = system.spawn_with("top", Top::props(Arc::clone(&self.world), HEAD.into())).unwrap();
        let head = self.grow(&top).await?;
        self.stress().await?;
        self.world.enter(Phase::Finishing);
        self.finish().await?;
        self.world.enter(Phase::Dying);
        self.fell(&head).await?;
        if top.actor_ref().has_ended() {
            return Err(Self::defect("the driver ended (I9)"));
        }
        Ok(())
    }

    // ---- the phases ----------------------------------------------------------------------------------------------

    async fn grow(&mut self, top: &TopRef) -> Result<NodeRef, Defect> {
        let head = top.plant().await.map_err(|error| Self::defect(error.to_string()))?;
        while self.active.len() < self.world.profile.size {
            self.note_next().await?;
        }
        if self.ever.len() > self.world.profile.size {
            return Err(Self::defect("the children are not unique (I7)"));
        }
        Ok(head)
    }

    async fn stress(&mut self) -> Result<(), Defect> {
        for _ in 0..self.world.profile.items {
            self.note_all()?;
            while self.idle.len() < self.world.profile.keeps_idle {
                self.note_next().await?;
            }
            if self.rng.bool() {
                let at = self.rng.usize(..self.idle.len());
                let place = self.idle.swap_remove(at);
                self.ping(&place);
            } else {
                let at = self.rng.usize(..self.active.len());
                self.injected(at);
            }
            tokio::task::coop::consume_budget().await;
        }
        Ok(())
    }

    /// Every node answers once more, and then no ping is open (I6).
    async fn finish(&mut self) -> Result<(), Defect> {
        while self.outstanding > 0 {
            self.note_next().await?;
        }
        self.last_round = true;
        let mut well = 0;
        while well < 3 {
            self.note_all()?;
            while let Some(place) = self.idle.pop() {
                self.ping(&place);
            }
            if self.outstanding > 0 || self.active.len() < self.world.profile.size {
                well = 0;
                self.note_next().await?;
            } else {
                well = if self.all_are_well() { well + 1 } else { 0 };
                self.pause().await?;
            }
        }
        Ok(())
    }

    /// The tree ends from its leaves up (I8).
    async fn fell(&mut self, head: &NodeRef) -> Result<(), Defect> {
        if head.ping_of_death().tell().is_err() {
            return Err(Self::defect("the head is gone before its time"));
        }
        while !self.note_next().await? {}
        self.note_all()?;
        let undead = self.ever.iter().filter(|node| !node.actor_ref().has_ended()).count();
        if undead > 0 {
            return Err(Self::defect(format!("{undead} nodes are not dead (I8)")));
        }
        Ok(())
    }

    // ---- jobs ----------------------------------------------------------------------------------------------------

    fn ping(&mut self, place: &Place) {
        let Some(known) = self.known.get_mut(place) else { return };
        known.pinged = true;
        known.sent += 1;
        self.pings += 1;
        self.outstanding += 1;
        let (world, place, node) = (Arc::clone(&self.world), Arc::clone(place), known.node.clone());
        let answer = node.ping(known.sent).ask();
        tokio::spawn(async move {
            let answer = match answer {
                Ok(answer) => answer.await,
                Err(refused) => Err(refused.reason().into()),
            };
            world.report(Report::Pong(place, node, answer));
        });
    }

    fn injected(&mut self, at: usize) {
        let Some(known) = self.known.get_mut(&self.active[at]) else { return };
        known.sent += 1;
        self.injections += 1;
        let injected = Injected::draw(&self.world.profile, &mut self.rng);
        // A node that has ended is removed from the list when its parent reports that.
        let _ended = known.node.suffer(known.sent, injected).tell();
    }

    /// No node is suspended, none has deferred anything, and none has ended.
    fn all_are_well(&self) -> bool {
        self.known.values().all(|known| {
            testkit::suspensions(&known.node) == 0
                && testkit::deferrals(&known.node) == 0
                && !known.node.actor_ref().has_ended()
        })
    }

    // ---- reports -------------------------------------------------------------------------------------------------

    fn note_all(&mut self) -> Result<(), Defect> {
        while let Ok(report) = self.reports.try_recv() {
            self.note(report)?;
        }
        Ok(())
    }

    /// Waits for a report. Returns whether the head has ended.
    async fn note_next(&mut self) -> Result<bool, Defect> {
        match tokio::time::timeout(PATIENCE, self.reports.recv()).await {
            Ok(Some(report)) => self.note(report),
            Ok(None) => unreachable!("the world holds a sender"),
            Err(_) => Err(self.stuck()),
        }
    }

    /// Gives the nodes time, and handles the reports that come meanwhile.
    async fn pause(&mut self) -> Result<(), Defect> {
        match tokio::time::timeout(Duration::from_millis(5), self.reports.recv()).await {
            Ok(Some(report)) => self.note(report).map(|_| ()),
            Ok(None) | Err(_) => Ok(()),
        }
    }

    fn note(&mut self, report: Report) -> Result<bool, Defect> {
        match report {
            Report::Violation(place, what) => return Err(Defect { place, what }),
            Report::HeadGone if self.world.phase() == Phase::Dying => return Ok(true),
            Report::HeadGone => return Err(Self::defect("the head is gone")),
            Report::Ready(place, node) => self.ready(place, node)?,
            Report::Died(place) => self.strike(&place),
            Report::Pong(place, node, answer) => self.pong(place, &node, answer)?,
        }
        Ok(false)
    }

    fn ready(&mut self, place: Place, node: NodeRef) -> Result<(), Defect> {
        if let Some(known) = self.known.get(&place) {
            // One that failed to start starts again.
            return if known.node == node {
                Ok(())
            } else {
                Err(Defect { place, what: "there are two of it (I7)".to_owned() })
            };
        }
        self.ever.push(node.clone());
        self.known.insert(Arc::clone(&place), Known { node, sent: 0, pinged: false });
        self.idle.push(Arc::clone(&place));
        self.active.push(place);
        Ok(())
    }

    /// Forgets a node and all nodes below it.
    fn strike(&mut self, dead: &Place) {
        let known = &mut self.known;
        self.active.retain(|place| {
            let stays = !is_within(place, dead);
            if !stays {
                known.remove(place);
            }
            stays
        });
        self.idle.retain(|place| !is_within(place, dead));
    }

    fn pong(&mut self, place: Place, node: &NodeRef, answer: Result<(), AskError>) -> Result<(), Defect> {
        self.outstanding -= 1;
        match answer {
            Ok(()) => {
                if let Some(known) = self.known.get_mut(&place)
                    && known.node == *node
                {
                    known.pinged = false;
                    if !self.last_round {
                        self.idle.push(place);
                    }
                }
                Ok(())
            }
            Err(error) if error.has_stopped() && node.actor_ref().has_ended() => Ok(()),
            Err(error) => Err(Defect { place, what: format!("a ping is answered with {error} (I6)") }),
        }
    }

    // ---- what to tell --------------------------------------------------------------------------------------------

    fn defect(what: impl Into<String>) -> Defect {
        Defect { place: HEAD.into(), what: what.into() }
    }

    fn stuck(&self) -> Defect {
        let unwell = self.known.iter().find(|(_, known)| {
            known.pinged || testkit::suspensions(&known.node) > 0 || testkit::deferrals(&known.node) > 0
        });
        let (place, what) = match unwell {
            None => (HEAD.into(), String::new()),
            Some((place, known)) => (
                Arc::clone(place),
                format!(
                    "pinged {}, suspended {} times, {} deferred, ended {}",
                    known.pinged,
                    testkit::suspensions(&known.node),
                    testkit::deferrals(&known.node),
                    known.node.actor_ref().has_ended()
                ),
            ),
        };
        let (active, size) = (self.active.len(), self.world.profile.size);
        Defect { place, what: format!("nothing happens any more (I5, I6); {active} of {size} nodes; {what}") }
    }

    fn summary(&self) -> String {
        let count = &self.world.count;
        let read = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
        format!(
            "{} pings, {} failures sent and {} suffered, {} escalations, {} restarts, {} nodes replaced ({} in all), \
             {} hooks and {} factories failed",
            self.pings,
            self.injections,
            read(&count.suffered),
            read(&count.escalations),
            read(&count.restarts),
            read(&count.replacements),
            self.ever.len(),
            read(&count.failed_hooks),
            read(&count.failed_factories),
        )
    }
}

/// Waits for the end of all tasks, but not for ever. The runtime counts them, but does not report the count.
async fn tasks_end() -> bool {
    let tasks = tokio::runtime::Handle::current().metrics();
    let none = async {
        while tasks.num_alive_tasks() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, none).await.is_ok()
}
