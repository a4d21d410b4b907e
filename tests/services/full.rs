//! A message that needs a new keyed child, while the limit leaves no room for one, reports that as its error.
//!
//! Rule 18.10.

use supervise::DeadLetterReason;
use supervise::prelude::*;
use supervise::testkit::TestSystem;

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
    #[child(|_| |name: &String| Host { name: name.clone() }, limit = 1)]
    hosts: Children<String, Host>,
}

#[actor]
impl Collector {
    #[handler]
    fn hosts(&self) -> Children<String, Host> {
        self.hosts.clone()
    }
}

/// Rule 18.10.
#[supervise::test]
async fn a_message_to_a_child_that_finds_no_room_says_so(system: &TestSystem) {
    let collector = system.spawn("collector", || Collector { hosts: Children::default() }).unwrap();
    let hosts = collector.hosts().await.unwrap();
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
async fn a_child_that_was_stopped_has_stopped(system: &TestSystem) {
    let collector = system.spawn("collector", || Collector { hosts: Children::default() }).unwrap();
    let hosts = collector.hosts().await.unwrap();
    let first = hosts.get_or_spawn("a".to_owned()).unwrap();
    first.actor_ref().stop();
    system.expect_terminated(&first).await;
    hosts.get_or_spawn("b".to_owned()).unwrap();
    assert!(first.name().await.unwrap_err().has_stopped());
    assert_eq!(system.expect_dead_letter(&first).await.reason, DeadLetterReason::Stopped);
}
