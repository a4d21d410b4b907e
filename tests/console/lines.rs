//! What the log says of actors that are stuck, fall behind or are near their limit. Rule 22.10.

use std::time::Duration;

use supervise::console::{Console, Watch};
use supervise::prelude::*;
use supervise::testkit::TestSystem;
use tokio::sync::oneshot;

use crate::log::Log;

#[derive(Debug, thiserror::Error)]
#[error("no ink")]
struct NoInk;

#[actor]
struct Clerk;

#[actor]
impl Clerk {
    #[handler]
    async fn think(&mut self, until: oneshot::Receiver<()>) {
        let _told = until.await;
    }

    #[handler]
    fn stamp(&mut self) -> Result<(), NoInk> {
        Err(NoInk)
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 0), on(NoInk) = Restart)]
struct Kiosk;

#[actor]
impl Kiosk {
    #[handler]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<ClerkRef, SpawnError> {
        ctx.spawn("clerk", || Clerk)
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 2, within = "60s", on_limit = Escalate), on(NoInk) = Restart)]
struct Desk;

#[actor]
impl Desk {
    #[handler]
    fn seat(&mut self, ctx: &mut Context<Self>) -> Result<ClerkRef, SpawnError> {
        ctx.spawn("clerk", || Clerk)
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 2, within = "60s"), on(NoInk) = Restart)]
struct Booth;

#[actor]
impl Booth {
    #[handler]
    fn seat(&mut self, ctx: &mut Context<Self>) -> Result<ClerkRef, SpawnError> {
        ctx.spawn("clerk", || Clerk)
    }
}

/// Takes this many looks, one each second.
async fn looks(system: &TestSystem, watch: &mut Watch, many: u32) {
    for _ in 0..many {
        system.advance(Duration::from_secs(1)).await;
        watch.look();
    }
}

/// The lines of the console.
fn said(lines: Vec<String>) -> Vec<String> {
    lines.into_iter().filter(|line| line.contains("kind=")).collect()
}

/// The warnings after a clerk has failed once, and so is near its limit.
async fn warnings_of_a_failure(system: &TestSystem, log: &Log) -> (Watch, Vec<String>) {
    system.allow_failures();
    let clerk = system.spawn("desk", || Desk).unwrap().seat().await.unwrap();
    let mut watch = Console::of(system).by_hand();
    clerk.stamp().tell().unwrap();
    system.settle().await;
    looks(system, &mut watch, 5).await;
    (watch, said(log.warnings()))
}

/// CON-06: one line when it begins, one when it is over, and no more than that within a minute.
#[supervise::test]
async fn con_06_who_is_stuck_has_one_line_when_it_begins_and_one_when_it_is_over(system: &TestSystem) {
    let log = Log::open();
    let clerk = system.spawn("clerk", || Clerk).unwrap();
    let mut watch = Console::of(system).by_hand();
    let think = || {
        let (done, until) = oneshot::channel();
        clerk.think(until).tell().unwrap();
        done
    };
    let (first, second) = (think(), think());
    looks(system, &mut watch, 4).await;
    assert!(said(log.warnings()).is_empty(), "not yet: {:?}", log.warnings());
    looks(system, &mut watch, 20).await;
    let warnings = said(log.warnings());
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    for part in [
        "clerk has been stuck for 5 s. ",
        "`think`: it",
        "waits at an `.await`",
        "1 message waits behind it",
        "/user/clerk",
    ] {
        assert!(warnings[0].contains(part), "{part}: {}", warnings[0]);
    }
    first.send(()).unwrap();
    looks(system, &mut watch, 2).await;
    let infos = said(log.at(tracing::Level::INFO));
    assert_eq!(infos.len(), 1, "{infos:?}");
    assert!(infos[0].contains("clerk is no longer stuck, after"), "{}", infos[0]);
    // The problem comes back within a minute, which has no line. After the minute, it has one.
    let third = think();
    looks(system, &mut watch, 20).await;
    assert_eq!(said(log.warnings()).len(), 1);
    looks(system, &mut watch, 40).await;
    assert_eq!(said(log.warnings()).len(), 2);
    drop((second, third));
}

