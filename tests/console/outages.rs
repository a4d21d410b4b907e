//! What an operator reads during an outage below supervisors that replace their children. Rules 22.3 and 22.10.

use std::time::Duration;

use supervise::console::Console;
use supervise::pattern::{BackoffSupervisor, BackoffSupervisorRef};
use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{Backoff, Children, DeadLetterReason, Intervention};

use crate::clerk::{Clerk, ClerkRef, NoInk, look, words};

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

/// A supervisor that is spawned under the name of one that was stopped starts without failures, whether or not a look has found the place empty.
#[supervise::test]
async fn con_13_a_supervisor_that_takes_the_name_of_another_one_is_not_in_its_loop(system: &TestSystem) {
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
    // Their first failures do not count as the fourth ones of the earlier actors.
    bank.clerks().await.unwrap().get_or_spawn(1).unwrap().stamp().tell().unwrap();
    clerk.stamp().tell().unwrap();
    look(system, &mut watch, 1).await;
    assert!(watch.text().contains("All is well"), "{}", watch.text());
}

/// A backoff supervisor that an operator restarts counts from 0, even if its child fails before a look has found it. Rule 13.7.
#[supervise::test]
async fn con_13_the_next_try_is_that_of_the_last_failure_after_a_restart_by_hand(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let delays = Backoff::exponential(Duration::from_secs(4), Duration::from_secs(86_400)).manual_reset();
    let clerk = office(system, delays);
    let mut watch = Console::of(system).by_hand();
    for wait in [5, 9, 17, 33, 65, 129, 257, 513, 1] {
        clerk.stamp().tell().unwrap();
        look(system, &mut watch, wait).await;
    }
    assert!(words(&watch).contains("The next try comes in 17 min 4 s."), "{}", watch.text());
    let office = clerk.actor_ref().to_any();
    system.intervene(&office, 0, Intervention::Restart, "night shift").unwrap();
    system.settle().await;
    clerk.stamp().tell().unwrap();
    look(system, &mut watch, 1).await;
    let text = words(&watch);
    assert!(
        text.contains("Failed 10 times within 17 min 9 s") && text.contains("The next try comes in 4 s."),
        "{text}"
    );
}

/// The third failure in a row may be the only one for a long time.
#[supervise::test]
async fn con_13_a_loop_of_rare_failures_says_how_many_came_in_a_row(system: &TestSystem) {
    system.allow_failures();
    let delays = Backoff::exponential(Duration::from_secs(4), Duration::from_secs(86_400)).manual_reset();
    let clerk = office(system, delays);
    let mut watch = Console::of(system).by_hand();
    for wait in [1_500, 1_500, 2] {
        clerk.stamp().tell().unwrap();
        look(system, &mut watch, wait).await;
    }
    let text = words(&watch);
    let says = "Restart loop: /user/office/clerk Clerk Failed in `stamp`. The failure ended the actor. /user/office decides, rule \
                `default`: stopped, and replaced after 16 s. That was the 3rd end in a row. The next try comes in 15 s.";
    assert!(text.contains(says), "{text}");
}

/// A backoff supervisor that waits has not ended, although its messages are lost. Rules 13.6 and 22.3.
#[supervise::test]
async fn con_11_messages_to_a_backoff_supervisor_that_waits_are_not_said_to_be_for_an_actor_that_has_ended(
    system: &TestSystem,
) {
    system.allow_failures();
    system.allow_dead_letters();
    let clerk = office(system, Backoff::exponential(Duration::from_secs(40), Duration::from_secs(400)));
    let mut watch = Console::of(system).by_hand();
    clerk.stamp().tell().unwrap();
    look(system, &mut watch, 1).await;
    (0..20).for_each(|_| clerk.stamp().tell().unwrap());
    look(system, &mut watch, 1).await;
    let text = words(&watch);
    let says = "Messages lost: /user/office 20 dead letters, 100 % `Stamp`: its child is to be replaced after a delay. The last one \
                was 0 ms ago. The next try comes in 39 s.";
    assert!(text.contains(says), "{text}");
    assert_eq!(system.expect_dead_letter(clerk.actor_ref()).await.reason, DeadLetterReason::NoChild);
}

/// What the console has forgotten goes on for as long as its delay lasts. Rules 22.3 and 22.4.
#[supervise::test]
async fn con_18_more_backoff_supervisors_than_are_remembered_wait_for_an_hour(system: &TestSystem) {
    system.allow_failures();
    let delays = || Backoff::exponential(Duration::from_secs(3_600), Duration::from_secs(3_600)).manual_reset();
    let offices = (0..300).map(|n| {
        let office = BackoffSupervisor::on_failure("clerk", || Clerk, delays()).props();
        system.spawn_with(format!("office-{n}"), office).unwrap()
    });
    let offices: Vec<_> = offices.collect();
    let mut watch = Console::of(system).by_hand();
    for _ in 0..3 {
        system.advance(Duration::from_secs(3_601)).await;
        for office in &offices {
            office.stamp().tell().unwrap();
        }
        look(system, &mut watch, 1).await;
    }
    for minutes in [0, 5, 30, 24] {
        system.advance(Duration::from_secs(60 * minutes)).await;
        look(system, &mut watch, 1).await;
        let text = words(&watch);
        assert!(text.contains("Restart loop: at least 256 × Clerk"), "{minutes}: {text}");
    }
    system.advance(Duration::from_secs(60 * 12)).await;
    look(system, &mut watch, 1).await;
    assert!(watch.text().contains("All is well"), "{}", watch.text());
}

#[actor]
#[supervise(one_for_one(max_retries = 1), on(NoInk) = Restart)]
struct Shop {
    clerks: Children<u32, Clerk>,
}

