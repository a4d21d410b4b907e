//! DW: the notification of an actor's end.

use std::sync::Arc;

use supervise::prelude::*;
use supervise::supervision::{ChildId, Effect, Input, Protocol, Returned, SystemMessage};
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{DeadLetterReason, HowEnded, Strategy};

use crate::fixture::{Boom, Witness, WitnessRef, child, keeper, ms, secs, within};

/// Notes how the actors it watches ended.
#[actor]
struct Watcher {
    news: ProbeHandle<(String, HowEnded)>,
}

#[actor]
impl Watcher {
    #[handler]
    fn watch(&mut self, subject: WitnessRef, ctx: &mut Context<Self>) {
        ctx.watch(&subject);
    }

    #[handler]
    fn unwatch(&mut self, subject: WitnessRef, ctx: &mut Context<Self>) {
        ctx.unwatch(&subject);
    }

    #[watch]
    fn gone(&mut self, gone: Terminated<Witness>) {
        self.news.note((gone.path().name().to_owned(), gone.how()));
    }
}

struct Scene {
    subject: WitnessRef,
    news: supervise::testkit::TestProbe<(String, HowEnded)>,
    _voice: supervise::testkit::TestProbe<String>,
}

impl Scene {
    fn open(system: &TestSystem) -> Self {
        let voice = system.probe();
        let handle = voice.handle();
        let subject = system.spawn("subject", move || Witness::new("subject", &handle)).unwrap();
        Self { subject, news: system.probe(), _voice: voice }
    }

    fn watcher(&self, system: &TestSystem) -> WatcherRef {
        let news = self.news.handle();
        system.spawn_anonymous(move || Watcher { news: news.clone() }).unwrap()
    }

    fn gone(how: HowEnded) -> (String, HowEnded) {
        ("subject".to_owned(), how)
    }
}

/// Rule 8.1.
#[supervise::test]
async fn dw_01_one_terminated_when_a_watched_actor_ends(system: &TestSystem) {
    let scene = Scene::open(system);
    let watcher = scene.watcher(system);
    for _ in 0..2 {
        watcher.watch(scene.subject.clone()).await.unwrap();
    }
    scene.subject.actor_ref().poison();
    assert_eq!(scene.news.all().await, [Scene::gone(HowEnded::Graceful)]);
    system.advance(secs(1)).await;
    scene.news.expect_none().await;
}

/// Rule 8.1.
#[supervise::test]
async fn dw_02_one_terminated_when_the_actor_had_ended_already(system: &TestSystem) {
    let scene = Scene::open(system);
    let watcher = scene.watcher(system);
    scene.subject.actor_ref().poison();
    system.settle().await;
    watcher.watch(scene.subject.clone()).await.unwrap();
    assert_eq!(scene.news.all().await, [Scene::gone(HowEnded::AlreadyGone)]);
    watcher.watch(scene.subject.clone()).await.unwrap();
    assert_eq!(scene.news.all().await.len(), 1, "watched anew, told anew");
}

/// Rule 8.3.
#[supervise::test]
async fn dw_04_only_those_who_still_watch_are_told(system: &TestSystem) {
    let scene = Scene::open(system);
    let watchers = [scene.watcher(system), scene.watcher(system), scene.watcher(system)];
    for watcher in &watchers {
        watcher.watch(scene.subject.clone()).await.unwrap();
    }
    watchers[2].unwatch(scene.subject.clone()).await.unwrap();
    scene.subject.actor_ref().poison();
    assert_eq!(scene.news.all().await, vec![Scene::gone(HowEnded::Graceful); 2]);
}

/// Unwatching cancels a notification that already waits in the mailbox. Rule 8.3.
#[supervise::test]
async fn dw_04_news_that_is_queued_is_taken_back(system: &TestSystem) {
    let scene = Scene::open(system);
    let watcher = system
        .spawn("sleeper", {
            let news = scene.news.handle();
            move || Sleeper { news: news.clone() }
        })
        .unwrap();
    watcher.watch(scene.subject.clone()).await.unwrap();
    let sleep = watcher.sleep_then_unwatch(scene.subject.clone());
    tokio::join!(
        async {
            sleep.await.unwrap();
        },
        async {
            scene.subject.actor_ref().stop();
        }
    );
    assert!(scene.subject.actor_ref().has_ended());
    scene.news.expect_none().await;
}