/// CON-12: the line of an actor that is near its limit says which actors end with it.
#[supervise::test]
async fn con_12_who_is_near_its_limit_has_a_line_that_says_who_goes_then(system: &TestSystem) {
    let log = Log::open();
    let (mut watch, warnings) = warnings_of_a_failure(system, &log).await;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    for part in [
        "clerk is near its limit. 1 of 2 restarts in 1 min used",
        "One restart is left. The failure after it makes /user/desk fail, and /user decides.",
        "The count starts anew in 59 s.",
    ] {
        assert!(warnings[0].contains(part), "{part}: {}", warnings[0]);
    }
    looks(system, &mut watch, 60).await;
    assert_eq!(said(log.warnings()).len(), 1);
    assert!(
        said(log.at(tracing::Level::INFO))
            .iter()
            .any(|line| line.contains("clerk no longer fails often enough to reach its limit, after 1 min"))
    );
}

/// CON-12: even without a console, the line of a failure says if the limit grants no further restart. Rule 10.2.
#[supervise::test]
async fn con_12_a_failure_line_says_that_the_next_failure_reaches_the_limit(system: &TestSystem) {
    let log = Log::open();
    system.allow_failures();
    let clerk = system.spawn("desk", || Desk).unwrap().seat().await.unwrap();
    for _ in 0..2 {
        clerk.stamp().tell().unwrap();
    }
    system.settle().await;
    let errors = log.errors();
    assert_eq!(errors.len(), 2, "{errors:?}");
    let last = "it restarts at once, with the last restart of the limit (2 restarts within 1 min; the count starts anew in 1 min); \
         if it fails again before that, desk fails too, which has no other child";
    assert!(!errors[0].contains("last restart") && errors[1].contains(last), "{errors:?}");
}

/// A problem that lasts has another line, with new numbers.
#[supervise::test]
async fn con_06_what_lasts_is_said_again_at_growing_intervals(system: &TestSystem) {
    let log = Log::open();
    let clerk = system.spawn("clerk", || Clerk).unwrap();
    let mut watch = Console::of(system).by_hand();
    let (_done, until) = oneshot::channel();
    clerk.think(until).tell().unwrap();
    let (_other, until) = oneshot::channel();
    clerk.think(until).tell().unwrap();
    looks(system, &mut watch, 29 * 60).await;
    let warnings = said(log.warnings());
    let again = |after: &str| {
        warnings.iter().position(|line| line.contains(&format!("clerk is still stuck after {after}. ")))
    };
    assert_eq!(["2 min 5 s", "6 min 5 s", "14 min 5 s"].map(again), [Some(1), Some(2), Some(3)], "{warnings:?}");
    let line = &warnings[3];
    assert!(line.contains("In `think`: it waits") && line.contains("not_well=1"), "{line}");
    // At most an hour lies between two lines.
    looks(system, &mut watch, (62 - 29 + 120) * 60).await;
    let warnings = said(log.warnings());
    let again = |after: &str| {
        warnings.iter().position(|line| line.contains(&format!("clerk is still stuck after {after}. ")))
    };
    let places = ["30 min 5 s", "1 h 2 min", "2 h 2 min"].map(again);
    assert_eq!((places, warnings.len()), ([Some(4), Some(5), Some(6)], 7), "{warnings:?}");
}

