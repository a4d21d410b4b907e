//! What the console says about the patterns, and about other children that are replaced after a failure. Rule
//! 22.3.

use std::time::Duration;

use supervise::console::{Console, Watch};
use supervise::pattern::{BackoffSupervisor, Pool};
use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{Backoff, Children, StoppingTable};

use crate::clerk::{Clerk, ClerkRef, NoInk, look, words};
use crate::log::Log;

fn delays() -> Backoff {
    Backoff::exponential(Duration::from_secs(2), Duration::from_secs(20))
}

/// When a backoff supervisor gives up, only the earlier failures of its child are known, and those alone are not a
/// problem.
#[supervise::test]
async fn con_15_a_backoff_supervisor_that_has_given_up_is_down(system: &TestSystem) {
    system.allow_failures();
    let log = Log::open();
    let office = || BackoffSupervisor::on_failure("clerk", || Clerk, delays()).max_retries(1).props();
    let clerk = system.spawn_with("office", office()).unwrap();
    let mut watch = Console::of(system).by_hand();
    clerk.stamp().tell().unwrap();
    look(system, &mut watch, 3).await;
    assert!(!watch.text().contains("Branch down"), "it waits for its next child\n{}", watch.text());
    clerk.stamp().tell().unwrap();
    look(system, &mut watch, 1).await;
    let text = words(&watch);
    let says = "Branch down: /user/office BackoffSupervisor<Clerk> clerk failed in `stamp`. No other actor took the place of \
                its last child, so it stopped.";
    assert!(text.contains(says) && text.contains("1 branch is down"), "{text}");
    let errors = log.errors();
    let told = "the child of the backoff supervisor office was given up, so the supervisor stops: no ink";
    assert!(errors.iter().any(|line| line.contains(told)), "{errors:?}");
    system.spawn_with("office", office()).unwrap();
    look(system, &mut watch, 1).await;
    assert!(!watch.text().contains("Branch down"), "another one has taken its place\n{}", watch.text());
}

/// A supervisor that ends by its final message is not a branch that is down, even if its child fails while it
/// handles that message.
#[supervise::test]
async fn con_15_a_backoff_supervisor_that_got_its_final_message_is_not_down(system: &TestSystem) {
    system.allow_failures();
    let log = Log::open();
    let office = BackoffSupervisor::on_failure("clerk", || Clerk, delays()).final_stop(|_| true).props();
    let clerk = system.spawn_with("office", office).unwrap();
    let mut watch = Console::of(system).by_hand();
    clerk.stamp().tell().unwrap();
    system.expect_terminated(clerk.actor_ref()).await;
    watch.look();
    assert!(!watch.text().contains("Branch down"), "{}", watch.text());
    assert!(!log.errors().iter().any(|line| line.contains("given up")), "{:?}", log.errors());
}

/// A pool whose workers were stopped by a rule, not at a limit, had no card.
#[supervise::test]
async fn con_15_a_pool_without_a_worker_is_down(system: &TestSystem) {
    system.allow_failures();
    let pool = Pool::round_robin(2, || Clerk).supervised_by::<StoppingTable>().props();
    let pool = system.spawn_with("pool", pool).unwrap();
    let mut watch = Console::of(system).by_hand();
    pool.stamp().tell().unwrap();
    look(system, &mut watch, 1).await;
    assert!(!watch.text().contains("Branch down"), "one worker is left\n{}", watch.text());
    pool.stamp().tell().unwrap();
    look(system, &mut watch, 1).await;
    let text = words(&watch);
    assert!(
        text.contains("Branch down: /user/pool Pool<Clerk> worker-2 failed in `stamp`. No other actor"),
        "{text}"
    );
}

/// Each life of the child is a new actor, so none of them is in a restart loop by itself.
#[supervise::test]
async fn con_13_a_place_whose_actors_fail_again_and_again_is_in_a_restart_loop(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let clerk = BackoffSupervisor::on_failure("clerk", || Clerk, delays()).props();
    let clerk = system.spawn_with("office", clerk).unwrap();
    let mut watch = Console::of(system).by_hand();
    let fails = async |watch: &mut Watch, wait| {
        clerk.stamp().tell().unwrap();
        look(system, watch, wait).await;
    };
    fails(&mut watch, 3).await;
    fails(&mut watch, 5).await;
    assert!(!watch.text().contains("Restart loop"), "{}", watch.text());
    fails(&mut watch, 1).await;
    let text = words(&watch);
    let says = "Restart loop: /user/office/clerk Clerk Failed 3 times within 8 s, the last time in `stamp`. Each failure \
                ended the actor. /user/office decides, rule `default`: stopped, and replaced after 8 s. That was the 3rd end in a \
                row. The next try comes in 8 s.";
    assert!(text.contains(says), "{text}");
    look(system, &mut watch, 8).await;
    // At the longest delay there are fewer than three failures in a minute, and it is still the same loop.
    for _ in 0..4 {
        fails(&mut watch, 45).await;
    }
    assert!(words(&watch).contains("Restart loop: /user/office/clerk Clerk Failed 7 times"), "{}", watch.text());
    look(system, &mut watch, 150).await;
    assert!(!watch.text().contains("Restart loop"), "it is calm\n{}", watch.text());
}