#[actor]
struct Sleeper {
    news: ProbeHandle<(String, HowEnded)>,
}

#[actor]
impl Sleeper {
    #[handler]
    fn watch(&mut self, subject: WitnessRef, ctx: &mut Context<Self>) {
        ctx.watch(&subject);
    }

    #[handler]
    async fn sleep_then_unwatch(&mut self, subject: WitnessRef, ctx: &mut Context<Self>) {
        tokio::time::sleep(secs(1)).await;
        ctx.unwatch(&subject);
    }

    #[watch]
    fn gone(&mut self, gone: Terminated<Witness>) {
        self.news.note((gone.path().name().to_owned(), gone.how()));
    }
}

/// Spawns a "kid" that ends at once, watches it, and does so again when it is told of its end.
#[actor]
struct Recycler {
    rounds: u32,
    probe: ProbeHandle<&'static str>,
}

#[actor]
impl Recycler {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        let kid = ctx.spawn("kid", || ShortLived)?;
        ctx.watch(&kid);
        kid.end().tell().expect("just made");
        Ok(())
    }

    #[watch]
    fn gone(&mut self, _: Terminated<ShortLived>, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        self.probe.note("GREEN");
        self.rounds += 1;
        if self.rounds < 2 { self.begin(ctx) } else { Ok(()) }
    }
}

#[actor]
struct ShortLived;

#[actor]
impl ShortLived {
    #[handler]
    fn end(&self, ctx: &mut Context<Self>) {
        ctx.stop_self();
    }
}

/// Rule 8.2.
#[supervise::test]
async fn dw_07_a_child_of_the_same_name_is_watched_anew(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    system.spawn("recycler", move || Recycler { rounds: 0, probe: handle.clone() }).unwrap();
    assert_eq!(probe.all().await, ["GREEN", "GREEN"]);
}

/// Code outside cannot forge the notification, so this tests the protocol itself. Rule 8.1.
#[test]
fn dw_08_news_of_an_actor_that_is_not_watched_is_ignored() {
    let mut watcher = Protocol::<u32, Failure>::new(0);
    let mut effects = Vec::new();
    watcher.begin();
    watcher.step(Input::Returned(Returned::Ok), &mut effects);
    effects.clear();
    let ended = |subject| SystemMessage::Ended { subject, child: None, how: HowEnded::Graceful };
    watcher.step(Input::Message(ended(7)), &mut effects);
    assert!(effects.is_empty(), "{effects:?}");
    let forged_child = SystemMessage::Ended { subject: 7, child: Some(ChildId::ROOT), how: HowEnded::Graceful };
    watcher.step(Input::Message(forged_child), &mut effects);
    assert!(effects.is_empty(), "{effects:?}");

    watcher.watch(&8, supervise::supervision::WatchKind::Notify, &mut effects);
    effects.clear();
    watcher.step(Input::Message(ended(8)), &mut effects);
    assert!(matches!(effects[..], [Effect::Enqueue(8)]), "watched news does arrive: {effects:?}");
}

/// Watches with messages that hold a token.
#[actor]
struct Tokens {
    probe: ProbeHandle<&'static str>,
    children: Vec<WitnessRef>,
}

#[actor]
impl Tokens {
    #[handler]
    fn hear(&mut self, what: &'static str, token: Arc<()>) {
        drop(token);
        self.probe.note(what);
    }

    #[handler]
    fn watch_with(
        &mut self,
        subject: WitnessRef,
        token: Arc<()>,
        ctx: &mut Context<Self>,
    ) -> Reply<Result<(), supervise::AlreadyWatched>> {
        let me = ctx.me();
        Reply(ctx.watch_with(&subject, me.hear("custom", token)))
    }

