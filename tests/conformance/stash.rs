//! STA: messages set aside; with the cases of other topics that are about them.

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{DeadLetterReason, StashOverflow};

use crate::fixture::{Boom, Witness, WitnessRef, secs};

/// Says goodbye only after it said hello.
#[actor]
struct Polite {
    greeted: bool,
    probe: ProbeHandle<&'static str>,
}

#[actor]
impl Polite {
    #[handler]
    fn hello(&mut self) {
        self.greeted = true;
        self.probe.note("hello");
    }

    #[handler]
    fn bye(&mut self, text: &'static str) {
        self.probe.note(text);
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }

    /// Sends itself a message when the other ends, or when a timer is due.
    #[handler]
    fn follow(&mut self, other: WitnessRef, text: &'static str, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.watch_with(&other, me.bye(text)).expect("watched once");
    }

    #[handler]
    fn remind(&mut self, text: &'static str, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.start_timer("reminder", secs(1), me.bye(text));
    }

    #[stash_while]
    fn not_greeted(&self, message: &PoliteMessage) -> bool {
        !self.greeted && matches!(message, PoliteMessage::Bye { .. })
    }
}

/// Greeted from the start in all lives but the first.
fn polite(probe: ProbeHandle<&'static str>) -> impl FnMut() -> Polite + Send + 'static {
    let mut lives = 0;
    move || {
        lives += 1;
        Polite { greeted: lives > 1, probe: probe.clone() }
    }
}

#[supervise::test]
async fn sta_01_what_comes_too_early_is_handled_later(system: &TestSystem) {
    let probe = system.probe();
    let polite = system.spawn("polite", polite(probe.handle())).unwrap();
    polite.bye("bye").tell().unwrap();
    probe.expect_none().await;
    polite.hello().tell().unwrap();
    assert_eq!(probe.all().await, ["hello", "bye"]);
}

/// A file that is written only while it is open.
#[actor]
struct File {
    open: bool,
    probe: ProbeHandle<&'static str>,
}

#[actor]
impl File {
    #[handler]
    fn open(&mut self) {
        self.open = true;
        self.probe.note("open");
    }

    #[handler]
    fn write(&mut self) {
        self.probe.note("write");
    }

    #[handler]
    fn close(&mut self) {
        self.open = false;
        self.probe.note("close");
    }

    #[handler]
    fn done(&mut self, ctx: &mut Context<Self>) {
        ctx.stop_self();
    }

    #[stash_while]
    fn does_not_fit(&self, message: &FileMessage) -> bool {
        match message {
            FileMessage::Open { .. } | FileMessage::Done { .. } => self.open,
            FileMessage::Write { .. } | FileMessage::Close { .. } => !self.open,
        }
    }
}

#[supervise::test]
async fn sta_02_a_protocol_takes_its_messages_in_its_own_order(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    let file = system.spawn("file", move || File { open: false, probe: handle.clone() }).unwrap();
    for message in [
        FileRef::open,
        FileRef::write,
        FileRef::open,
        FileRef::close,
        FileRef::write,
        FileRef::close,
        FileRef::done,
    ] {
        message(&file).tell().unwrap();
    }
    system.expect_terminated(&file).await;
    assert_eq!(probe.all().await, ["open", "write", "close", "open", "write", "close"]);
}

#[supervise::test]
async fn sta_04_the_new_instance_handles_what_the_old_one_set_aside(system: &TestSystem) {
    let probe = system.probe();
    let polite = system.spawn("polite", polite(probe.handle())).unwrap();
    polite.bye("hello").tell().unwrap();
    probe.expect_none().await;
    polite.fail().tell().unwrap();
    polite.bye("later").tell().unwrap();
    assert_eq!(probe.all().await, ["hello", "later"]);
    system.expect_restarts(&polite, 1).await;
}

#[supervise::test]
async fn sta_05_equal_messages_are_set_aside_one_by_one(system: &TestSystem) {
    let probe = system.probe();
    let polite = system.spawn("polite", polite(probe.handle())).unwrap();
    for _ in 0..2 {
        polite.bye("bye").tell().unwrap();
    }
    polite.hello().tell().unwrap();
    assert_eq!(probe.all().await, ["hello", "bye", "bye"]);
}

/// Never ready for anything but to fail.
#[actor(stash = 10)]
struct Hoarder;

#[actor]
impl Hoarder {
    #[handler]
    fn take(&mut self, what: u32) -> u32 {
        what
    }

    #[stash_while]
    fn always(&self, _: &HoarderMessage) -> bool {
        true
    }
}

/// Where a capacity is set makes no difference to what it means, and here there is one place.
#[supervise::test]
async fn sta_08_sta_09_what_does_not_fit_is_a_dead_letter_at_once(system: &TestSystem) {
    let hoarder = system.spawn("hoarder", || Hoarder).unwrap();
    let answers: Vec<_> = (1..=11).map(|what| hoarder.take(what).ask().unwrap()).collect();
    let letter = system.expect_dead_letter(&hoarder).await;
    assert_eq!(letter.reason, DeadLetterReason::StashFull);
    let decision = system.expect_decision(&hoarder).await;
    assert_eq!(decision.failure.downcast_ref(), Some(&StashOverflow { capacity: 10 }));
    hoarder.actor_ref().poison();
    system.expect_terminated(&hoarder).await;
    for _ in 0..10 {
        assert_eq!(system.expect_dead_letter(&hoarder).await.reason, DeadLetterReason::Stopped);
    }
    for answer in answers {
        let answer = answer.await;
        assert!(answer.is_err(), "{answer:?}");
    }
}

#[supervise::test]
async fn sta_13_a_timer_s_message_is_set_aside_like_any_other(system: &TestSystem) {
    let probe = system.probe();
    let polite = system.spawn("polite", polite(probe.handle())).unwrap();
    polite.remind("reminded").await.unwrap();
    system.advance(secs(5)).await;
    probe.expect_none().await;
    polite.hello().tell().unwrap();
    assert_eq!(probe.all().await, ["hello", "reminded"]);
    system.advance(secs(5)).await;
    probe.expect_none().await;
}

#[supervise::test]
async fn dw_11_the_message_of_a_watch_is_set_aside_like_any_other(system: &TestSystem) {
    let (probe, voice) = (system.probe(), system.probe());
    let handle = voice.handle();
    let other = system.spawn("other", move || Witness::new("other", &handle)).unwrap();
    let polite = system.spawn("polite", polite(probe.handle())).unwrap();
    polite.follow(other.clone(), "the other is gone").await.unwrap();
    other.actor_ref().stop();
    probe.expect_none().await;
    polite.hello().tell().unwrap();
    assert_eq!(probe.all().await, ["hello", "the other is gone"]);
}