/// CON-27: lost messages have a line that sums them up.
#[supervise::test]
async fn con_27_lost_messages_have_a_line_that_sums_up(system: &TestSystem) {
    let log = Log::open();
    system.allow_dead_letters();
    let clerk = system.spawn("clerk", || Clerk).unwrap();
    let mut watch = Console::of(system).by_hand();
    clerk.actor_ref().stop();
    system.settle().await;
    for _ in 0..12 {
        let _lost = clerk.stamp().tell();
    }
    looks(system, &mut watch, 3).await;
    let warnings = said(log.warnings());
    let lost = warnings.iter().find(|line| line.contains("messages to clerk are getting lost. 12 dead letters"));
    assert!(lost.is_some_and(|line| line.contains("`Stamp`: the recipient has ended")), "{warnings:?}");
    looks(system, &mut watch, 60).await;
    let infos = said(log.at(tracing::Level::INFO));
    assert!(
        infos.iter().any(|line| line.contains("messages to clerk no longer get lost, after 1 min")),
        "{infos:?}"
    );
}

/// The end of a system causes no lines about its actors. Rule 10.4.
#[test]
fn con_26_the_end_of_the_system_adds_no_line() {
    let log = Log::open();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let system = ActorSystem::new("shop");
        let clerk = system.spawn("clerk", || Clerk).unwrap();
        let mut watch = Console::of(&system).by_hand();
        for _ in 0..20 {
            clerk.think(oneshot::channel().1).tell().unwrap();
        }
        let (_done, until) = oneshot::channel();
        clerk.think(until).tell().unwrap();
        for _ in 0..20 {
            clerk.think(oneshot::channel().1).tell().unwrap();
        }
        for _ in 0..10 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            watch.look();
        }
        let before: Vec<_> = log.all().into_iter().filter(|record| record.text.contains("kind=")).collect();
        assert_eq!(before.len(), 1, "{before:?}");
        tokio::join!(system.terminate(), async {
            for _ in 0..20 {
                tokio::time::sleep(Duration::from_millis(500)).await;
                watch.look();
            }
        });
    });
    let lines = log.all().into_iter().filter(|record| record.text.contains("kind=")).count();
    assert_eq!(lines, 1, "{:?}", log.all());
}

/// CON-15: the failure's line says that a branch goes down; while it is down, the log says so again.
#[supervise::test]
async fn con_15_a_branch_that_stays_down_is_said_again(system: &TestSystem) {
    let log = Log::open();
    system.allow_failures();
    system.allow_dead_letters();
    let kiosk = system.spawn("kiosk", || Kiosk).unwrap().open().await.unwrap();
    let mut watch = Console::of(system).by_hand();
    kiosk.stamp().tell().unwrap();
    system.settle().await;
    looks(system, &mut watch, 60).await;
    assert!(said(log.warnings()).is_empty(), "{:?}", log.warnings());
    looks(system, &mut watch, 7 * 60).await;
    let warnings = said(log.warnings());
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    // No line said before that it is down.
    assert!(warnings[1].contains("clerk has been down for 6 min. It failed in `stamp`."), "{}", warnings[1]);
    assert!(warnings[1].contains("not_well=0 down=1"), "{}", warnings[1]);
    looks(system, &mut watch, 10 * 60).await;
    assert!(said(log.at(tracing::Level::INFO)).is_empty(), "{:?}", log.all());
}

/// CON-12: an actor that stopped at its limit has not recovered.
#[supervise::test]
async fn con_12_who_stopped_at_its_limit_is_not_said_to_be_well_again(system: &TestSystem) {
    let log = Log::open();
    system.allow_failures();
    system.allow_dead_letters();
    let clerk = system.spawn("booth", || Booth).unwrap().seat().await.unwrap();
    let mut watch = Console::of(system).by_hand();
    clerk.stamp().tell().unwrap();
    looks(system, &mut watch, 5).await;
    (0..2).for_each(|_| clerk.stamp().tell().unwrap());
    looks(system, &mut watch, 5).await;
    let infos = said(log.at(tracing::Level::INFO));
    assert_eq!(infos.len(), 1, "{infos:?}");
    assert!(
        infos[0].contains("clerk was ended by a failure, after it had been near its limit for 5 s"),
        "{infos:?}"
    );
}

