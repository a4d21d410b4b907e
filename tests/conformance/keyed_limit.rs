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

/// Rule 18.10.
#[supervise::test]
async fn key_23_there_are_no_more_children_than_the_limit_says(system: &TestSystem) {
    let spawned = system
        .spawn("collector", || Collector { most: 2, hosts: Children::default(), others: Children::default() })
        .unwrap();
    let (hosts, others) = spawned.both().await.unwrap();
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
    let spawned = system
        .spawn("collector", || Collector { most: 1, hosts: Children::default(), others: Children::default() })
        .unwrap();
    let (hosts, _) = spawned.both().await.unwrap();
    let host = hosts.get_or_spawn("a".to_owned()).unwrap();
    hosts.passivate(&"a".to_owned());
    let asked = host.name().ask().unwrap();
    hosts.get_or_spawn("b".to_owned()).unwrap_err();
    assert_eq!(asked.await.unwrap(), "a");
}
