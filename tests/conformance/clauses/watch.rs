//! S16: death watch.

use std::future::IntoFuture;
use std::pin::pin;
use std::task::{Context as TaskContext, Poll, Waker};

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestProbe, TestSystem};
use supervise::{Event, FailureKind, HowEnded, Outcome, Props, Request};

use crate::fixture::{Boom, PingPong, PingPongRef, Witness, WitnessRef, child, fail, how_ended, ms, secs, within};

/// Watches in every way, on its own turn.
#[actor]
struct Watcher {
    news: ProbeHandle<String>,
}

#[actor]
impl Watcher {
    #[handler]
    fn watch(&mut self, subject: PingPongRef, ctx: &mut Context<Self>) {
        ctx.watch(&subject);
    }

    #[handler]
    fn watch_with(&mut self, subject: PingPongRef, text: &'static str, ctx: &mut Context<Self>) -> bool {
        let me = ctx.me();
        ctx.watch_with(&subject, me.hear(text)).is_ok()
    }

    #[handler]
    fn death_pact(&mut self, subject: PingPongRef, ctx: &mut Context<Self>) {
        ctx.death_pact(&subject);
    }

    #[handler]
    fn watch_myself(&mut self, ctx: &mut Context<Self>) -> bool {
        let me = ctx.me();
        ctx.watch(&me);
        ctx.death_pact(&me);
        ctx.unwatch(&me);
        let accepted = ctx.watch_with(&me, me.hear("me")).is_ok();
        ctx.unwatch(&me);
        accepted
    }

    /// Is busy while the subject ends, then unwatches it and watches it again.
    #[handler]
    async fn change_mind(&mut self, subject: PingPongRef, ctx: &mut Context<Self>) {
        tokio::time::sleep(secs(1)).await;
        ctx.unwatch(&subject);
        ctx.watch(&subject);
    }

    #[handler]
    fn hear(&mut self, text: &'static str) {
        self.news.note(text.to_owned());
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }

    #[watch]
    fn gone(&mut self, gone: Terminated) {
        self.news.note(format!("{} {:?}", gone.path().name(), gone.how()));
    }
}

struct Scene {
    subject: PingPongRef,
    watcher: WatcherRef,
    news: supervise::testkit::TestProbe<String>,
    voice: supervise::testkit::TestProbe<String>,
}

impl Scene {
    fn open(system: &TestSystem) -> Self {
        let (news, voice) = (system.probe(), system.probe());
        let subject = system.spawn("subject", PingPong::factory(&voice.handle())).unwrap();
        let handle = news.handle();
        let watcher = system.spawn("watcher", move || Watcher { news: handle.clone() }).unwrap();
        Self { subject, watcher, news, voice }
    }
}

/// Rule 8.1.
#[supervise::test]
async fn s16_1_watching_oneself_does_nothing(system: &TestSystem) {
    let scene = Scene::open(system);
    assert!(scene.watcher.watch_myself().await.unwrap());
    system.stop(&scene.watcher);
    assert_eq!(how_ended(system, &scene.watcher).await, HowEnded::Graceful);
    scene.news.expect_none().await;
}

/// Rules 8.1, 8.6.
#[supervise::test]
async fn s16_2_a_watch_while_the_subject_is_ending_is_told_once_how_it_ended(system: &TestSystem) {
    let scene = Scene::open(system);
    let handle = scene.voice.handle();
    let slow = system.spawn("slow", move || Witness::slow("slow", secs(2), &handle)).unwrap();
    let handle = scene.voice.handle();
    let witness = system.spawn("witness", move || Witness::new("witness", &handle)).unwrap();
    slow.actor_ref().stop();
    system.advance(secs(1)).await;
    scene.voice.all().await;
    let watched = slow.clone();
    within(&witness, move |ctx| ctx.watch(&watched)).await;
    scene.voice.expect_none().await;
    system.advance(secs(1)).await;
    assert_eq!(scene.voice.all().await, ["slow stops", "witness sees slow gone"]);
}