/// "Still" refers to a line about the same actor.
#[supervise::test]
async fn con_06_another_actor_with_the_same_problem_is_not_still_stuck(system: &TestSystem) {
    let log = Log::open();
    let mut watch = Console::of(system).by_hand();
    let mut until = Vec::new();
    let mut think = |clerk: &ClerkRef| {
        let (done, wait) = oneshot::channel();
        clerk.think(wait).tell().unwrap();
        until.push(done);
    };
    let first = system.spawn("first", || Clerk).unwrap();
    (0..2).for_each(|_| think(&first));
    looks(system, &mut watch, 60).await;
    // More messages wait for this one, so the card tells of it.
    let second = system.spawn("second", || Clerk).unwrap();
    (0..20).for_each(|_| think(&second));
    looks(system, &mut watch, 120).await;
    let warnings = said(log.warnings());
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("first has been stuck for 5 s."), "{}", warnings[0]);
    assert!(warnings[1].contains("second (with 1 like it) has been stuck for 1 min 5 s."), "{}", warnings[1]);
}

/// CON-24: the lines have no text of an error.
#[supervise::test]
async fn con_24_the_lines_have_no_text_of_an_error(system: &TestSystem) {
    let log = Log::open();
    let (_watch, warnings) = warnings_of_a_failure(system, &log).await;
    assert!(warnings.len() == 1 && !warnings[0].contains("no ink"), "{warnings:?}");
}

/// CON-07: a healthy actor has no line.
#[supervise::test]
async fn con_07_a_system_that_is_well_has_no_line(system: &TestSystem) {
    let log = Log::open();
    let clerk = system.spawn("clerk", || Clerk).unwrap();
    let mut watch = Console::of(system).by_hand();
    let (done, until) = oneshot::channel();
    clerk.think(until).tell().unwrap();
    looks(system, &mut watch, 120).await;
    done.send(()).unwrap();
    looks(system, &mut watch, 10).await;
    assert!(log.errors().is_empty());
    assert!(log.all().iter().all(|record| !record.text.contains("kind=")), "{:?}", log.all());
}

/// An operator's action has a line. Rule 22.7.
#[supervise::test]
async fn con_22_what_was_done_by_hand_is_in_the_text_and_in_the_log(system: &TestSystem) {
    let log = Log::open();
    let clerk = system.spawn("clerk", || Clerk).unwrap();
    let mut watch = Console::of(system).by_hand();
    assert!(!watch.text().contains("By hand"), "{}", watch.text());
    system.intervene(&clerk.actor_ref().to_any(), 0, supervise::Intervention::Restart, "night shift").unwrap();
    looks(system, &mut watch, 3).await;
    assert!(watch.text().contains(" s ago /user/clerk: restart, by night shift"), "{}", watch.text());
    let warnings = log.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    for part in ["an operator (night shift) asked for: restart of clerk ", "by=\"night shift\"", "what=restart"] {
        assert!(warnings[0].contains(part), "{part}: {}", warnings[0]);
    }
}

#[actor]
struct Counter {
    clerk: ClerkRef,
}

#[actor]
impl Counter {
    #[handler]
    async fn wait(&mut self, until: oneshot::Receiver<()>) -> Result<(), AskError> {
        self.clerk.think(until).await
    }

    #[handler]
    fn note(&mut self) {}
}

