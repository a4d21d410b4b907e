//! Invalid names, paths and selections.

use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{ActorPath, InvalidName, SpawnError};

use crate::Modest;

const NAMES: [&str; 14] = ["", " ", "..", "a b", "a/b", "/", "$a", "ü", "a\0b", "%", "%4", "%zz", "a#1", "🦀"];

#[supervise::test]
async fn what_is_no_name_is_refused_where_it_is_given(system: &TestSystem) {
    for name in NAMES {
        let error = system.spawn(name, Modest::new).unwrap_err();
        assert!(matches!(error, SpawnError::InvalidName { .. }), "{name:?}: {error}");
        assert!(error.to_string().starts_with("cannot spawn under supervise://test/user: "), "{error}");
    }
    let error = system.spawn("a b", Modest::new).unwrap_err();
    assert!(error.to_string().contains("must not contain ` ` (byte 1)"), "{error}");
}

#[test]
fn what_is_no_system_name_is_refused() {
    for name in NAMES.into_iter().chain(["-a", "a.b", "_"]) {
        assert!(ActorSystem::builder(name).start().is_err(), "{name:?}");
    }
}

#[supervise::test]
async fn strange_names_that_are_names_are_taken(system: &TestSystem) {
    let long = "n".repeat(1 << 20);
    for name in [".", "...", "*", "a*", "%20", "-", "_", "~';@&=,!:+$", &long] {
        let actor = system.spawn(name, Modest::new).unwrap();
        assert_eq!(actor.actor_ref().path().name(), name);
        assert_eq!(actor.count().await.unwrap(), 1);
        assert_eq!(system.find(format!("/user/{name}")).map(|found| found.uid()), Some(actor.actor_ref().uid()));
    }
}

#[supervise::test]
async fn a_taken_name_is_refused_and_free_again_after_the_end(system: &TestSystem) {
    let first = system.spawn("one", Modest::new).unwrap();
    let error = system.spawn("one", Modest::new).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot spawn `one` under supervise://test/user: the name is taken. Spawn it once, in `#[pre_start]` or as a `#[child]`, and keep its \
         ref; `ctx.child(\"one\")` finds it, and `spawn_anonymous` needs no name"
    );
    system.stop(&first);
    system.ended(&first).await;
    system.settle().await;
    system.spawn("one", Modest::new).unwrap();
}

/// Text made of the pieces that have a meaning in paths and selections.
fn gibberish(rng: &mut fastrand::Rng) -> String {
    const PIECES: [&str; 22] = [
        "supervise://",
        "s",
        "/",
        "//",
        "user",
        "*",
        "?",
        "..",
        ".",
        "#",
        "#7",
        "$a",
        "%",
        "%2",
        "%20",
        "ü",
        "\0",
        " ",
        "🦀",
        "99999999999999999999999",
        "-",
        "a",
    ];
    const BEGINNINGS: [&str; 4] = ["", "supervise://s/user", "/user/", "supervise://test/user/a"];
    let beginning = BEGINNINGS[rng.usize(..BEGINNINGS.len())];
    let rest = (0..rng.usize(..8)).map(|_| PIECES[rng.usize(..PIECES.len())]);
    std::iter::once(beginning).chain(rest).collect()
}

#[test]
fn every_text_is_a_path_that_prints_as_it_was_written_or_an_error() {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut paths = 0;
    for _ in 0..50_000 {
        let text = gibberish(&mut rng);
        match text.parse::<ActorPath>() {
            Ok(path) => {
                assert_eq!(path.to_string().parse::<ActorPath>().unwrap(), path);
                assert_eq!(path.to_string().trim_end_matches('/'), text.trim_end_matches('/'));
                let _ = (path.parent(), path.name(), path.elements().rev().count());
                paths += 1;
            }
            Err(error) => assert!(error.to_string().contains("is not an actor path"), "{error}"),
        }
    }
    assert!(paths > 500, "only {paths} paths");
}

#[supervise::test]
async fn every_text_is_a_selection_or_an_error_and_finds_those_who_are_there(system: &TestSystem) {
    system.allow_dead_letters();
    let actor = system.spawn("a", Modest::new).unwrap();
    let mut rng = fastrand::Rng::with_seed(2);
    let mut hits = 0;
    for _ in 0..20_000 {
        let text = gibberish(&mut rng);
        let _ = system.find(&text);
        match system.select(&text) {
            Ok(selection) => {
                hits += usize::from(selection.of::<Modest>().identify().contains(&actor));
                let _ = (format!("{selection:?}"), selection.identify());
            }
            Err(error) => assert!(error.to_string().contains("is not a valid selection"), "{error}"),
        }
    }
    assert!(hits > 10, "only {hits} hits");
}

#[supervise::test]
async fn a_selection_of_many_stars_is_no_trap(system: &TestSystem) {
    system.spawn("a".repeat(2_000), Modest::new).unwrap();
    let nobody = system.select(format!("/user/{}b", "a*".repeat(1_000))).unwrap();
    assert_eq!(nobody.identify().len(), 0);
    let deep = system.select("/user/..".repeat(5_000)).unwrap();
    assert_eq!(deep.identify().len(), 1);
}

#[test]
fn an_error_about_a_name_says_what_is_wrong_with_it() {
    let error = "supervise://s/user".parse::<ActorPath>().unwrap().child("a/b").unwrap_err();
    assert!(matches!(error, InvalidName::Character { found: '/', at: 1, .. }), "{error}");
}

/// A value of a table that is longer than a line of rustc's.
#[actor]
#[supervise(
    one_for_one(
        max_retries = 3,
        within = self.seconds_of_the_longest_shift_that_anyone_here_has_ever_worked.saturating_sub(
            self.seconds_of_the_longest_break_that_anyone_here_has_ever_taken.saturating_mul(self.breaks_in_the_longest_shift),
        ),
    ),
    on(_) = Restart,
)]
struct Factory {
    seconds_of_the_longest_shift_that_anyone_here_has_ever_worked: Duration,
    seconds_of_the_longest_break_that_anyone_here_has_ever_taken: Duration,
    breaks_in_the_longest_shift: u32,
}

#[actor]
impl Factory {}

#[test]
fn a_setting_that_is_refused_is_named_in_one_line() {
    let factory = Factory {
        seconds_of_the_longest_shift_that_anyone_here_has_ever_worked: Duration::ZERO,
        seconds_of_the_longest_break_that_anyone_here_has_ever_taken: Duration::ZERO,
        breaks_in_the_longest_shift: 2,
    };
    let error = factory.configure().expect_err("the window is zero").to_string();
    assert_eq!(error.lines().count(), 1, "{error}");
}
