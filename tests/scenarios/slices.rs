//! What an actor does for thousands of others in one step leaves turns to its neighbours.
//!
//! Rules 1.9, 6.3, 6.6, 8.1.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use supervise::prelude::*;
use supervise::{Backoff, Directive, Props, Strategy, Terminated};
use tokio::sync::Notify;

const MANY: usize = 20_000;

/// How many actors one actor tells, or how many messages it drops, in one turn.
const ONE_SLICE: usize = 4_096;

/// How many system messages one actor handles in one turn.
const ONE_TURN: usize = 128;

#[derive(Debug, thiserror::Error)]
#[error("as told")]
struct AsTold;

/// How many of `MANY` things have happened, and how many turns a neighbour had in the meantime.
#[derive(Debug, Clone, Default)]
struct Count {
    done: Arc<AtomicUsize>,
    turns: Arc<AtomicUsize>,
    all_done: Arc<Notify>,
}

impl Count {
    fn one(&self) {
        self.done.fetch_add(1, Ordering::SeqCst);
    }

    /// Lets a neighbour count its turns until all has happened.
    async fn neighbour_has_its_turns(&self, system: &ActorSystem, begin: impl FnOnce()) {
        self.neighbour_has_a_turn_after_each(ONE_SLICE, system, begin).await;
    }

    async fn neighbour_has_a_turn_after_each(&self, slice: usize, system: &ActorSystem, begin: impl FnOnce()) {
        let count = self.clone();
        let neighbour = system.spawn("neighbour", move || Neighbour { count: count.clone() }).unwrap();
        neighbour.turn().tell().unwrap();
        begin();
        self.all_done.notified().await;
        let turns = self.turns.load(Ordering::SeqCst);
        assert!(turns + 1 >= MANY / slice, "the neighbour had {turns} turns");
    }
}

/// Always has a message in its mailbox.
#[actor]
struct Neighbour {
    count: Count,
}

#[actor]
impl Neighbour {
    #[handler]
    fn turn(&mut self, ctx: &mut Context<Self>) {
        let done = self.count.done.load(Ordering::SeqCst);
        if done >= MANY {
            return self.count.all_done.notify_one();
        }
        if done > 0 {
            self.count.turns.fetch_add(1, Ordering::SeqCst);
        }
        ctx.me().turn().tell().unwrap();
    }
}

/// Counts when it is dropped.
struct Letter(Count);

impl Drop for Letter {
    fn drop(&mut self) {
        self.0.one();
    }
}

#[actor]
#[supervise(on(AsTold) = Restart, on(_) = Escalate)]
struct Subject {
    count: Count,
}

#[actor]
impl Subject {
    #[handler]
    fn found(&mut self, ctx: &mut Context<Self>) -> Vec<MemberRef> {
        let count = self.count.clone();
        let member = move || Member { count: count.clone() };
        (0..MANY).map(|_| ctx.spawn_anonymous(member.clone()).unwrap()).collect()
    }

    #[handler]
    fn letter(&mut self, _letter: Letter) {}

    #[handler]
    fn question(&mut self) -> u32 {
        1
    }

    #[handler]
    fn fail(&mut self) -> Result<(), AsTold> {
        Err(AsTold)
    }

    #[handler]
    async fn busy(&mut self, ctx: &mut Context<Self>) {
        ctx.stopping().await;
    }

    /// Its members survive.
    #[pre_restart]
    fn keep(&mut self) {}
}

#[actor]
struct Member {
    count: Count,
}

#[actor]
impl Member {
    #[handler]
    fn greet(&mut self) {}

    #[handler]
    fn fail(&mut self) -> Result<(), AsTold> {
        Err(AsTold)
    }

    #[pre_restart]
    fn about_to_restart(&mut self) {}

    #[post_restart]
    fn restarted(&mut self) {
        self.count.one();
    }

    #[post_stop]
    fn stopped(&mut self) {
        self.count.one();
    }
}

#[actor]
#[supervise(on(AsTold) = Restart, on(_) = Escalate)]
struct Above {
    count: Count,
}

#[actor]
impl Above {
    #[handler]
    fn found(&mut self, ctx: &mut Context<Self>) -> SubjectRef {
        let count = self.count.clone();
        ctx.spawn("subject", move || Subject { count: count.clone() }).unwrap()
    }
}

#[actor]
struct Watcher {
    count: Count,
}

#[actor]
impl Watcher {
    #[handler]
    fn begin(&mut self, subject: SubjectRef, ctx: &mut Context<Self>) {
        ctx.watch(&subject);
    }

    #[handler]
    fn stop_and_begin(&mut self, subject: SubjectRef, ctx: &mut Context<Self>) {
        subject.actor_ref().stop();
        ctx.watch(&subject);
    }

    #[watch]
    fn gone(&mut self, _: Terminated<Subject>) {
        self.count.one();
    }
}

async fn subject(system: &ActorSystem, count: &Count) -> SubjectRef {
    let count = count.clone();
    let above = system.spawn("above", move || Above { count: count.clone() }).unwrap();
    above.found().await.unwrap()
}

fn watchers(system: &ActorSystem, count: &Count) -> Vec<WatcherRef> {
    let watcher = |_| {
        let count = count.clone();
        system.spawn_anonymous(move || Watcher { count: count.clone() }).unwrap()
    };
    (0..MANY).map(watcher).collect()
}

#[tokio::test]
async fn telling_many_watchers_leaves_turns_to_a_neighbour() {
    let (system, count) = (ActorSystem::new("many"), Count::default());
    let subject = subject(&system, &count).await;
    for watcher in watchers(&system, &count) {
        watcher.begin(subject.clone()).await.unwrap();
    }
    count.neighbour_has_its_turns(&system, || subject.actor_ref().stop()).await;
    system.terminate().await;
}