/// While a backoff supervisor waits, the outage goes on. Rule 22.3.
#[supervise::test]
async fn con_13_an_outage_of_hours_below_a_backoff_supervisor_is_one_loop(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let log = Log::open();
    let delays = Backoff::exponential(Duration::from_secs(40), Duration::from_secs(15 * 60));
    let clerk = BackoffSupervisor::on_failure("clerk", || Clerk, delays).props();
    let clerk = system.spawn_with("office", clerk).unwrap();
    let mut watch = Console::of(system).by_hand();
    let mut shown = Vec::new();
    // The clerk fails 5 s after each start.
    for (failures, delay) in (1..).zip([40, 80, 160, 320, 640, 900, 900, 900]) {
        clerk.stamp().tell().unwrap();
        for second in 1..delay + 5 {
            look(system, &mut watch, 1).await;
            shown.push(watch.text().contains("Restart loop: /user/office/clerk"));
            assert!(failures < 3 || shown.last() == Some(&true), "{failures}: {second}: {}", watch.text());
        }
        look(system, &mut watch, 1).await;
        assert_eq!(shown.contains(&true), failures >= 3, "{failures}: {}", watch.text());
    }
    clerk.stamp().tell().unwrap();
    look(system, &mut watch, 100).await;
    let text = words(&watch);
    let says = "The next try comes in 13 min 21 s. Since ";
    assert!(text.contains("Clerk Failed 9 times within 1 h 6 min, ") && text.contains(says), "{text}");
    look(system, &mut watch, 800).await;
    assert!(watch.text().contains("Restart loop"), "it has just started\n{}", watch.text());
    look(system, &mut watch, 62).await;
    assert!(!watch.text().contains("Restart loop"), "it has run for a minute\n{}", watch.text());
    let lines = log.all().into_iter().filter(|line| line.text.contains("no longer in a restart loop"));
    assert_eq!(lines.count(), 1);
}

/// A backoff supervisor that is restarted starts its child at once. Rules 13.7 and 22.3.
#[supervise::test]
async fn con_13_a_loop_is_over_a_minute_after_the_backoff_supervisor_has_started_its_child_early(
    system: &TestSystem,
) {
    system.allow_failures();
    system.allow_dead_letters();
    let delays = Backoff::exponential(Duration::from_secs(400), Duration::from_secs(400));
    let clerk = BackoffSupervisor::on_failure("clerk", || Clerk, delays).props();
    let clerk = system.spawn_with("office", clerk).unwrap();
    let mut watch = Console::of(system).by_hand();
    for _ in 0..3 {
        clerk.stamp().tell().unwrap();
        look(system, &mut watch, 401).await;
    }
    clerk.stamp().tell().unwrap();
    look(system, &mut watch, 10).await;
    assert!(words(&watch).contains("The next try comes in 6 min 31 s."), "{}", watch.text());
    let office = clerk.actor_ref().to_any();
    system.intervene(&office, 0, supervise::Intervention::Restart, "night shift").unwrap();
    look(system, &mut watch, 62).await;
    assert!(system.find("/user/office/clerk").is_some());
    assert!(watch.text().contains("All is well"), "it has run for a minute\n{}", watch.text());
}

/// A loop is over when nobody is left who replaces the actors.
#[supervise::test]
async fn con_13_a_place_is_in_no_loop_when_its_supervisor_was_stopped(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let clerk = BackoffSupervisor::on_failure("clerk", || Clerk, delays()).props();
    let clerk = system.spawn_with("office", clerk).unwrap();
    let mut watch = Console::of(system).by_hand();
    for wait in [3, 5, 1] {
        clerk.stamp().tell().unwrap();
        look(system, &mut watch, wait).await;
    }
    assert!(watch.text().contains("Restart loop: /user/office/clerk"), "{}", watch.text());
    clerk.actor_ref().stop();
    look(system, &mut watch, 1).await;
    assert!(watch.text().contains("All is well"), "{}", watch.text());
}

#[actor]
#[supervise(one_for_one, on(NoInk) = Escalate)]
struct Desk;

#[actor]
impl Desk {
    #[handler]
    fn seat(&mut self, ctx: &mut Context<Self>) -> Result<ClerkRef, SpawnError> {
        ctx.spawn("clerk", || Clerk)
    }
}

#[actor]
#[supervise(one_for_one, on(NoInk) = Restart(backoff(min = "10s", max = "10s")), on(_) = Stop)]
struct Office;

#[actor]
impl Office {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<DeskRef, SpawnError> {
        ctx.spawn("desk", || Desk)
    }
}

