//! Which code a failure names.

use std::panic::panic_any;

use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{Directive, During, Event, Hook, Strategy};

use crate::fixture::{Boom, KeeperRef, child, keeping, ms};

/// Fails where it is told to.
#[actor]
struct Fragile {
    at: &'static str,
    starts: u32,
}

impl Fragile {
    fn fail_at(&self, here: &'static str) -> Result<(), Boom> {
        if self.at == here { Err(Boom(here)) } else { Ok(()) }
    }
}

#[actor]
impl Fragile {
    #[pre_start]
    fn connect(&mut self) -> Result<(), Boom> {
        self.fail_at(if self.starts == 1 { "first start" } else { "later start" })
    }

    #[post_stop]
    fn close(&mut self) -> Result<(), Boom> {
        self.fail_at("end")
    }

    #[handler]
    fn charge(&mut self) -> Result<(), Boom> {
        Err(Boom("charge"))
    }

    #[cfg(any())]
    #[handler]
    fn left_out(&mut self) {}

    #[handler]
    async fn refund(&mut self) -> Result<(), Boom> {
        tokio::time::sleep(ms(1)).await;
        panic_any("refund");
    }

    #[handler]
    fn begin(&mut self, ctx: &mut Context<Self>) {
        ctx.try_pipe(async { Err::<u32, _>(Boom("work")) }, |me, _| me.charge());
    }

    #[handler]
    fn r#move(&mut self) -> Result<(), Boom> {
        Err(Boom("move"))
    }

    #[handler]
    fn see(&mut self, other: FragileRef, ctx: &mut Context<Self>) {
        ctx.watch(&other);
    }

    #[watch]
    fn gone(&mut self, _gone: Terminated<Self>) -> Result<(), Boom> {
        Err(Boom("gone"))
    }

    #[stash_while]
    fn not_now(&self, _message: &FragileMessage) -> bool {
        assert!(self.at != "stash", "as told");
        false
    }
}

async fn fragile(keeper: &KeeperRef, name: &'static str, at: &'static str) -> FragileRef {
    let mut starts = 0;
    let make = move || {
        starts += 1;
        if at == "factory" { Err(Boom("factory")) } else { Ok(Fragile { at, starts }) }
    };
    child(keeper, name, make).await
}

/// Rule 10.5.
#[supervise::test]
async fn con_06_a_failure_names_the_handler_as_it_is_written_or_the_hook(system: &TestSystem) {
    type Tell = fn(&FragileRef, &FragileRef);
    let cases: [(&str, Tell, During); 9] = [
        ("", |it, _| it.charge().tell().unwrap(), During::Handler("charge")),
        ("", |it, _| it.refund().tell().unwrap(), During::Handler("refund")),
        ("", |it, _| it.r#move().tell().unwrap(), During::Handler("move")),
        ("", |it, _| it.begin().tell().unwrap(), During::Work),
        ("stash", |it, _| it.begin().tell().unwrap(), During::StashWhile),
        ("factory", |_, _| {}, During::Factory),
        ("first start", |_, _| {}, During::PreStart),
        // It is restarted, and has no `post_restart` of its own.
        ("later start", |it, _| it.charge().tell().unwrap(), During::PreStart),
        (
            "",
            |it, other| {
                it.see(other.clone()).tell().unwrap();
                other.actor_ref().stop();
            },
            During::Watch,
        ),
    ];
    for (number, (at, tell, expected)) in cases.into_iter().enumerate() {
        let restarts = at == "later start";
        let decide = move |failure: &Failure| {
            let again = restarts && failure.stage() == supervise::Stage::Running;
            if again { Directive::Restart } else { Directive::Stop }
        };
        let keeper =
            system.spawn_with(format!("keeper-{number}"), keeping(Strategy::one_for_one(), decide)).unwrap();
        let other = fragile(&keeper, "other", "").await;
        let it = fragile(&keeper, "it", at).await;
        tell(&it, &other);
        system.advance(ms(2)).await;
        let first = system.expect_decision(&it).await.failure;
        let failure = if restarts { system.expect_decision(&it).await.failure } else { first };
        assert_eq!(failure.during(), Some(expected), "{failure:?}");
        system.allow_dead_letters();
    }
}

/// Rules 10.5, 6.4.
#[supervise::test]
async fn con_06_an_ignored_failure_of_a_hook_names_the_hook_that_the_actor_has(system: &TestSystem) {
    let keeper = system.spawn_with("keeper", keeping(Strategy::one_for_one(), |_| Directive::Restart)).unwrap();
    let it = fragile(&keeper, "it", "end").await;
    it.charge().tell().unwrap();
    system.expect_restarts(&it, 1).await;
    it.actor_ref().stop();
    system.expect_terminated(&it).await;
    let failed = system.take_all(|event| matches!(event, Event::HookFailed { .. })).await;
    let failed: Vec<_> = failed
        .iter()
        .map(|event| match event {
            Event::HookFailed { hook, failure, .. } => (*hook, failure.during()),
            _ => unreachable!("taken so"),
        })
        .collect();
    // A restart runs the default `pre_restart`, which runs `post_stop`.
    let close = Some(During::PostStop);
    assert_eq!(failed, [(Hook::PreRestart, close), (Hook::PostStop, close)]);
}
