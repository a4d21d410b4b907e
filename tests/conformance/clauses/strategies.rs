//! S10 to S14, S24, A9 to A11: which actors a decision reaches, limits, delays, and what the log says about
//! them.

use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem, suspensions};
use supervise::{
    Backoff, Count, Directive, Event, FailureKind, HowEnded, Outcome, Strategy, Window, default_decider,
    stopping_decider,
};

use crate::fixture::{
    Boom, KeeperRef, PingPong, PingPongRef, Witness, always_escalate, always_restart, child, fail, keeper,
    keeper_deciding, keeper_under, keeping, ms, names_of_children, secs, within,
};
use crate::log::Log;

async fn three(parent: &KeeperRef, probe: &ProbeHandle<String>) -> [PingPongRef; 3] {
    let mut children = Vec::new();
    for name in ["a", "b", "c"] {
        children.push(child(parent, name, PingPong::factory(probe)).await);
    }
    children.try_into().unwrap_or_else(|_| unreachable!("as many as names"))
}

async fn outcome(system: &TestSystem, actor: &PingPongRef) -> Outcome {
    actor.die("boom").tell().expect("it lives");
    system.expect_decision(actor).await.outcome
}

const RESTARTING: Outcome = Outcome::Restarting { children: 1, delay: None };

/// Rule 7.1.
#[supervise::test]
async fn s11_3_a9_stop_reaches_whom_restart_reaches(system: &TestSystem) {
    for (name, strategy, left) in [
        ("one", Strategy::one_for_one(), vec!["a", "c"]),
        ("all", Strategy::all_for_one(), vec![]),
        ("rest", Strategy::rest_for_one(), vec!["a"]),
    ] {
        let probe = system.probe();
        let boss = system.spawn_with(name, keeping(strategy, |_| Directive::Stop)).unwrap();
        let children = three(&boss, &probe.handle()).await;
        assert_eq!(outcome(system, &children[1]).await, Outcome::Stopped { children: 3 - left.len() });
        assert_eq!(names_of_children(&boss).await, left, "{name}");
    }
}

/// Rule 7.1.
#[supervise::test]
async fn a9_rest_for_one_restarts_the_failed_child_and_those_started_later(system: &TestSystem) {
    let probe = system.probe();
    let boss = keeper(system, Strategy::rest_for_one());
    let children = three(&boss, &probe.handle()).await;
    for child in &children {
        assert_eq!(child.count().await.unwrap(), 1);
    }
    children[1].die("boom").tell().unwrap();
    for (child, count) in children.iter().zip([2, 1, 1]) {
        assert_eq!(child.count().await.unwrap(), count);
    }
    system.take_all(|event| matches!(event, Event::Decided { .. })).await;
}

/// Rule 7.2.
#[supervise::test]
async fn a9_s11_2_a_group_asks_the_count_of_each_whom_it_reaches(system: &TestSystem) {
    let probe = system.probe();
    let boss = keeper(system, Strategy::rest_for_one().max_retries(2));
    let [a, b, c] = three(&boss, &probe.handle()).await;
    // The last child fails twice, then the first one. The last one's count is used up, so all affected
    // children stop.
    for _ in 0..2 {
        assert_eq!(outcome(system, &c).await, RESTARTING);
    }
    assert_eq!(outcome(system, &a).await, Outcome::LimitReached { children: 3 });
    assert!([&a, &b, &c].iter().all(|child| child.actor_ref().has_ended()));
}

