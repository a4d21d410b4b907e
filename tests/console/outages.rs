//! What an operator reads during an outage below supervisors that replace their children. Rules 22.3 and 22.10.

use std::time::Duration;

use supervise::console::{Console, Watch};
use supervise::pattern::{BackoffSupervisor, BackoffSupervisorRef};
use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{Backoff, Children};

#[derive(Debug, thiserror::Error)]
#[error("no ink")]
struct NoInk;

#[actor]
struct Clerk;

#[actor]
impl Clerk {
    #[handler]
    fn stamp(&mut self) -> Result<(), NoInk> {
        Err(NoInk)
    }
}

async fn look(system: &TestSystem, watch: &mut Watch, looks: u64) {
    for _ in 0..looks {
        system.advance(Duration::from_secs(1)).await;
        watch.look();
    }
}

fn words(watch: &Watch) -> String {
    watch.text().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn office(system: &TestSystem, delays: Backoff) -> BackoffSupervisorRef<Clerk> {
    system.spawn_with("office", BackoffSupervisor::on_failure("clerk", || Clerk, delays).props()).unwrap()
}

#[actor]
#[supervise(one_for_one, on(NoInk) = Stop, on(_) = Stop)]
struct Bank {
    clerks: Children<u32, Clerk>,
}

#[actor]
impl Bank {
    #[pre_start]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        self.clerks = Children::of(|_: &u32| Clerk).spawn(ctx, "clerks")?;
        Ok(())
    }

    #[handler]
    fn clerks(&self) -> Children<u32, Clerk> {
        self.clerks.clone()
    }
}

/// What is spawned under the name of a supervisor that was stopped has not failed before, whether or not a look saw that nobody was there.
#[supervise::test]
async fn con_13_a_supervisor_that_takes_the_name_of_another_one_has_not_its_loop(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let delays = || Backoff::exponential(Duration::from_secs(40), Duration::from_secs(400));
    let open = || system.spawn("bank", || Bank { clerks: Children::default() }).unwrap();
    let (clerk, bank) = (office(system, delays()), open());
    let clerks = bank.clerks().await.unwrap();
    let mut watch = Console::of(system).by_hand();
    for wait in [41, 81, 1] {
        clerk.stamp().tell().unwrap();
        look(system, &mut watch, wait).await;
    }
    for _ in 0..3 {
        clerks.get_or_spawn(1).unwrap().stamp().tell().unwrap();
        look(system, &mut watch, 1).await;
    }
    let text = words(&watch);
    assert!(text.contains("Restart loop: 2 × Clerk"), "{text}");
    clerk.actor_ref().stop();
    bank.actor_ref().stop();
    system.expect_terminated(clerk.actor_ref()).await;
    system.expect_terminated(bank.actor_ref()).await;
    let (clerk, bank) = (office(system, delays()), open());
    look(system, &mut watch, 1).await;
    assert!(watch.text().contains("All is well"), "{}", watch.text());
    // Nor are their first failures the fourth ones of the others.
    bank.clerks().await.unwrap().get_or_spawn(1).unwrap().stamp().tell().unwrap();
    clerk.stamp().tell().unwrap();
    look(system, &mut watch, 1).await;
    assert!(watch.text().contains("All is well"), "{}", watch.text());
}