/// CON-06: an actor is not well again just because another actor's card names it or because it has a worse problem. Each line names the
/// actors that are not well.
#[supervise::test]
async fn con_06_what_is_hidden_by_something_worse_is_not_over(system: &TestSystem) {
    let log = Log::open();
    let clerk = system.spawn("clerk", || Clerk).unwrap();
    let counter = system.spawn("counter", move || Counter { clerk: clerk.clone() }).unwrap();
    let mut watch = Console::of(system).by_hand();
    for _ in 0..20 {
        counter.note().tell().unwrap();
    }
    let (done, until) = oneshot::channel();
    counter.wait(until).tell().unwrap();
    for _ in 0..1_200 {
        counter.note().tell().unwrap();
    }
    // The mailbox grows before the console knows for which actor the counter waits.
    for _ in 0..20 {
        counter.note().tell().unwrap();
        looks(system, &mut watch, 1).await;
    }
    let infos = said(log.at(tracing::Level::INFO));
    assert!(infos.is_empty(), "nothing is over: {infos:?}");
    let warnings = said(log.warnings());
    let clerk =
        warnings.iter().find(|line| line.contains("clerk has been stuck")).expect("it holds the counter up");
    assert!(clerk.contains("not_well=2") && clerk.contains("who=\"/user/clerk, /user/counter\""), "{clerk}");
    done.send(()).unwrap();
    looks(system, &mut watch, 3).await;
    let infos = said(log.at(tracing::Level::INFO));
    assert!(!infos.is_empty() && infos.iter().all(|line| line.contains("no longer")), "{infos:?}");
    assert!(!infos.last().unwrap().contains("who="), "{infos:?}");
}

#[actor]
struct Teller;

#[actor]
impl Teller {
    #[handler]
    fn tell_all(&mut self, to: ClerkRef, letters: u32) {
        for _ in 0..letters {
            let _lost = to.stamp().tell();
        }
    }
}

/// The line that counts the dead letters without a line names their recipients, and the line of a dead letter names its sender. Rule 10.4.
#[supervise::test]
async fn z_dead_letters_without_a_line_are_counted_by_recipient(system: &TestSystem) {
    let log = Log::open();
    system.allow_dead_letters();
    let [clerk, other] = ["clerk", "other"].map(|name| system.spawn(name, || Clerk).unwrap());
    let teller = system.spawn("teller", || Teller).unwrap();
    clerk.actor_ref().stop();
    other.actor_ref().stop();
    system.settle().await;
    teller.tell_all(clerk.clone(), 60).tell().unwrap();
    teller.tell_all(other, 7).tell().unwrap();
    system.advance(Duration::from_secs(300)).await;
    teller.tell_all(clerk, 1).tell().unwrap();
    system.settle().await;
    let infos = log.at(tracing::Level::INFO);
    let missed = infos.iter().find(|line| line.contains("logged at debug level only") && line.contains("missed="));
    let missed = missed.unwrap_or_else(|| panic!("{infos:?}"));
    assert!(
        missed.contains("57 dead letters were logged at debug level only: 50 to /user/clerk, 7 to /user/other")
    );
    let letter = infos.iter().find(|line| line.contains("became a dead letter")).unwrap();
    assert!(letter.contains("sender=supervise://test/user/teller"), "{letter}");
    let pause =
        "10 dead letters within 5 min: further ones in this time are counted and logged at debug level only";
    assert!(infos.iter().any(|line| line.contains(pause)), "{infos:?}");
    // Lines about different letters have different texts.
    assert!(letter.contains("a message became a dead letter: `Stamp` to /user/clerk"), "{letter}");
}

#[actor]
#[supervise(one_for_one(max_retries = 1, within = "60s", on_limit = Escalate), on(NoInk) = Restart)]
struct Office;

#[actor]
impl Office {
    #[handler]
    fn seat(&mut self, name: &'static str, ctx: &mut Context<Self>) -> Result<ClerkRef, SpawnError> {
        ctx.spawn(name, || Clerk)
    }
}

/// The line names the actors that go with the supervisor, and says for how long this is the last restart. Rule 10.6.
#[supervise::test]
async fn con_12_the_line_of_the_last_restart_says_who_goes_along_and_until_when(system: &TestSystem) {
    let log = Log::open();
    system.allow_failures();
    let office = system.spawn("office", || Office).unwrap();
    let clerk = office.seat("clerk").await.unwrap();
    for name in ["copy", "post", "stamps", "archive"] {
        office.seat(name).await.unwrap();
    }
    clerk.stamp().tell().unwrap();
    system.settle().await;
    let errors = log.errors();
    let last = "with the last restart of the limit (1 restart within 1 min; the count starts anew in 1 min); if it fails again before \
                that, office fails too, and with it copy, post, stamps and 1 more";
    assert!(errors.len() == 1 && errors[0].contains(last) && errors[0].contains("anew=60s"), "{errors:?}");
}

