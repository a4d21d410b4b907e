//! LIF: which hook runs on which instance, and what a restart keeps.

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};
use supervise::{Event, Hook, HowEnded, Strategy};

use crate::fixture::{
    Boom, Witness, WitnessRef, always_restart, child, fail, how_ended, keeper, keeper_deciding, names_of_children,
    secs, within,
};

/// A factory of actors that know their generation.
fn generations<A>(mut make: impl FnMut(u32) -> A + Send) -> impl FnMut() -> A + Send {
    let mut generation = 0;
    move || {
        generation += 1;
        make(generation - 1)
    }
}

/// Reports every hook with its generation, with the restart hooks overridden.
#[actor]
struct Overridden {
    generation: u32,
    probe: ProbeHandle<String>,
}

impl Overridden {
    fn note(&self, hook: &str) {
        self.probe.note(format!("{hook}{}", self.generation));
    }
}

#[actor]
impl Overridden {
    #[handler]
    fn status(&mut self) {
        self.note("OK");
    }

    #[pre_start]
    fn pre_start(&mut self) {
        self.note("preStart");
    }

    #[post_stop]
    fn post_stop(&mut self) {
        self.note("postStop");
    }

    #[pre_restart]
    fn pre_restart(&mut self) {
        self.note("preRestart");
    }

    #[post_restart]
    fn post_restart(&mut self) {
        self.note("postRestart");
    }
}

/// Reports its hooks with its generation, and leaves restarts to the defaults.
#[actor]
struct Default {
    generation: u32,
    probe: ProbeHandle<String>,
}

impl Default {
    fn note(&self, hook: &str) {
        self.probe.note(format!("{hook}{}", self.generation));
    }
}

#[actor]
impl Default {
    #[handler]
    fn status(&mut self) {
        self.note("OK");
    }

    #[pre_start]
    fn pre_start(&mut self) {
        self.note("preStart");
    }

    #[post_stop]
    fn post_stop(&mut self) {
        self.note("postStop");
    }
}

/// Rule 4.2.
#[supervise::test]
async fn lif_01_overridden_restart_hooks_run_in_place_of_start_and_stop(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper_deciding(system, Strategy::one_for_one().max_retries(3), always_restart);
    let handle = probe.handle();
    let actor =
        child(&keeper, "child", generations(move |generation| Overridden { generation, probe: handle.clone() }))
            .await;
    assert_eq!(probe.all().await, ["preStart0"]);
    for (old, new) in [(0, 1), (1, 2), (2, 3)] {
        actor.actor_ref().kill();
        actor.status().tell().unwrap();
        assert_eq!(
            probe.all().await,
            [format!("preRestart{old}"), format!("postRestart{new}"), format!("OK{new}")]
        );
    }
    actor.actor_ref().kill();
    assert_eq!(probe.all().await, ["postStop3"]);
    system.advance(secs(1)).await;
    probe.expect_none().await;
    system.expect_restarts(&actor, 3).await;
}

/// Rules 4.2, 4.3.
#[supervise::test]
async fn lif_02_the_default_restart_hooks_stop_the_old_and_start_the_new(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper_deciding(system, Strategy::one_for_one().max_retries(3), always_restart);
    let handle = probe.handle();
    let actor =
        child(&keeper, "child", generations(move |generation| Default { generation, probe: handle.clone() }))
            .await;
    assert_eq!(probe.all().await, ["preStart0"]);
    for (old, new) in [(0, 1), (1, 2), (2, 3)] {
        actor.actor_ref().kill();
        actor.status().tell().unwrap();
        assert_eq!(probe.all().await, [format!("postStop{old}"), format!("preStart{new}"), format!("OK{new}")]);
    }
    actor.actor_ref().kill();
    assert_eq!(probe.all().await, ["postStop3"]);
    system.advance(secs(1)).await;
    probe.expect_none().await;
    system.expect_restarts(&actor, 3).await;
}

#[actor]
struct Untidy;

#[actor]
impl Untidy {
    #[post_stop]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("hurrah"))
    }
}

/// Rule 6.4.
#[supervise::test]
async fn lif_04_a_failing_post_stop_is_logged_and_changes_nothing(system: &TestSystem) {
    let log = crate::log::Log::open();
    let actor = system.spawn("untidy", || Untidy).unwrap();
    actor.actor_ref().poison();
    assert_eq!(how_ended(system, &actor).await, HowEnded::Graceful);
    assert_eq!(log.errors().len(), 1);
    assert!(log.errors()[0].contains("hurrah"), "{:?}", log.errors());
    let failed = system.take_all(|event| matches!(event, Event::HookFailed { .. })).await;
    assert!(matches!(&failed[..], [Event::HookFailed { hook: Hook::PostStop, .. }]));
    assert!(system.take_all(|event| matches!(event, Event::Decided { .. })).await.is_empty());
}

