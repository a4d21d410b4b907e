//! KEY: how many keyed children there may be.
//!
//! Rule 18.10.

use supervise::prelude::*;
use supervise::testkit::TestSystem;
use supervise::{AskError, DeadLetterReason};

#[actor]
struct Host {
    name: String,
}

#[actor]
impl Host {
    #[handler]
    fn name(&self) -> String {
        self.name.clone()
    }
}

#[actor]
struct Collector {
    most: usize,
    #[child(|_| |name: &String| Host { name: name.clone() }, limit = self.most)]
    hosts: Children<String, Host>,
    #[child(|_| |name: &String| Host { name: name.clone() }, limit = 1, idle = "5m")]
    others: Children<String, Host>,
}

#[actor]
impl Collector {
    #[handler]
    fn both(&self) -> (Children<String, Host>, Children<String, Host>) {
        (self.hosts.clone(), self.others.clone())
    }
}

async fn collector(system: &TestSystem, most: usize) -> (Children<String, Host>, Children<String, Host>) {
    let make = move || Collector { most, hosts: Children::default(), others: Children::default() };
    system.spawn("collector", make).unwrap().both().await.unwrap()
}

/// Rule 18.10.
#[supervise::test]
async fn key_23_there_are_no_more_children_than_the_limit_says(system: &TestSystem) {
    let (hosts, others) = collector(system, 2).await;
    let host = |name: &str| hosts.get_or_spawn(name.to_owned());
    let (first, second) = (host("a").unwrap(), host("b").unwrap());
    let refused = host("c").unwrap_err();
    let said = "cannot spawn under supervise://test/user/collector/hosts: it has 2 children, as many as its `limit` allows";
    assert_eq!(refused.to_string(), said);
    assert_eq!(refused, SpawnError::TooManyChildren { parent: hosts.path(), limit: 2 });
    assert_eq!((host("a").unwrap(), host("b").unwrap(), hosts.len()), (first.clone(), second, 2), "these exist");
    others.get_or_spawn("a".to_owned()).unwrap();
    others.get_or_spawn("b".to_owned()).unwrap_err();

    // A child that is passivated leaves its place when it has ended.
    hosts.passivate(&"a".to_owned());
    system.expect_terminated(&first).await;
    host("c").unwrap();
    // Its next message needs a new child, which there is no room for.
    assert!(matches!(first.name().await, Err(AskError::TooManyChildren)));
    assert_eq!(system.expect_dead_letter(&first).await.reason, DeadLetterReason::TooManyChildren);
    hosts.passivate(&"c".to_owned());
    system.settle().await;
    assert_eq!(first.name().await.unwrap(), "a");
}

/// A successor has the place of its predecessor.
///
/// Rules 18.3, 18.10.
#[supervise::test]
async fn key_23_a_successor_needs_no_room(system: &TestSystem) {
    let (hosts, _others) = collector(system, 1).await;
    let host = hosts.get_or_spawn("a".to_owned()).unwrap();
    hosts.passivate(&"a".to_owned());
    let asked = host.name().ask().unwrap();
    hosts.get_or_spawn("b".to_owned()).unwrap_err();
    assert_eq!(asked.await.unwrap(), "a");
}

/// Rule 18.10.
#[supervise::test]
async fn key_23_a_message_to_a_child_that_finds_no_room_says_so(system: &TestSystem) {
    let (hosts, _others) = collector(system, 1).await;
    let first = hosts.get_or_spawn("a".to_owned()).unwrap();
    hosts.passivate(&"a".to_owned());
    system.expect_terminated(&first).await;
    let second = hosts.get_or_spawn("b".to_owned()).unwrap();

    let said = "there are as many keyed children as their `limit` allows";
    let error = first.name().await.unwrap_err();
    assert_eq!(error.to_string(), said);
    assert!(!error.has_stopped(), "a retry can help");
    assert_eq!(format!("{:?}", system.expect_dead_letter(&first).await.reason), "TooManyChildren");
    assert_eq!(first.name().tell().unwrap_err().to_string(), said);
    assert_eq!(first.name().send().await.unwrap_err().to_string(), said);
    assert_eq!(first.name().ask().unwrap_err().to_string(), said);

    hosts.passivate(&"b".to_owned());
    system.expect_terminated(&second).await;
    assert_eq!(first.name().await.unwrap(), "a");
    let rest = system.take_all(|event| matches!(event, supervise::Event::DeadLetter(_))).await;
    assert_eq!(rest.len(), 3, "{rest:?}");
}

/// A child that was stopped has ended, whatever the limit says.
///
/// Rules 18.5, 18.10.
#[supervise::test]
async fn key_23_a_child_that_was_stopped_has_stopped(system: &TestSystem) {
    let (hosts, _others) = collector(system, 1).await;
    let first = hosts.get_or_spawn("a".to_owned()).unwrap();
    first.actor_ref().stop();
    system.expect_terminated(&first).await;
    hosts.get_or_spawn("b".to_owned()).unwrap();
    assert!(first.name().await.unwrap_err().has_stopped());
    assert_eq!(system.expect_dead_letter(&first).await.reason, DeadLetterReason::Stopped);
}