#[actor]
#[supervise(one_for_one, on(NoInk) = Restart(backoff(min = "30s", max = "30s")))]
struct Shop;

#[actor]
impl Shop {
    #[handler]
    fn seat(&mut self, ctx: &mut Context<Self>) -> Result<ClerkRef, SpawnError> {
        ctx.spawn("clerk", || Clerk)
    }
}

/// CON-13: an outage has one line when it begins and one when it is over, although the actor runs for some time after each restart.
#[supervise::test]
async fn con_13_an_outage_is_one_loop(system: &TestSystem) {
    let log = Log::open();
    system.allow_failures();
    let clerk = system.spawn("shop", || Shop).unwrap().seat().await.unwrap();
    let mut watch = Console::of(system).by_hand();
    for round in 0..8 {
        clerk.stamp().tell().unwrap();
        for _ in 0..40 {
            looks(system, &mut watch, 1).await;
            assert_eq!(watch.text().contains("Restart loop: /user/shop/clerk"), round >= 2, "{}", watch.text());
        }
    }
    let looping = |lines: Vec<String>| {
        said(lines).into_iter().filter(|line| line.contains("restart loop") && !line.contains("still")).count()
    };
    assert_eq!((looping(log.warnings()), looping(log.at(tracing::Level::INFO))), (1, 0), "{:?}", log.all());
    looks(system, &mut watch, 60).await;
    assert_eq!((looping(log.warnings()), looping(log.at(tracing::Level::INFO))), (1, 1), "{:?}", log.all());
    assert!(watch.text().contains("All is well"), "{}", watch.text());
}

/// CON-13: the last line about several actors names the one that was well again last. Rule 22.10.
#[supervise::test]
async fn con_13_the_last_line_names_the_actor_that_was_in_a_loop_last(system: &TestSystem) {
    let log = Log::open();
    system.allow_failures();
    let mut watch = Console::of(system).by_hand();
    let mut clerks = Vec::new();
    for name in ["early", "late"] {
        clerks.push(system.spawn(name, || Shop).unwrap().seat().await.unwrap());
    }
    for round in 0..8 {
        for (clerk, fails) in clerks.iter().zip([0..4, 2..8]) {
            if fails.contains(&round) {
                clerk.stamp().tell().unwrap();
            }
        }
        looks(system, &mut watch, 35).await;
    }
    looks(system, &mut watch, 120).await;
    let infos = said(log.at(tracing::Level::INFO));
    let [line] = &infos[..] else { panic!("{:?}", log.all()) };
    assert!(
        line.contains("clerk (the last of those like it) is no longer in a restart loop, after 4 min"),
        "{line}"
    );
    assert!(line.contains("/user/late/clerk"), "{line}");
}

/// CON-13: a restart that somebody asked for ends the delay, also for the console. Rules 22.3 and 23.5.
#[supervise::test]
async fn con_13_a_loop_is_over_a_minute_after_a_restart_by_hand(system: &TestSystem) {
    let log = Log::open();
    system.allow_failures();
    let clerk = system.spawn("shop", || Shop).unwrap().seat().await.unwrap();
    let mut watch = Console::of(system).by_hand();
    for _ in 0..3 {
        clerk.stamp().tell().unwrap();
        looks(system, &mut watch, 1).await;
        clerk.actor_ref().retry_now();
        looks(system, &mut watch, 1).await;
    }
    assert!(watch.text().contains("Restart loop: /user/shop/clerk"), "{}", watch.text());
    looks(system, &mut watch, 61).await;
    assert!(watch.text().contains("All is well"), "{}", watch.text());
    let infos = said(log.at(tracing::Level::INFO));
    assert!(infos.iter().any(|line| line.contains("clerk is no longer in a restart loop")), "{infos:?}");
}