/// They watch between the stop request and the end, so their requests wait in the subject's system lane when it closes.
#[tokio::test]
async fn telling_many_late_watchers_leaves_turns_to_a_neighbour() {
    let (system, count) = (ActorSystem::new("many"), Count::default());
    let subject = subject(&system, &count).await;
    let watchers = watchers(&system, &count);
    let begin = || {
        let (first, others) = watchers.split_first().unwrap();
        first.stop_and_begin(subject.clone()).tell().unwrap();
        for watcher in others {
            watcher.begin(subject.clone()).tell().unwrap();
        }
    };
    count.neighbour_has_its_turns(&system, begin).await;
    system.terminate().await;
}

#[tokio::test]
async fn stopping_many_children_leaves_turns_to_a_neighbour() {
    let (system, count) = (ActorSystem::new("many"), Count::default());
    let subject = subject(&system, &count).await;
    for member in subject.found().await.unwrap() {
        member.greet().await.unwrap();
    }
    count.neighbour_has_its_turns(&system, || subject.actor_ref().stop()).await;
    system.terminate().await;
}

#[tokio::test]
async fn restarting_many_children_leaves_turns_to_a_neighbour() {
    let (system, count) = (ActorSystem::new("many"), Count::default());
    let subject = subject(&system, &count).await;
    for member in subject.found().await.unwrap() {
        member.greet().await.unwrap();
    }
    count.neighbour_has_its_turns(&system, || subject.fail().tell().unwrap()).await;
    system.terminate().await;
}

/// Many children fail, and the delays of their restarts end at the same moment. `prepare` is called before they fail.
async fn many_delays_end_at_once(prepare: impl FnOnce(&SubjectRef)) {
    let hour = Duration::from_secs(3_600);
    let (system, count, decided) = (ActorSystem::new("many"), Count::default(), Arc::new(AtomicUsize::new(0)));
    let (its, decider_counts) = (count.clone(), Arc::clone(&decided));
    let props = Props::new(move || Subject { count: its.clone() });
    let props = props.supervision_unchecked(
        Strategy::one_for_one().backoff(Backoff::exponential(hour, hour)),
        move |_, _| {
            decider_counts.fetch_add(1, Ordering::SeqCst);
            Ok(Directive::Restart)
        },
    );
    let subject = system.spawn_with("subject", props).unwrap();
    let members = subject.found().await.unwrap();
    prepare(&subject);
    for member in members {
        member.fail().tell().unwrap();
    }
    while decided.load(Ordering::SeqCst) < MANY {
        tokio::task::yield_now().await;
    }
    let end_delays = || drop(tokio::spawn(tokio::time::advance(hour)));
    count.neighbour_has_a_turn_after_each(ONE_TURN, &system, end_delays).await;
    system.terminate().await;
}

#[tokio::test(start_paused = true)]
async fn restarting_many_children_after_a_delay_leaves_turns_to_a_neighbour() {
    many_delays_end_at_once(|_| {}).await;
}

#[tokio::test(start_paused = true)]
async fn restarting_many_children_after_a_delay_beside_a_handler_leaves_turns_to_a_neighbour() {
    many_delays_end_at_once(|subject| subject.busy().tell().unwrap()).await;
}

#[tokio::test]
async fn making_dead_letters_of_many_messages_leaves_turns_to_a_neighbour() {
    let (system, count) = (ActorSystem::new("many"), Count::default());
    let subject = subject(&system, &count).await;
    subject.busy().tell().unwrap();
    (0..MANY).for_each(|_| subject.letter(Letter(count.clone())).tell().unwrap());
    count.neighbour_has_its_turns(&system, || subject.actor_ref().stop()).await;
    system.terminate().await;
}

#[tokio::test]
async fn answering_many_askers_at_an_end_leaves_turns_to_a_neighbour() {
    let (system, count) = (ActorSystem::new("many"), Count::default());
    let subject = subject(&system, &count).await;
    subject.busy().tell().unwrap();
    for _ in 0..MANY {
        let (question, count) = (subject.question().ask().unwrap(), count.clone());
        tokio::spawn(async move {
            question.await.unwrap_err();
            count.one();
        });
    }
    tokio::task::yield_now().await;
    count.neighbour_has_its_turns(&system, || subject.actor_ref().stop()).await;
    system.terminate().await;
}

/// The runtime of the subject goes away when it has told the first of its watchers, who live elsewhere.
#[test]
fn watchers_of_another_runtime_are_told_although_the_runtime_goes_away_between_two_slices() {
    let elsewhere = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (system, count) = (elsewhere.block_on(async { ActorSystem::new("elsewhere") }), Count::default());
    let here = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (over, is_over) = mpsc::channel();
    here.block_on(async {
        let subject = subject(&ActorSystem::new("here"), &Count::default()).await;
        for watcher in watchers(&system, &count) {
            watcher.begin(subject.clone()).await.unwrap();
        }
        subject.actor_ref().stop();
        while !subject.actor_ref().has_ended() {
            tokio::task::yield_now().await;
        }
        over.send(count.done.load(Ordering::SeqCst)).unwrap();
    });
    drop(here);
    let told_before = is_over.recv().unwrap();
    assert!(told_before < MANY, "the runtime went away too late");
    elsewhere.block_on(async {
        while count.done.load(Ordering::SeqCst) < MANY {
            tokio::task::yield_now().await;
        }
        system.terminate().await;
    });
}
