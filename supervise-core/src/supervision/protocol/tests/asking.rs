//! What the performer and the tree of actors may ask.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::*;

fn name(name: &str) -> ActorName {
    ActorName::from(name)
}

fn named(actor: &mut Actor, child: &str, target: u32) {
    assert_eq!(actor.spawn(&name(child), |_, _| target), Ok(target));
}

fn hash(actor: &Actor) -> u64 {
    let mut hasher = DefaultHasher::new();
    actor.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn children_are_found_by_name() {
    let mut actor = running(0);
    named(&mut actor, "a", A);
    named(&mut actor, "b", B);
    assert_eq!((actor.child_named("b"), actor.child_named("c")), (Some(&B), None));
}

#[test]
fn a_child_is_known_by_its_name_and_its_restarts() {
    let mut actor = running(0);
    named(&mut actor, "a", A);
    assert_eq!(actor.child_info(id(A)), Some((name("a"), 0)));
    for restarts in 1..3 {
        drive(&mut actor, failed(A, X));
        decide(&mut actor, Directive::Restart, &ONE_FOR_ONE.max_retries(9));
        assert_eq!(actor.child_info(id(A)), Some((name("a"), restarts)));
    }
    assert_eq!(actor.child_info(id(B)), None);
}

#[test]
fn both_sides_of_a_watch_are_known() {
    let mut actor = running(0);
    command(&mut actor, |actor, effects| actor.watch(&7, WatchKind::Notify, effects));
    drive(&mut actor, Watch(8));
    assert_eq!(actor.watched().collect::<Vec<_>>(), [&7]);
    assert_eq!(actor.watchers().collect::<Vec<_>>(), [&8]);
}

#[test]
fn what_is_abandoned_has_ended_and_does_nothing() {
    let mut actor = running(1);
    assert!(!actor.has_ended());
    assert_eq!(actor.abandon().children().count(), 1);
    assert!(actor.has_ended());
    assert_eq!(drive(&mut actor, Suspend), []);
}

#[test]
fn states_that_differ_by_a_child_differ_by_their_hash() {
    assert_ne!(hash(&running(1)), hash(&running(2)));
}

#[test]
fn a_note_about_a_child_says_which() {
    assert_eq!(News::ReportDeferred(id(B)).child(), Some(id(B)));
    assert_eq!(News::Resumed.child(), None);
}

#[test]
fn a_made_up_name_finds_its_child_and_no_other() {
    let mut actor = running(0);
    named(&mut actor, "first", 1);
    let anonymous = actor.spawn_anonymous(|name, id, inherited| {
        assert_eq!((&**name, id, inherited), ("$b", ChildId(1), 0));
        2
    });
    assert_eq!(anonymous, Ok(2));
    let found =
        |actor: &Actor| ["$a", "$b", "$ba", "$c", "first", "$"].map(|name| actor.child_named(name).copied());
    assert_eq!(found(&actor), [None, Some(2), None, None, Some(1), None]);
    assert_eq!(actor.child_info(ChildId(1)).unwrap().0, "$b");
    drive(&mut actor, SystemMessage::Ended { subject: 2, child: Some(ChildId(1)), how: HowEnded::Graceful });
    assert_eq!(found(&actor), [None, None, None, None, Some(1), None]);
    drive(&mut actor, Terminate);
    assert_eq!(actor.spawn_anonymous(|_, _, _| 3), Err(SpawnRefusal::Stopping));
}