/// Rule 7.10.
#[supervise::test]
async fn s11_children_that_fail_at_once_restart_once_and_are_charged_once(system: &TestSystem) {
    for (name, strategy) in [
        ("all", Strategy::all_for_one()),
        ("rest", Strategy::rest_for_one()),
        ("limited", Strategy::all_for_one().max_retries(1)),
        ("counted", Strategy::all_for_one().max_retries(1).count(Count::Supervisor)),
        ("delayed", Strategy::all_for_one().backoff(Backoff::exponential(secs(1), secs(8)))),
    ] {
        let probe = system.probe();
        let boss = system.spawn_with(name, keeping(strategy, always_restart)).unwrap();
        let children = three(&boss, &probe.handle()).await;
        for child in &children {
            child.die("boom").tell().unwrap();
        }
        let outcomes = [
            system.expect_decision(&children[0]).await.outcome,
            system.expect_decision(&children[1]).await.outcome,
            system.expect_decision(&children[2]).await.outcome,
        ];
        assert!(matches!(outcomes[0], Outcome::Restarting { children: 3, .. }), "{name}: {outcomes:?}");
        assert_eq!(outcomes[1..], [Outcome::AlreadyAnswered; 2], "{name}");
        system.advance(secs(1)).await;
        for child in &children {
            system.expect_restarts(child, 1).await;
            assert_eq!(suspensions(child), 0);
            assert_eq!(child.ping().await.unwrap(), "pong", "{name}");
        }
    }
}

/// Rule 7.10.
#[supervise::test]
async fn s11_children_that_fail_the_last_one_first_restart_once_and_are_charged_once(system: &TestSystem) {
    for (name, strategy) in
        [("rest", Strategy::rest_for_one()), ("limited", Strategy::rest_for_one().max_retries(1))]
    {
        let probe = system.probe();
        let boss = system.spawn_with(name, keeping(strategy, always_restart)).unwrap();
        let children = three(&boss, &probe.handle()).await;
        for child in children.iter().rev() {
            child.die("boom").tell().unwrap();
        }
        for child in children.iter().rev() {
            let outcome = system.expect_decision(child).await.outcome;
            assert!(matches!(outcome, Outcome::Restarting { children: 1, .. }), "{name}: {outcome:?}");
        }
        for child in &children {
            system.expect_restarts(child, 1).await;
            assert_eq!(suspensions(child), 0);
            assert_eq!(child.ping().await.unwrap(), "pong", "{name}");
        }
    }
}

/// Rule 7.10.
#[supervise::test]
async fn s11_a_new_instance_that_fails_is_a_new_failure(system: &TestSystem) {
    let probe = system.probe();
    let boss = keeper(system, Strategy::all_for_one().max_retries(1));
    let [a, b, c] = three(&boss, &probe.handle()).await;
    a.die("boom").tell().unwrap();
    // The mailbox outlives the restart that the first message causes.
    b.die("boom").tell().unwrap();
    b.die("again").tell().unwrap();
    assert!(matches!(system.expect_decision(&a).await.outcome, Outcome::Restarting { children: 3, .. }));
    assert_eq!(system.expect_decision(&b).await.outcome, Outcome::AlreadyAnswered);
    assert_eq!(system.expect_decision(&b).await.outcome, Outcome::LimitReached { children: 3 });
    assert!([&a, &b, &c].iter().all(|child| child.actor_ref().has_ended()));
}

/// Rule 7.10.
#[supervise::test]
async fn s11_a_stop_takes_effect_although_the_child_restarts_already(system: &TestSystem) {
    let probe = system.probe();
    let decide = |failure: &Failure| match failure.downcast_ref() {
        Some(Boom("fatal")) => Directive::Stop,
        _ => Directive::Restart,
    };
    let boss = keeper_deciding(system, Strategy::all_for_one(), decide);
    let [a, b, c] = three(&boss, &probe.handle()).await;
    a.die("boom").tell().unwrap();
    b.die("fatal").tell().unwrap();
    c.die("fatal").tell().unwrap();
    assert_eq!(system.expect_decision(&b).await.outcome, Outcome::Stopped { children: 3 });
    assert_eq!(system.expect_decision(&c).await.outcome, Outcome::AlreadyAnswered);
    system.take_all(|event| matches!(event, Event::Decided { .. })).await;
    assert!([&a, &b, &c].iter().all(|child| child.actor_ref().has_ended()));
}