#[actor]
impl Shop {
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

/// The card of a branch that is down goes when the actor above the branch is replaced. Rule 22.3.
#[supervise::test]
async fn con_15_a_branch_is_not_down_when_its_supervisor_was_replaced(system: &TestSystem) {
    system.allow_failures();
    let open = || system.spawn("shop", || Shop { clerks: Children::default() }).unwrap();
    let shop = open();
    let mut watch = Console::of(system).by_hand();
    let clerk = shop.clerks().await.unwrap().get_or_spawn(1).unwrap();
    (0..2).for_each(|_| clerk.stamp().tell().unwrap());
    look(system, &mut watch, 1).await;
    assert!(words(&watch).contains("Branch down: /user/shop/clerks/1 Clerk"), "{}", watch.text());
    shop.actor_ref().stop();
    system.expect_terminated(shop.actor_ref()).await;
    look(system, &mut watch, 1).await;
    assert!(watch.text().contains("Branch down"), "nobody has repaired it\n{}", watch.text());
    open();
    look(system, &mut watch, 1).await;
    assert!(watch.text().contains("All is well"), "{}", watch.text());
}

#[actor]
#[supervise(one_for_one, on(NoInk) = Restart)]
struct Desk;

#[actor]
impl Desk {
    #[handler]
    fn seat(&mut self, ctx: &mut Context<Self>) -> Result<ClerkRef, SpawnError> {
        ctx.spawn("clerk", || Clerk)
    }
}

/// An actor that fails once in 70 s is in no loop, but nobody may read "All is well" alone. Rule 22.4.
#[supervise::test]
async fn con_17_all_is_well_but_something_has_failed(system: &TestSystem) {
    system.allow_failures();
    let clerk = system.spawn("desk", || Desk).unwrap().seat().await.unwrap();
    let mut watch = Console::of(system).by_hand();
    assert!(words(&watch).ends_with("All is well. No message waits."), "{}", watch.text());
    for _ in 0..20 {
        clerk.stamp().tell().unwrap();
        look(system, &mut watch, 70).await;
    }
    let text = words(&watch);
    assert!(
        text.contains("All is well. No message waits. 12 failures in the last 15 minutes. Last failures:"),
        "{text}"
    );
    look(system, &mut watch, 840).await;
    assert!(words(&watch).ends_with("All is well. No message waits."), "{}", watch.text());
}

/// Each life of the inner supervisor gives up its child, and the outer one replaces it. Rule 22.3.
#[supervise::test]
async fn con_13_a_pattern_that_gives_up_again_and_again_is_in_a_restart_loop(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let inner = || {
        let delays = Backoff::exponential(Duration::from_secs(1), Duration::from_secs(4));
        BackoffSupervisor::on_failure("clerk", || Clerk, delays).max_retries(1).props()
    };
    let delays = Backoff::exponential(Duration::from_secs(40), Duration::from_secs(600));
    let outer = BackoffSupervisor::on_stop("inner", inner, delays).props();
    let clerk = system.spawn_with("outer", outer).unwrap();
    let mut watch = Console::of(system).by_hand();
    for wait in [41, 81, 161] {
        assert!(!watch.text().contains("Restart loop"), "{}", watch.text());
        clerk.stamp().tell().unwrap();
        look(system, &mut watch, 2).await;
        clerk.stamp().tell().unwrap();
        look(system, &mut watch, 1).await;
        (0..10).for_each(|_| clerk.stamp().tell().unwrap());
        look(system, &mut watch, if wait == 161 { 1 } else { wait }).await;
    }
    let text = words(&watch);
    let says = "all 4 actors are well. Restart loop: /user/outer/inner BackoffSupervisor<Clerk> Failed 3 times within 2 min 8 s, the \
                last time in `stamp` of /user/outer/inner/clerk. Each time it gave up its last child. /user/outer replaces it after 2 \
                min 40 s. That was the 3rd end in a row. The next try comes in 2 min 39 s.";
    assert!(text.contains(says), "{text}");
    let lost = "Messages lost: /user/outer 30 dead letters, 100 % `Stamp`: its child is to be replaced after a delay. The last one was \
                0 ms ago. The next try comes in 2 min 39 s.";
    assert!(text.contains(lost), "{text}");
    clerk.actor_ref().stop();
    look(system, &mut watch, 61).await;
    assert!(watch.text().contains("All is well"), "{}", watch.text());
}

/// A stop by hand is not for good if a backoff supervisor replaces whatever ends. Rules 13.3 and 22.7.
#[supervise::test]
async fn con_22_a_child_that_was_stopped_by_hand_is_replaced_by_its_backoff_supervisor(system: &TestSystem) {
    let delays = Backoff::exponential(Duration::from_secs(4), Duration::from_secs(40));
    system.spawn_with("office", BackoffSupervisor::on_stop("clerk", || Clerk, delays).props()).unwrap();
    system.settle().await;
    let mut watch = Console::of(system).by_hand();
    let office = system.find("/user/office").unwrap();
    let clerk = system.find("/user/office/clerk").unwrap();
    system.intervene(&clerk, 0, Intervention::Stop, "night shift").unwrap();
    look(system, &mut watch, 1).await;
    assert!(system.find("/user/office/clerk").is_none());
    for refused in [Intervention::RestartNow, Intervention::ResetBackoff] {
        let done = system.intervene(&office, 0, refused, "night shift");
        assert_eq!(done.is_err(), refused == Intervention::RestartNow, "{done:?}");
        look(system, &mut watch, 1).await;
        assert!(system.find("/user/office/clerk").is_none(), "{refused} is not about the child");
    }
    look(system, &mut watch, 2).await;
    assert!(system.find("/user/office/clerk").is_some_and(|other| other != clerk));
    assert!(watch.text().contains("All is well. No message waits."), "{}", watch.text());
}