/// The clerk fails, and the desk restarts.
#[supervise::test]
async fn con_13_a_loop_of_escalated_failures_names_the_actor_that_failed(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let desk = system.spawn("office", || Office).unwrap().open().await.unwrap();
    let mut watch = Console::of(system).by_hand();
    for _ in 0..3 {
        desk.seat().await.unwrap().stamp().tell().unwrap();
        look(system, &mut watch, 11).await;
    }
    let text = words(&watch);
    let says = "Restart loop: /user/office/desk Desk Failed 3 times within 22 s, the last time in `stamp` of \
                /user/office/desk/clerk. /user/office decides, rule `NoInk`: restart after 10 s.";
    assert!(text.contains(says), "{text}");
    assert!(!text.contains("Branch down") && text.contains("1 of"), "{text}");
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

/// More keys fail in turn than places are remembered. When their supervisor is stopped, the loops are over.
#[supervise::test]
async fn con_13_keyed_children_that_fail_in_turn_are_in_restart_loops(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let bank = system.spawn("bank", || Bank { clerks: Children::default() }).unwrap();
    let clerks = bank.clerks().await.unwrap();
    let mut watch = Console::of(system).by_hand();
    for round in 0..3 {
        assert!(!watch.text().contains("Restart loop"), "{round}: {}", watch.text());
        for key in 0..300 {
            clerks.get_or_spawn(key).unwrap().stamp().tell().unwrap();
        }
        look(system, &mut watch, 5).await;
    }
    let text = words(&watch);
    assert!(text.contains("Restart loop: at least 254 × Clerk, the worst is /user/bank/clerks/0 "), "{text}");
    bank.actor_ref().stop();
    look(system, &mut watch, 1).await;
    let text = words(&watch);
    assert!(!text.contains("Restart loop") && text.contains("Nothing known needs attention"), "{text}");
}

/// A branch whose actor a backoff supervisor replaces is not down, however the actor was ended. Rule 22.3.
#[supervise::test]
async fn con_15_what_a_backoff_supervisor_replaces_later_is_not_down(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let delays = || Backoff::exponential(Duration::from_secs(40), Duration::from_secs(400));
    let mut watch = Console::of(system).by_hand();
    // The desk fails with the failure of its clerk.
    let desk = BackoffSupervisor::on_failure("desk", || Desk, delays()).props();
    let desk = system.spawn_with("office", desk).unwrap();
    for wait in [41, 81, 1] {
        desk.seat().await.unwrap().stamp().tell().unwrap();
        for _ in 0..wait {
            look(system, &mut watch, 1).await;
            assert!(!watch.text().contains("Branch down"), "it waits for its next child\n{}", watch.text());
        }
    }
    let text = words(&watch);
    let says = "Restart loop: /user/office/desk Desk Failed 3 times within";
    assert!(text.contains(says) && text.contains("The next try comes in 2 min 40 s"), "{text}");
    // At the limit, the supervisor itself is down.
    let clerk = BackoffSupervisor::on_stop("clerk", || Clerk, delays()).max_retries(1).props();
    let clerk = system.spawn_with("bank", clerk).unwrap();
    clerk.stamp().tell().unwrap();
    clerk.stamp().tell().unwrap();
    look(system, &mut watch, 1).await;
    assert!(system.find("/user/bank/clerk").is_none(), "it waits\n{}", watch.text());
    assert!(!watch.text().contains("Branch down"), "it waits for its next child\n{}", watch.text());
    look(system, &mut watch, 45).await;
    clerk.stamp().tell().unwrap();
    clerk.stamp().tell().unwrap();
    look(system, &mut watch, 1).await;
    assert!(words(&watch).contains("Branch down: /user/bank BackoffSupervisor<Clerk>"), "{}", watch.text());
}

/// Nobody takes the place of an actor whose backoff supervisor was stopped during the delay. Rules 22.3 and 22.10.
#[supervise::test]
async fn con_13_a_loop_is_over_when_its_backoff_supervisor_is_stopped_during_a_long_delay(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let log = Log::open();
    let over = || log.all().into_iter().filter(|line| line.text.contains("no longer in a restart loop")).count();
    let delays = || Backoff::exponential(Duration::from_secs(4), Duration::from_secs(86_400)).manual_reset();
    let open = || system.spawn_with("office", BackoffSupervisor::on_failure("clerk", || Clerk, delays()).props());
    let mut watch = Console::of(system).by_hand();
    let clerk = open().unwrap();
    for wait in [5, 9, 17, 33, 65, 129, 257, 513, 1] {
        clerk.stamp().tell().unwrap();
        look(system, &mut watch, wait).await;
    }
    assert!(words(&watch).contains("The next try comes in 17 min"), "{}", watch.text());
    clerk.actor_ref().stop();
    look(system, &mut watch, 5).await;
    assert!(watch.text().contains("All is well"), "{}", watch.text());
    assert_eq!(over(), 1, "the supervisor does not wait any longer");
    // What takes its place later has not failed before.
    open().unwrap().stamp().tell().unwrap();
    look(system, &mut watch, 2).await;
    assert!(!watch.text().contains("Restart loop"), "{}", watch.text());
}
