//! A tree of supervisors under random failures, on real threads and the real clock (section S of the cases).
//!
//! Each node knows what must happen after a failure, and checks it before each message. The driver knows which
//! nodes must exist. The invariants:
//!
//! | | |
//! |---|---|
//! | I1 | no message is handled while a restart or resume is due, or while suspended |
//! | I2 | actors run on their system's runtime |
//! | I3 | `pre_restart` and `post_stop` run at most once on an instance; a node never has two instances, or two running handlers |
//! | I4 | after a restart a node has the children it had |
//! | I5 | a restart or resume that is due comes |
//! | I6 | every ping is answered, unless its node ended |
//! | I7 | there are no extra nodes: one at each place, and as many at the end as at the beginning |
//! | I8 | the tree ends from its leaves up, and no node is left |
//! | I9 | actors above the tree are never restarted |
//! | I10 | each node gets all messages of the driver, in order, across restarts |
//! | I11 | at the end no node is suspended and nothing is deferred; tasks and instances are gone |
//!
//! [`producers`] counts the outcomes of messages from many threads to few actors.
//!
//! `README.md` beside this directory says how to run it longer, and again with the same seed.

mod driver;
mod injected;
mod keyed;
mod node;
mod producers;
mod profile;
mod storms;
mod world;

use std::time::Duration;

use supervise::{Backoff, Strategy};

use driver::run;
use profile::{Directives, Draw, Profile};

/// A limit that is never reached, so that attempts to start follow each other without a delay.
fn at_once(strategy: Strategy) -> Strategy {
    strategy.max_retries(u32::MAX)
}

fn reference() -> Profile {
    Profile { strategy: at_once(Strategy::one_for_one()), ..Profile::reference() }
}

/// A failure of the head answers most other failures, so few are under way at once.
fn one_by_one() -> Profile {
    let profile = reference();
    Profile { keeps_idle: profile.size - profile.size / 20, ..profile }
}

#[test]
fn str_01_the_reference_mix() {
    run("str_01", reference());
}

#[test]
fn str_02_only_resume() {
    run("str_02", Profile { directives: Directives::OnlyResume, ..reference() });
}

#[test]
fn str_03_only_restart_and_nothing_else_fails() {
    let never = Draw::Always(0);
    run(
        "str_03",
        Profile {
            directives: Directives::OnlyRestart,
            fail_pre: never,
            fail_post: never,
            fail_constr: never,
            ..reference()
        },
    );
}

#[test]
fn str_04_every_hook_and_factory_fails_once() {
    let once = Draw::Always(1);
    run("str_04", Profile { fail_pre: once, fail_post: once, fail_constr: once, ..reference() });
}

#[test]
fn str_05_every_restart_stops_all_children() {
    run("str_05", Profile { stop_kids: Draw::Always(2), ..one_by_one() });
}

#[test]
fn str_06_every_failure_is_escalated_twice() {
    run("str_06", Profile { depth: Draw::Always(2), ..reference() });
}

#[test]
fn str_07_all_for_one() {
    run("str_07", Profile { strategy: at_once(Strategy::all_for_one()), ..reference() });
}

#[test]
fn str_07_rest_for_one() {
    run("str_07 rest", Profile { strategy: at_once(Strategy::rest_for_one()), ..reference() });
}

#[test]
fn str_08_restarts_stop_the_children_as_they_do_by_default() {
    run("str_08", Profile { clears: true, ..one_by_one() });
}

#[test]
fn hie_05_a_hierarchy_survives_being_stressed_while_its_handlers_and_hooks_wait() {
    run("hie_05", Profile { waits: true, ..reference() });
}

#[test]
fn hie_05_and_while_siblings_are_restarted_together() {
    let strategy = at_once(Strategy::all_for_one());
    run("hie_05 all for one", Profile { waits: true, strategy, ..reference() });
}

#[test]
fn hie_05_and_while_restarts_wait_for_a_backoff() {
    let backoff = Backoff::exponential(Duration::from_millis(1), Duration::from_millis(20)).jitter(0.5);
    let strategy = Strategy::one_for_one().backoff(backoff);
    run("hie_05 backoff", Profile { waits: true, strategy, ..reference() });
}

#[test]
fn hie_05_and_while_siblings_wait_for_a_backoff_together() {
    let backoff = Backoff::exponential(Duration::from_millis(1), Duration::from_millis(20)).jitter(0.5);
    let strategy = Strategy::rest_for_one().backoff(backoff);
    run("hie_05 group backoff", Profile { strategy, ..reference() });
}

/// Looking changes nothing. Rule 22.1.
#[test]
fn con_02_the_reference_mix_while_somebody_looks_without_pause() {
    run("con_02", Profile { looked_at: true, ..reference() });
}

#[test]
fn con_02_handlers_and_hooks_wait_while_somebody_looks_without_pause() {
    run("con_02 waits", Profile { looked_at: true, waits: true, ..reference() });
}

#[test]
fn every_message_of_many_producers_comes_to_one_end() {
    producers::run(200_000);
}