/// Rule 7.1.
#[supervise::test]
async fn s11_6_a_normal_end_touches_no_sibling(system: &TestSystem) {
    for (name, strategy) in [("all", Strategy::all_for_one()), ("rest", Strategy::rest_for_one())] {
        let probe = system.probe();
        let boss = system.spawn_with(name, keeping(strategy, always_restart)).unwrap();
        let [a, b, c] = three(&boss, &probe.handle()).await;
        a.actor_ref().stop();
        b.actor_ref().poison();
        system.settle().await;
        assert_eq!(c.count().await.unwrap(), 1);
        assert_eq!(probe.all().await, ["stopped", "stopped"], "{name}");
        system.expect_restarts(&c, 0).await;
    }
}

/// Rule 7.5.
#[supervise::test]
async fn s12_1_zero_refuses_every_restart_with_and_without_a_window(system: &TestSystem) {
    let none = Strategy::one_for_one().max_retries(0);
    for (name, strategy) in [("life", none), ("window", none.within(secs(1)))] {
        let probe = system.probe();
        let boss = system.spawn_with(name, keeping(strategy, always_restart)).unwrap();
        let actor = child(&boss, "actor", PingPong::factory(&probe.handle())).await;
        assert_eq!(outcome(system, &actor).await, Outcome::LimitReached { children: 1 });
    }
}

/// Rules 7.3, 7.4.
#[supervise::test]
async fn s12_4_the_timelines_of_three_in_ten_seconds(system: &TestSystem) {
    let times = [0, 9000, 9500, 10_500, 10_600, 10_700, 10_800];
    for (name, window, granted) in [("tumbling", Window::Tumbling, 6), ("sliding", Window::Sliding, 3)] {
        let probe = system.probe();
        let strategy = Strategy::one_for_one().max_retries(3).within(secs(10)).window(window);
        let boss = system.spawn_with(name, keeping(strategy, always_restart)).unwrap();
        let actor = child(&boss, "actor", PingPong::factory(&probe.handle())).await;
        let (mut before, mut restarts) = (0, 0);
        for time in times {
            system.advance(ms(time - before)).await;
            before = time;
            match outcome(system, &actor).await {
                RESTARTING => restarts += 1,
                other => {
                    assert_eq!(other, Outcome::LimitReached { children: 1 });
                    break;
                }
            }
        }
        // Sliding: at 10.5 s the first one is out of the window, so the fourth is granted.
        assert_eq!(restarts, if window == Window::Sliding { granted + 1 } else { granted }, "{name}");
    }
}

/// Rule 7.6.
#[supervise::test]
async fn s12_5_a_supervisor_that_escalates_at_the_limit_fails_with_the_cause(system: &TestSystem) {
    let probe = system.probe();
    let top = keeper_deciding(system, Strategy::one_for_one(), |_| Directive::Stop);
    let strategy = Strategy::one_for_one().max_retries(1).on_limit(supervise::OnLimit::Escalate);
    let boss = keeper_under(&top, "boss", keeping(strategy, always_restart)).await;
    let actor = child(&boss, "actor", PingPong::factory(&probe.handle())).await;
    assert_eq!(outcome(system, &actor).await, RESTARTING);
    actor.die("the last").tell().unwrap();
    let refused = system.expect_decision(&actor).await;
    assert_eq!((refused.directive, refused.outcome), (Directive::Restart, Outcome::LimitEscalated));
    let above = system.expect_decision(&boss).await;
    assert!(above.failure.is_same(&refused.failure));
    system.expect_terminated(&boss).await;
}

/// Rule 7.2.
#[supervise::test]
async fn s12_3_a_count_of_the_supervisor_is_charged_once_for_a_group(system: &TestSystem) {
    let probe = system.probe();
    let strategy = Strategy::all_for_one().max_retries(3).count(Count::Supervisor);
    let boss = keeper(system, strategy);
    let children = three(&boss, &probe.handle()).await;
    for culprit in [0, 1, 2] {
        let restarting = Outcome::Restarting { children: 3, delay: None };
        assert_eq!(outcome(system, &children[culprit]).await, restarting);
    }
    assert_eq!(outcome(system, &children[0]).await, Outcome::LimitReached { children: 3 });
}