/// Rule 8.3.
#[supervise::test]
async fn s16_6_news_that_was_taken_back_does_not_count_for_a_later_watch(system: &TestSystem) {
    let scene = Scene::open(system);
    scene.watcher.watch(scene.subject.clone()).await.unwrap();
    scene.watcher.change_mind(scene.subject.clone()).tell().unwrap();
    system.settle().await;
    scene.subject.actor_ref().stop();
    system.advance(secs(2)).await;
    assert_eq!(scene.news.all().await, ["subject AlreadyGone"], "once, for the second watch");
}

/// An actor is told about another's end in one way at a time. Rule 8.7.
#[supervise::test]
async fn s16_7_a_second_watch_of_another_kind_is_a_mistake(system: &TestSystem) {
    for (name, first, second) in [
        ("message-then-news", 0, 1),
        ("message-then-pact", 0, 2),
        ("news-then-pact", 1, 2),
        ("pact-then-news", 2, 1),
    ] {
        let news = system.probe();
        let (handle, voice) = (news.handle(), system.probe());
        let watcher = system.spawn(name, move || Watcher { news: handle.clone() }).unwrap();
        let subject = system.spawn(format!("{name}-subject"), PingPong::factory(&voice.handle())).unwrap();
        for kind in [first, second] {
            match kind {
                0 => drop(watcher.watch_with(subject.clone(), "message").tell()),
                1 => drop(watcher.watch(subject.clone()).tell()),
                _ => drop(watcher.death_pact(subject.clone()).tell()),
            }
        }
        let decision = system.expect_decision(&watcher).await;
        assert_eq!(decision.failure.kind(), FailureKind::Panic, "{name}");
        assert!(decision.failure.to_string().contains("unwatch it first"), "{name}: {}", decision.failure);
    }
}

/// Rule 8.7.
#[supervise::test]
async fn s16_7_the_same_kind_twice_is_one_watch(system: &TestSystem) {
    let scene = Scene::open(system);
    for _ in 0..2 {
        scene.watcher.watch(scene.subject.clone()).await.unwrap();
    }
    scene.subject.actor_ref().stop();
    assert_eq!(scene.news.all().await, ["subject Graceful"]);
    let other = system.spawn("other", PingPong::factory(&scene.voice.handle())).unwrap();
    for _ in 0..2 {
        scene.watcher.death_pact(other.clone()).await.unwrap();
    }
    other.actor_ref().stop();
    let decision = system.expect_decision(&scene.watcher).await;
    assert_eq!(
        (decision.failure.kind(), decision.outcome),
        (FailureKind::DeathPact, Outcome::Stopped { children: 1 })
    );
}

/// Rules 8.4, 8.5.
#[supervise::test]
async fn s16_8_a_death_pact_outlives_a_restart(system: &TestSystem) {
    let scene = Scene::open(system);
    scene.watcher.death_pact(scene.subject.clone()).await.unwrap();
    scene.watcher.fail().tell().unwrap();
    system.expect_restarts(&scene.watcher, 1).await;
    scene.subject.actor_ref().stop();
    system.expect_terminated(&scene.watcher).await;
    assert_eq!(system.expect_decision(&scene.watcher).await.failure.kind(), FailureKind::DeathPact);
}

/// Rule 8.4.
#[supervise::test]
async fn s16_9_the_message_of_a_watch_outlives_a_restart(system: &TestSystem) {
    let scene = Scene::open(system);
    assert!(scene.watcher.watch_with(scene.subject.clone(), "bye").await.unwrap());
    scene.watcher.fail().tell().unwrap();
    system.expect_restarts(&scene.watcher, 1).await;
    scene.subject.actor_ref().stop();
    assert_eq!(scene.news.all().await, ["bye"]);
}

/// Watches its child, which it spawns under the same name at each start.
#[actor]
struct Renewing {
    news: ProbeHandle<String>,
}

#[actor]
impl Renewing {
    #[pre_start]
    fn start(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        let voice = self.news.clone();
        let child = ctx.spawn("child", move || Witness::slow("child", ms(10), &voice))?;
        ctx.watch(&child);
        Ok(())
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }

    #[handler]
    fn child(&self, ctx: &mut Context<Self>) -> Option<WitnessRef> {
        ctx.child("child")?.downcast::<Witness>().map(WitnessRef::from)
    }

    #[watch]
    fn gone(&mut self, gone: Terminated<Witness>) {
        self.news.note(format!("sees {} gone", gone.path().name()));
    }
}