    #[handler]
    fn replace_children(
        &mut self,
        size: usize,
        voice: ProbeHandle<String>,
        token: Arc<()>,
        ctx: &mut Context<Self>,
    ) -> Result<(), SpawnError> {
        for old in self.children.drain(..) {
            ctx.stop(&old);
        }
        let me = ctx.me();
        for _ in 0..size {
            let voice = voice.clone();
            let child = ctx.spawn_anonymous(move || Witness::new("child", &voice))?;
            let watched = ctx.watch_with(&child, me.hear("child gone", Arc::clone(&token)));
            watched.expect("just made");
            self.children.push(child);
        }
        Ok(())
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }
}

fn tokens(system: &TestSystem) -> (TokensRef, supervise::testkit::TestProbe<&'static str>) {
    let probe = system.probe();
    let handle = probe.handle();
    let tokens = system.spawn("tokens", move || Tokens { probe: handle.clone(), children: Vec::new() }).unwrap();
    (tokens, probe)
}

/// Rule 8.1.
#[supervise::test]
async fn dw_10_a_custom_message_comes_in_place_of_terminated(system: &TestSystem) {
    let scene = Scene::open(system);
    let (watcher, heard) = tokens(system);
    watcher.watch_with(scene.subject.clone(), Arc::new(())).await.unwrap().unwrap();
    scene.subject.actor_ref().stop();
    assert_eq!(heard.all().await, ["custom"]);
    assert!(!watcher.actor_ref().has_ended(), "`Terminated` would have been a death pact");
}

/// Rule 10.1.
#[supervise::test]
async fn dw_14_what_is_sent_after_the_end_is_a_dead_letter(system: &TestSystem) {
    let scene = Scene::open(system);
    let watcher = scene.watcher(system);
    watcher.watch(scene.subject.clone()).await.unwrap();
    scene.subject.actor_ref().stop();
    scene.news.expect(Scene::gone(HowEnded::Graceful)).await;
    let refused = scene.subject.perform(Box::new(|_| Err(Boom("kept")))).tell().unwrap_err();
    assert_eq!(refused.reason(), supervise::SendErrorReason::Stopped);
    let letter = system.expect_dead_letter(&scene.subject).await;
    assert_eq!((letter.message, letter.reason), ("Perform", DeadLetterReason::Stopped));
    assert_eq!(format!("{:?}", refused.into_message()), "Perform { job: .. }", "the message is given back");
}

/// Rule 8.4.
#[supervise::test]
async fn dw_16_watch_tables_do_not_grow(system: &TestSystem) {
    let (tokens, heard) = tokens(system);
    let voice = system.probe();
    let token = Arc::new(());
    for round in 0..60 {
        tokens.replace_children(1000, voice.handle(), Arc::clone(&token)).await.unwrap();
        system.advance(secs(1)).await;
        let gone = heard.all().await;
        assert_eq!(gone.len(), if round == 0 { 0 } else { 1000 });
        assert_eq!(Arc::strong_count(&token), 1001, "round {round}");
        voice.all().await;
        system.take_all(|_| true).await;
    }
    // The actor is not told of children that a restart stops, and their messages are not kept.
    tokens.fail().tell().unwrap();
    system.settle().await;
    assert_eq!(heard.all().await.len(), 0);
    assert_eq!(Arc::strong_count(&token), 1);
    system.expect_restarts(&tokens, 1).await;
}

/// Stops itself twice as soon as it starts.
#[actor]
struct Doubly;

#[actor]
impl Doubly {
    #[pre_start]
    fn end(&mut self, ctx: &mut Context<Self>) {
        ctx.stop_self();
        ctx.me().actor_ref().stop();
    }
}

/// Rule 8.1.
#[supervise::test]
async fn dw_17_stopping_twice_is_one_end(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    let parent = system.spawn("parent", move || Witness::new("parent", &handle)).unwrap();
    within(&parent, |ctx| {
        let child = ctx.spawn("child", || Doubly).unwrap();
        ctx.watch(&child);
    })
    .await;
    system.advance(ms(500)).await;
    assert_eq!(probe.all().await, ["parent starts", "parent sees child gone"]);
    let keeper = keeper(system, Strategy::one_for_one());
    let unwatched = child(&keeper, "child", || Doubly).await;
    system.expect_terminated(&unwatched).await;
    assert!(!keeper.actor_ref().has_ended());
}