/// The behaviour of an actor is part of its state: each behaviour is a variant of an enum.
#[actor]
enum Chameleon {
    Initially,
    Later,
    Pushed(Box<Chameleon>),
}

#[actor]
impl Chameleon {
    #[handler]
    fn answer(&self) -> u32 {
        match self {
            Self::Initially => 42,
            Self::Later | Self::Pushed(_) => 43,
        }
    }

    #[handler]
    fn replace(&mut self) {
        *self = Self::Later;
    }

    #[handler]
    fn push(&mut self) {
        let below = std::mem::replace(self, Self::Later);
        *self = Self::Pushed(Box::new(below));
    }

    #[handler]
    fn pop(&mut self) {
        if let Self::Pushed(below) = std::mem::replace(self, Self::Initially) {
            *self = *below;
        }
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }
}

/// Rule 4.1.
#[supervise::test]
async fn lif_05_a_restart_brings_back_the_initial_behaviour(system: &TestSystem) {
    let actor = system.spawn("chameleon", || Chameleon::Initially).unwrap();
    assert_eq!(actor.answer().await.unwrap(), 42);
    actor.fail().tell().unwrap();
    assert_eq!(actor.answer().await.unwrap(), 42, "still handles");
    for change in [ChameleonRef::replace, ChameleonRef::push] {
        change(&actor).await.unwrap();
        assert_eq!(actor.answer().await.unwrap(), 43);
        actor.fail().tell().unwrap();
        assert_eq!(actor.answer().await.unwrap(), 42);
    }
    actor.push().await.unwrap();
    actor.fail().tell().unwrap();
    actor.pop().await.unwrap();
    assert_eq!(actor.answer().await.unwrap(), 42, "nothing was left to pop");
    system.expect_restarts(&actor, 4).await;
}

/// Makes a child "bob" at each start.
#[actor]
struct Landlord {
    probe: ProbeHandle<String>,
}

#[actor]
impl Landlord {
    #[pre_start]
    fn house_bob(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        let probe = self.probe.clone();
        ctx.spawn("bob", move || Witness::new("bob", &probe))?;
        self.probe.note("landlord starts".to_owned());
        Ok(())
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }
}

/// Rules 4.2, 5.4.
#[supervise::test]
async fn lif_07_a_named_child_made_at_the_start_is_gone_before_the_next_start(system: &TestSystem) {
    let probe = system.probe();
    let landlord = system.spawn("landlord", {
        let probe = probe.handle();
        move || Landlord { probe: probe.clone() }
    });
    let landlord = landlord.unwrap();
    assert_eq!(probe.all().await, ["landlord starts", "bob starts"]);
    landlord.fail().tell().unwrap();
    assert_eq!(probe.all().await, ["bob stops", "landlord starts", "bob starts"]);
    assert!(!landlord.actor_ref().has_ended());
    system.expect_restarts(&landlord, 1).await;
}

/// Replaces "foo" once, when it ends.
#[actor]
struct Replacer {
    probe: ProbeHandle<WitnessRef>,
    voice: ProbeHandle<String>,
    old: Option<WitnessRef>,
}

#[actor]
impl Replacer {
    #[pre_start]
    fn first(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        let first = self.foo(ctx)?;
        ctx.watch(&first);
        ctx.stop(&first);
        self.old = Some(first);
        Ok(())
    }

    fn foo(&self, ctx: &mut Context<Self>) -> Result<WitnessRef, SpawnError> {
        let voice = self.voice.clone();
        ctx.spawn("foo", move || Witness::new("foo", &voice))
    }

    #[watch]
    fn gone(&mut self, gone: Terminated<Witness>, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        assert_eq!(Some(gone.actor()), self.old);
        self.probe.note(self.foo(ctx)?);
        Ok(())
    }

    #[handler]
    fn old(&self) -> Option<WitnessRef> {
        self.old.clone()
    }
}

/// Rules 5.4, 8.2.
#[supervise::test]
async fn lif_08_a_child_is_made_anew_in_the_handler_of_its_end(system: &TestSystem) {
    let (probe, voice) = (system.probe(), system.probe());
    let replacer = system.spawn("replacer", {
        let (probe, voice) = (probe.handle(), voice.handle());
        move || Replacer { probe: probe.clone(), voice: voice.clone(), old: None }
    });
    let new = probe.next().await;
    let old = replacer.unwrap().old().await.unwrap().unwrap();
    assert_ne!(old, new);
    assert_ne!(old.actor_ref().to_string(), new.actor_ref().to_string());
    assert_eq!(old.actor_ref().path(), new.actor_ref().path());
    assert!(old.actor_ref().has_ended());
    assert!(!new.actor_ref().has_ended());
}