/// Rule 8.3.
#[supervise::test]
async fn s16_11_the_end_of_the_last_child_is_no_news_about_the_next(system: &TestSystem) {
    let news = system.probe();
    let handle = news.handle();
    let renewing = system.spawn("renewing", move || Renewing { news: handle.clone() }).unwrap();
    for _ in 0..3 {
        renewing.fail().tell().unwrap();
    }
    system.advance(secs(1)).await;
    let heard = news.all().await;
    assert!(heard.iter().all(|heard| !heard.contains("gone")), "{heard:?}");
    let child = renewing.child().await.unwrap().unwrap();
    child.actor_ref().stop();
    system.advance(secs(1)).await;
    assert_eq!(news.all().await, ["child stops", "sees child gone"]);
    system.expect_restarts(&renewing, 3).await;
}

/// Rule 8.2.
#[supervise::test]
async fn s16_4_a_parent_that_watches_is_told_when_the_name_is_free_and_others_when_it_has_ended(
    system: &TestSystem,
) {
    let voice = system.probe();
    let handle = voice.handle();
    let parent = system.spawn("parent", move || Witness::new("parent", &handle)).unwrap();
    let handle = voice.handle();
    let actor = child(&parent, "child", move || Witness::new("child", &handle)).await;
    let watched = actor.clone();
    within(&parent, move |ctx| ctx.watch(&watched)).await;
    voice.all().await;
    fail(&actor, "boom");
    system.expect_restarts(&actor, 1).await;
    assert_eq!(voice.all().await, ["child stops", "child starts"], "a restart is not an end");
    actor.actor_ref().poison();
    assert_eq!(voice.all().await, ["child stops", "parent sees child gone"]);
}

/// Rule 6.7.
#[supervise::test]
async fn s17_4_a_graceful_stop_that_gave_up_leaves_no_watcher_behind(system: &TestSystem) {
    let scene = Scene::open(system);
    let handle = scene.voice.handle();
    let props = Props::new(move || Witness::slow("slow", secs(3), &handle)).stop_timeout(secs(9));
    let slow = system.spawn_with("slow", props).unwrap();
    system.settle().await;
    let before = system.select("/system/*").unwrap().identify().len();
    assert!(system.graceful_stop(&slow, secs(1)).await.is_err());
    system.settle().await;
    assert_eq!(system.select("/system/*").unwrap().identify().len(), before);
    assert_eq!(system.expect_terminated(&slow).await, HowEnded::Graceful);
    let path = slow.actor_ref().path();
    assert_eq!(
        system.take_all(|event| matches!(event, Event::Stopped { actor, .. } if *actor == path)).await.len(),
        1
    );
}

/// How the testkit reports an end that happened before the call. Rules 8.1, 8.6.
#[supervise::test]
async fn s16_2_an_end_that_was_before_the_question_is_told_as_it_was(system: &TestSystem) {
    let scene = Scene::open(system);
    system.stop(&scene.subject);
    system.settle().await;
    for _ in 0..2 {
        assert_eq!(system.expect_terminated(&scene.subject).await, HowEnded::Graceful);
    }
    assert_eq!(system.ended(&scene.subject).await, HowEnded::AlreadyGone);
}

/// The result of an ask in its first poll, wherever that happens.
fn at_once<A: Actor, T: Send + 'static>(request: Request<'_, A, T>) -> Option<T> {
    match pin!(request.into_future()).poll(&mut TaskContext::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Some(answer.expect("it answers")),
        Poll::Pending => None,
    }
}

/// Does something when it is dropped.
struct Last(Option<Box<dyn FnOnce() + Send>>);

impl Last {
    fn deed(deed: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(deed)))
    }
}

impl Drop for Last {
    fn drop(&mut self) {
        if let Some(deed) = self.0.take() {
            deed();
        }
    }
}

/// Is dropped together with what it was given.
#[actor]
struct Leaver {
    last: Option<Last>,
}

#[actor]
impl Leaver {
    #[handler]
    fn keep(&mut self, last: Last) {
        self.last = Some(last);
    }

    #[handler]
    fn leave(&mut self, ctx: &mut Context<Self>) {
        ctx.stop_self();
    }
}