/// Breaks a pact, is killed, fails and panics.
/// Rule 3.3.
#[supervise::test]
async fn s13_1_the_default_decider_tells_the_kinds_apart(system: &TestSystem) {
    let probe = system.probe();
    let boss = keeper_deciding(system, Strategy::one_for_one(), default_decider);
    let [a, b, c] = three(&boss, &probe.handle()).await;
    assert_eq!(outcome(system, &a).await, RESTARTING);
    a.panic("aargh").tell().unwrap();
    assert_eq!(system.expect_decision(&a).await.directive, Directive::Restart);
    b.actor_ref().kill();
    assert_eq!(system.expect_decision(&b).await.directive, Directive::Stop);
    let handle = probe.handle();
    let pact = child(&boss, "pact", move || Witness::new("pact", &handle)).await;
    let subject = c.clone();
    within(&pact, move |ctx| ctx.death_pact(&subject)).await;
    c.actor_ref().stop();
    assert_eq!(system.expect_decision(&pact).await.directive, Directive::Stop);
    let unable = child(&boss, "unable", || Err::<PingPong, _>(Boom("no"))).await;
    let delayed = Outcome::Restarting { children: 1, delay: Some(Duration::from_millis(100)) };
    assert_eq!(system.expect_decision(&unable).await.outcome, delayed, "unlike Akka's");
    unable.actor_ref().stop();
    system.expect_terminated(&unable).await;
    assert_eq!(names_of_children(&boss).await, ["a"]);
}

/// Rule 3.1.
#[supervise::test]
async fn s13_3_the_stopping_decider_stops_errors_and_panics(system: &TestSystem) {
    let probe = system.probe();
    let boss = keeper_deciding(system, Strategy::one_for_one(), stopping_decider);
    let [a, b, c] = three(&boss, &probe.handle()).await;
    a.die("boom").tell().unwrap();
    b.panic("aargh").tell().unwrap();
    c.actor_ref().kill();
    for actor in [&a, &b, &c] {
        assert_eq!(system.expect_decision(actor).await.outcome, Outcome::Stopped { children: 1 });
    }
}

/// Rule 9.1.
#[supervise::test]
async fn s14_6_killing_the_system_guardian_ends_the_system(system: &TestSystem) {
    let probe = system.probe();
    let actor = system.spawn("actor", PingPong::factory(&probe.handle())).unwrap();
    system.system_guardian().kill();
    assert_eq!(system.when_terminated().await.unwrap_err().kind(), FailureKind::Killed);
    assert!(actor.actor_ref().has_ended());
    assert_eq!(probe.all().await, ["stopped"]);
    system.take_all(|event| matches!(event, Event::Decided { .. })).await;
}

/// Rule 7.8.
#[supervise::test]
async fn a10_a_group_is_suspended_at_once_and_restarted_after_the_delay(system: &TestSystem) {
    let probe = system.probe();
    let boss = keeper(system, Strategy::all_for_one().backoff(Backoff::exponential(secs(5), secs(5))));
    let [a, b, c] = three(&boss, &probe.handle()).await;
    a.die("boom").tell().unwrap();
    system.settle().await;
    for actor in [&a, &b, &c] {
        assert_eq!(suspensions(actor), 1);
        actor.ping().tell().unwrap();
    }
    system.advance(ms(4_999)).await;
    probe.expect_none().await;
    system.advance(ms(1)).await;
    let heard = probe.all().await;
    assert_eq!(heard.iter().filter(|heard| *heard == "restarted for boom").count(), 3);
    assert_eq!(heard.iter().filter(|heard| *heard == "ping").count(), 3);
    system.take_all(|event| matches!(event, Event::Decided { .. })).await;
}