/// Rule 5.4.
#[supervise::test]
async fn lif_10_a_parent_forgets_children_that_ended(system: &TestSystem) {
    let probe = system.probe();
    let keeper = keeper(system, Strategy::one_for_one());
    let handle = probe.handle();
    let witness = |name| {
        let handle = handle.clone();
        move || Witness::new(name, &handle)
    };
    let first = child(&keeper, "first", witness("first")).await;
    assert_eq!(names_of_children(&keeper).await, ["first"]);
    let second = child(&keeper, "second", witness("second")).await;
    assert_eq!(names_of_children(&keeper).await.len(), 2);
    within(&keeper, move |ctx| ctx.stop(&second)).await;
    system.settle().await;
    assert_eq!(names_of_children(&keeper).await, ["first"]);
    let third = child(&keeper, "third", witness("third")).await;
    assert_eq!(names_of_children(&keeper).await.len(), 2);
    for child in [first, third] {
        child.actor_ref().stop();
    }
    system.settle().await;
    assert_eq!(names_of_children(&keeper).await.len(), 0);
}

/// Fails on "hello", and is told about it.
#[actor]
struct Rude {
    told: ProbeHandle<(Boom, Option<&'static str>)>,
}

#[actor]
impl Rude {
    #[handler(redeliver = 1)]
    fn greet(&mut self, words: &'static str) -> Result<&'static str, Boom> {
        if words == "hello" { Err(Boom("rude")) } else { Ok(words) }
    }

    #[handler]
    fn ignore(&mut self, _words: &'static str) -> Result<(), Boom> {
        Err(Boom("ruder"))
    }

    #[pre_restart]
    fn told(&mut self, cause: &Failure, message: Option<RudeMessage>) {
        let words = message.and_then(|message| match message {
            RudeMessage::Greet { words, .. } => Some(words),
            RudeMessage::Ignore { .. } => None,
        });
        self.told.note((*cause.downcast_ref().expect("a Boom"), words));
    }
}

/// Rule 4.4.
#[supervise::test]
async fn lif_11_pre_restart_is_told_the_cause_and_the_message_and_so_is_the_asker(system: &TestSystem) {
    let told = system.probe();
    let handle = told.handle();
    let rude = system.spawn("rude", move || Rude { told: handle.clone() }).unwrap();
    assert_eq!(rude.greet("bonjour").await.unwrap(), "bonjour");
    let answer = rude.greet("hello").await;
    let Err(AskError::Failed(failure)) = answer else { panic!("{answer:?}") };
    assert_eq!(failure.downcast_ref(), Some(&Boom("rude")));
    // Delivered again, it fails again.
    assert_eq!(told.all().await, [(Boom("rude"), Some("hello")); 2]);
    system.expect_dead_letter(&rude).await;
    rude.ignore("hello").tell().unwrap();
    assert_eq!(told.all().await, [(Boom("ruder"), None)], "a message that is not kept is not told");
    system.expect_restarts(&rude, 3).await;
}

/// Rule 6.4.
#[supervise::test]
async fn lif_13_a_life_without_failure_starts_once_and_ends_once(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    let actor = system.spawn("plain", move || Witness::new("plain", &handle)).unwrap();
    system.settle().await;
    system.stop(&actor);
    system.expect_terminated(&actor).await;
    assert_eq!(probe.all().await, ["plain starts", "plain stops"]);
    let path = actor.actor_ref().path();
    let life = system
        .take_all(|event| match event {
            Event::Started { actor, .. } | Event::Stopped { actor, .. } => *actor == path,
            Event::Restarted { .. } | Event::Resumed { .. } | Event::Decided { .. } => true,
            _ => false,
        })
        .await;
    assert!(matches!(&life[..], [Event::Started { .. }, Event::Stopped { .. }]), "{life:?}");
}

/// Rules 4.2, 4.3.
#[supervise::test]
async fn lif_02_a_restart_runs_the_children_s_hooks_before_the_new_instance_starts(system: &TestSystem) {
    let probe = system.probe();
    let handle = probe.handle();
    let parent = system.spawn("parent", move || Witness::new("parent", &handle)).unwrap();
    let handle = probe.handle();
    child(&parent, "child", move || Witness::new("child", &handle)).await;
    fail(&parent, "boom");
    assert_eq!(
        probe.all().await,
        ["parent starts", "child starts", "parent stops", "child stops", "parent starts"]
    );
    system.expect_restarts(&parent, 1).await;
}