/// Watches within the ask, and returns what it was told.
#[actor]
struct Bystander {
    parent: Option<BystanderRef>,
    news: u32,
    probe: ProbeHandle<(HowEnded, bool)>,
}

impl Bystander {
    fn factory(
        probe: &ProbeHandle<(HowEnded, bool)>,
        parent: Option<&BystanderRef>,
    ) -> impl FnMut() -> Self + Send + 'static {
        let (probe, parent) = (probe.clone(), parent.cloned());
        move || Self { parent: parent.clone(), news: 0, probe: probe.clone() }
    }
}

#[actor]
impl Bystander {
    #[handler]
    fn spawn(&mut self, ctx: &mut Context<Self>) -> Result<LeaverRef, SpawnError> {
        ctx.spawn("child", || Leaver { last: None })
    }

    #[handler(inline)]
    fn spawns(&mut self, ctx: &mut Context<Self>) -> bool {
        ctx.spawn("child", || Leaver { last: None }).is_ok()
    }

    #[handler(inline)]
    fn watch(&mut self, subject: LeaverRef, ctx: &mut Context<Self>) {
        ctx.watch(&subject);
    }

    #[handler(inline)]
    fn was_told(&self) -> bool {
        self.news > 0
    }

    /// Notes whether the name of the child is free, by trying it or by asking the parent.
    #[watch]
    fn gone(&mut self, gone: Terminated<Leaver>, ctx: &mut Context<Self>) {
        self.news += 1;
        let free = match &self.parent {
            Some(parent) => at_once(parent.spawns()) == Some(true),
            None => self.spawns(ctx),
        };
        self.probe.note((gone.how(), free));
    }
}

/// A parent, its child, and somebody else.
async fn a_family(
    system: &TestSystem,
    probe: &TestProbe<(HowEnded, bool)>,
) -> (BystanderRef, LeaverRef, BystanderRef) {
    let parent = system.spawn("parent", Bystander::factory(&probe.handle(), None)).unwrap();
    let child = parent.spawn().await.unwrap();
    let other = system.spawn("other", Bystander::factory(&probe.handle(), Some(&parent))).unwrap();
    system.settle().await;
    (parent, child, other)
}

/// Rules 6.3, 8.2.
#[supervise::test]
async fn s16_4_a_parent_that_watches_at_the_very_end_is_told_when_the_name_is_free(system: &TestSystem) {
    system.allow_dead_letters();
    let probe = system.probe();
    let (parent, child, _) = a_family(system, &probe).await;
    let (watcher, subject) = (parent.clone(), child.clone());
    child.leave().tell().unwrap();
    // A dead letter, dropped while the child ends.
    child
        .keep(Last::deed(move || {
            assert_eq!(at_once(watcher.watch(subject)), Some(()));
            assert_eq!(at_once(watcher.was_told()), Some(false), "the parent knows of no end yet");
        }))
        .tell()
        .unwrap();
    assert_eq!(probe.all().await, [(HowEnded::Graceful, true)]);
}

/// Rule 6.3.
#[supervise::test]
async fn s9_5_who_watches_at_the_very_end_is_told_after_the_dead_letters_and_the_parent(system: &TestSystem) {
    system.allow_dead_letters();
    for early in [true, false] {
        let probe = system.probe();
        let (parent, child, other) = a_family(system, &probe).await;
        let (watcher, subject) = (other.clone(), child.clone());
        let watch = move || assert_eq!(at_once(watcher.watch(subject)), Some(()));
        let watcher = other.clone();
        let look = move || assert_eq!(at_once(watcher.was_told()), Some(false), "a message waits still");
        let (instance, messages) = if early {
            (Last::deed(watch), [Last(None), Last::deed(look)])
        } else {
            (Last(None), [Last::deed(watch), Last::deed(look)])
        };
        child.keep(instance).tell().unwrap();
        child.leave().tell().unwrap();
        for message in messages {
            child.keep(message).tell().unwrap();
        }
        assert_eq!(probe.all().await, [(HowEnded::AlreadyGone, true)]);
        for actor in [parent, other] {
            actor.actor_ref().stop();
            system.expect_terminated(&actor).await;
        }
    }
}
