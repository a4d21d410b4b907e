//! Z: the notification of an end.

use supervise::Event;
use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};

use crate::fixture::{Witness, WitnessRef, child, fail, secs, within};

/// Rule 8.4.
#[supervise::test]
async fn z_25_a_watch_survives_the_watcher_s_restart(system: &TestSystem) {
    let probe = system.probe();
    let (handle, other) = (probe.handle(), probe.handle());
    let watcher = system.spawn("watcher", move || Witness::new("watcher", &handle)).unwrap();
    let subject = system.spawn("subject", move || Witness::new("subject", &other)).unwrap();
    let watched = subject.clone();
    within(&watcher, move |ctx| ctx.watch(&watched)).await;
    fail(&watcher, "boom");
    system.expect_restarts(&watcher, 1).await;
    probe.all().await;
    subject.actor_ref().stop();
    assert_eq!(probe.all().await, ["subject stops", "watcher sees subject gone"]);
}

/// Sends its watcher a thousand messages and ends.
#[actor]
struct Talker;

#[actor]
impl Talker {
    #[handler]
    fn talk(&mut self, to: ListenerRef, ctx: &mut Context<Self>) {
        for n in 1..=1000 {
            to.hear(n).tell().expect("it listens");
        }
        ctx.stop_self();
    }
}

#[actor]
struct Listener {
    heard: u32,
    probe: ProbeHandle<u32>,
}

#[actor]
impl Listener {
    #[handler]
    fn listen(&mut self, talker: TalkerRef, ctx: &mut Context<Self>) {
        ctx.watch(&talker);
    }

    #[handler]
    fn hear(&mut self, n: u32) {
        assert_eq!(n, self.heard + 1);
        self.heard = n;
    }

    #[watch]
    fn gone(&mut self, _: Terminated<Talker>) {
        self.probe.note(self.heard);
    }
}

/// Rule 8.2.
#[supervise::test]
async fn z_26_terminated_comes_after_all_that_the_subject_sent(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    let listener = system.spawn("listener", move || Listener { heard: 0, probe: handle.clone() }).unwrap();
    let talker = system.spawn("talker", || Talker).unwrap();
    listener.listen(talker.clone()).await.unwrap();
    talker.talk(listener).tell().unwrap();
    probe.expect(1000).await;
}

/// Rule 8.5.
#[supervise::test]
async fn z_28_a_watcher_that_ends_is_told_nothing_any_more(system: &TestSystem) {
    let probe = system.probe();
    let witness = |name| {
        let handle = probe.handle();
        move || Witness::slow(name, secs(1), &handle)
    };
    let watcher = system.spawn("watcher", witness("watcher")).unwrap();
    let other = system.spawn("other", witness("other")).unwrap();
    let watched: WitnessRef = other.clone();
    let own = child(&watcher, "own", witness("own")).await;
    within(&watcher, move |ctx| {
        ctx.watch(&watched);
        ctx.watch(&own);
    })
    .await;
    probe.all().await;
    watcher.actor_ref().stop();
    other.actor_ref().stop();
    system.advance(secs(2)).await;
    let mut heard = probe.all().await;
    heard.sort();
    assert_eq!(heard, ["other stops", "own stops", "watcher stops"]);
    assert!(system.take_all(|event| matches!(event, Event::DeadLetter(_))).await.is_empty());
}

/// Watches in both ways, and reports what it got.
#[actor]
struct Indecisive {
    probe: ProbeHandle<&'static str>,
}

#[actor]
impl Indecisive {
    #[handler]
    fn watch(&mut self, subject: WitnessRef, ctx: &mut Context<Self>) {
        ctx.watch(&subject);
    }

    #[handler]
    fn watch_with(&mut self, subject: WitnessRef, text: &'static str, ctx: &mut Context<Self>) -> bool {
        let me = ctx.me();
        ctx.watch_with(&subject, me.hear(text)).is_ok()
    }

    #[handler]
    fn unwatch(&mut self, subject: WitnessRef, ctx: &mut Context<Self>) {
        ctx.unwatch(&subject);
    }

    #[handler]
    fn hear(&mut self, text: &'static str) {
        self.probe.note(text);
    }

    #[watch]
    fn gone(&mut self, _: Terminated<Witness>) {
        self.probe.note("terminated");
    }
}

/// Rule 8.7.
#[supervise::test]
async fn z_29_the_first_watch_stays_until_it_is_taken_back(system: &TestSystem) {
    let (probe, voice) = (system.probe(), system.probe());
    let handle = probe.handle();
    let indecisive = system.spawn("indecisive", move || Indecisive { probe: handle.clone() }).unwrap();
    for name in ["messages", "mixed", "anew"] {
        let handle = voice.handle();
        let subject = system.spawn(name, move || Witness::new(name, &handle)).unwrap();
        let expected = match name {
            "messages" => {
                assert!(indecisive.watch_with(subject.clone(), "one").await.unwrap());
                assert!(!indecisive.watch_with(subject.clone(), "two").await.unwrap());
                "one"
            }
            "mixed" => {
                indecisive.watch(subject.clone()).await.unwrap();
                assert!(!indecisive.watch_with(subject.clone(), "two").await.unwrap());
                "terminated"
            }
            _ => {
                indecisive.watch(subject.clone()).await.unwrap();
                indecisive.unwatch(subject.clone()).await.unwrap();
                assert!(indecisive.watch_with(subject.clone(), "two").await.unwrap());
                "two"
            }
        };
        subject.actor_ref().stop();
        assert_eq!(probe.all().await, [expected], "{name}");
    }
}