/// Rule 7.8.
#[supervise::test]
async fn a10_a_restart_of_the_supervisor_takes_the_place_of_the_delayed_one(system: &TestSystem) {
    let probe = system.probe();
    let boss = keeper(system, Strategy::one_for_one().backoff(Backoff::exponential(secs(60), secs(60))));
    let actor = child(&boss, "actor", PingPong::factory(&probe.handle())).await;
    actor.die("boom").tell().unwrap();
    system.advance(secs(10)).await;
    fail(&boss, "own");
    assert_eq!(actor.count().await.unwrap(), 1);
    assert_eq!(probe.all().await, ["restarted for own"]);
    system.advance(secs(120)).await;
    probe.expect_none().await;
    system.expect_restarts(&actor, 1).await;
    system.expect_restarts(&boss, 1).await;
}

/// The delay of each failure in turn, `pause` after each restart.
async fn delays(system: &TestSystem, name: &'static str, backoff: Backoff, pauses: &[u64]) -> Vec<Duration> {
    let probe = system.probe();
    let boss = keeping(Strategy::one_for_one().backoff(backoff), always_restart);
    let boss = system.spawn_with(name, boss).unwrap();
    let actor = child(&boss, "actor", PingPong::factory(&probe.handle())).await;
    let mut delays = Vec::new();
    for pause in pauses {
        let Outcome::Restarting { delay: Some(delay), .. } = outcome(system, &actor).await else {
            panic!("there is no limit");
        };
        delays.push(delay);
        system.advance(delay + ms(*pause)).await;
    }
    delays
}

/// Rule 7.8.
#[supervise::test]
async fn a10_s23_1_delays_double_up_to_the_longest_and_begin_anew_after_a_quiet_time(system: &TestSystem) {
    let backoff = Backoff::exponential(secs(3), secs(30));
    let at_once = delays(system, "at-once", backoff, &[0; 7]).await;
    assert_eq!(at_once, [3, 6, 12, 24, 30, 30, 30].map(secs));
    let quiet = delays(system, "quiet", backoff, &[0, 0, 29_999, 30_000, 0, 0]).await;
    assert_eq!(quiet, [3, 6, 12, 24, 3, 6].map(secs));
    let jittered = delays(system, "jittered", backoff.jitter(0.2), &[0; 6]).await;
    for (delay, base) in jittered.iter().zip([3, 6, 12, 24, 30, 30].map(secs)) {
        assert!(*delay >= base && *delay < base.mul_f64(1.2), "{delay:?} for {base:?}");
    }
}

/// Rule 7.8.
#[supervise::test]
async fn s23_1_an_actor_starts_its_delays_anew_by_hand(system: &TestSystem) {
    let boss =
        keeper(system, Strategy::one_for_one().backoff(Backoff::exponential(secs(1), secs(60)).manual_reset()));
    let actor = child(&boss, "actor", || Resetting).await;
    let mut seen = Vec::new();
    for reset in [false, false, true, false] {
        if reset {
            actor.reset().await.unwrap();
        }
        actor.fail().tell().unwrap();
        let decided = system.expect_decision(&actor).await;
        let Outcome::Restarting { delay: Some(delay), .. } = decided.outcome else { panic!("{decided:?}") };
        seen.push(delay);
        system.advance(delay + secs(600)).await;
    }
    assert_eq!(seen, [1, 2, 1, 2].map(secs));
}

#[actor]
struct Resetting;

#[actor]
impl Resetting {
    #[handler]
    fn reset(&mut self, ctx: &mut Context<Self>) {
        ctx.reset_backoff();
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Boom> {
        Err(Boom("boom"))
    }
}

/// Rule 10.2.
#[supervise::test]
async fn s24_1_the_level_of_a_decision_is_its_directive_s_or_its_strategy_s(system: &TestSystem) {
    use supervise::{Log as Loudness, LogLevel};
    use tracing::Level;
    for (name, directive, loudness, expected) in [
        ("restart", Directive::Restart, Loudness::Default, vec![Level::ERROR]),
        ("stop", Directive::Stop, Loudness::Default, vec![Level::ERROR]),
        ("resume", Directive::Resume, Loudness::Default, vec![Level::WARN]),
        ("quiet", Directive::Restart, Loudness::Off, vec![]),
        ("info", Directive::Resume, Loudness::At(LogLevel::Info), vec![Level::INFO]),
        ("info-restart", Directive::Restart, Loudness::At(LogLevel::Info), vec![Level::INFO]),
    ] {
        let probe = system.probe();
        let boss = keeping(Strategy::one_for_one().log(loudness), move |_| directive);
        let boss = system.spawn_with(name, boss).unwrap();
        let actor = child(&boss, "actor", PingPong::factory(&probe.handle())).await;
        system.settle().await;
        let log = Log::open();
        actor.die("the reason").tell().unwrap();
        system.expect_decision(&actor).await;
        let said: Vec<_> = log.all().into_iter().filter(|record| record.text.contains("the reason")).collect();
        let loud: Vec<_> = said.iter().map(|record| record.level).filter(|level| *level <= Level::INFO).collect();
        assert_eq!(loud, expected, "{name}: {said:?}");
    }
}

/// Rule 10.2.
#[supervise::test]
async fn s24_3_a_refused_restart_is_said_once_with_what_came_of_it(system: &TestSystem) {
    let probe = system.probe();
    let boss = keeper(system, Strategy::one_for_one().max_retries(0));
    let actor = child(&boss, "actor", PingPong::factory(&probe.handle())).await;
    let log = Log::open();
    assert_eq!(outcome(system, &actor).await, Outcome::LimitReached { children: 1 });
    let errors = log.errors();
    assert!(
        matches!(&errors[..], [error] if error.contains("boom") && error.contains("outcome=\"limit\"")),
        "{errors:?}"
    );
    assert!(errors[0].to_lowercase().contains("limit"), "{errors:?}");
}

/// Rule 3.6.
#[supervise::test]
async fn s10_2_an_escalation_that_is_stopped_above_ends_the_whole_branch(system: &TestSystem) {
    let probe = system.probe();
    let top = keeper_deciding(system, Strategy::one_for_one(), |_| Directive::Stop);
    let boss = keeper_under(&top, "boss", keeping(Strategy::one_for_one(), always_escalate)).await;
    let [a, b, c] = three(&boss, &probe.handle()).await;
    b.ping().tell().unwrap();
    a.die("boom").tell().unwrap();
    assert_eq!(system.expect_terminated(&boss).await, HowEnded::Graceful);
    assert!([&a, &b, &c].iter().all(|child| child.actor_ref().has_ended()));
    assert_eq!(probe.all().await, ["ping", "stopped", "stopped", "stopped"]);
    assert_eq!(system.expect_decision(&a).await.outcome, Outcome::Escalated);
    assert_eq!(system.expect_decision(&boss).await.outcome, Outcome::Stopped { children: 1 });
}

/// A rule's guard is user code, on the supervisor's turn.
/// Rules 3.2, 11.1.
#[supervise::test]
async fn s25_5_only_a_rule_of_its_own_resumes_a_panic(system: &TestSystem) {
    let probe = system.probe();
    let careful = system.spawn("careful", || Careful).unwrap();
    let actor = careful.adopt(probe.handle()).await.unwrap();
    assert_eq!(actor.count().await.unwrap(), 1);
    actor.die("boom").tell().unwrap();
    assert_eq!(actor.count().await.unwrap(), 2, "resumed by `on(_)`");
    actor.panic("aargh").tell().unwrap();
    assert_eq!(actor.count().await.unwrap(), 1, "restarted by its own rule");
    let directives =
        [system.expect_decision(&actor).await.directive, system.expect_decision(&actor).await.directive];
    assert_eq!(directives, [Directive::Resume, Directive::Restart]);
}

#[actor]
#[supervise(on(Panic) = Restart, on(_) = Resume)]
struct Careful;

#[actor]
impl Careful {
    #[handler]
    fn adopt(&mut self, voice: ProbeHandle<String>, ctx: &mut Context<Self>) -> Result<PingPongRef, SpawnError> {
        ctx.spawn("child", PingPong::factory(&voice))
    }
}
