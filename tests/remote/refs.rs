//! Refs: finding, sending, refs in messages.
//!
//! Rules 26.1, 26.7 and 26.8.

use std::time::Duration;

use supervise::remote::memory::Network;
use supervise::remote::{FindError, Node};
use supervise::{ActorSystem, DeadLetterReason, SendErrorReason, actor};

use crate::fixture::{Echo, EchoRef, Heard, Listener, Place, drain, listener, settle, soon, two};

#[tokio::test(start_paused = true)]
async fn rem_01_a_found_ref_prints_its_node_and_found_again_is_equal() {
    let network = Network::new(1);
    let (here, there) = (Place::new(&network, "here").await, Place::new(&network, "there").await);
    let echo = there.echo("echo", &here).await;
    let path = there.path("echo");
    assert_eq!(echo.actor_ref().path().to_string(), "supervise://there@there:1/user/echo");
    assert_eq!(echo.actor_ref().path().system(), "there");
    assert!(!echo.actor_ref().is_local());
    assert_eq!(echo.actor_ref().node().as_deref(), Some("there:1"));
    assert_eq!(soon(here.node.find::<Echo>(&path)).await.unwrap(), echo);
    let own = soon(there.node.find::<Echo>(&path)).await.unwrap();
    assert!(own.actor_ref().is_local());
    assert_ne!(own, echo);
}

#[tokio::test(start_paused = true)]
async fn rem_02_eight_tasks_tell_and_each_ones_messages_stay_in_order() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let echo = there.echo("echo", &here).await;
    let tasks: Vec<_> = (0..8_u64)
        .map(|task| {
            let echo = echo.clone();
            tokio::spawn(async move {
                for number in 0..200 {
                    echo.note(task * 1000 + number).tell().unwrap();
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let noted = soon(echo.noted()).await.unwrap();
    assert_eq!(noted.len(), 1600);
    for task in 0..8 {
        let own: Vec<u64> =
            noted.iter().filter(|number| *number / 1000 == task).map(|number| number % 1000).collect();
        assert_eq!(own, (0..200).collect::<Vec<_>>());
    }
}

#[tokio::test(start_paused = true)]
async fn rem_03_an_ask_gives_the_reply() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let echo = there.echo("echo", &here).await;
    assert_eq!(soon(echo.echo(String::new())).await.unwrap(), "");
    echo.note(7).tell().unwrap();
    assert_eq!(soon(echo.noted()).await.unwrap(), [7]);
    assert_eq!(soon(echo.sum(1, 2, 4, 8, 16, 32)).await.unwrap(), 63);
    let large = "x".repeat((1 << 20) - 100);
    assert_eq!(soon(echo.echo(large.clone())).await.unwrap(), large);
}

#[derive(Default)]
#[actor]
struct Unserved;

#[actor(remote)]
impl Unserved {}

#[tokio::test(start_paused = true)]
async fn rem_04_each_reason_for_finding_nobody_has_its_error_in_time() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let _echo = there.echo("echo", &here).await;
    let path = there.path("echo");
    let nobody = soon(here.node.find::<Echo>(there.path("nobody"))).await;
    assert!(matches!(nobody, Err(FindError::NotFound(_))), "{nobody:?}");
    let other = soon(here.node.find::<Listener>(&path)).await;
    assert!(matches!(&other, Err(FindError::OtherType { is }) if is.ends_with("Echo")), "{other:?}");
    assert_eq!(soon(here.node.find::<Unserved>(&path)).await, Err(FindError::NotServed("Unserved".to_owned())));
    let began = tokio::time::Instant::now();
    let gone = soon(here.node.find::<Echo>("supervise://there@nowhere:1/user/echo")).await;
    assert_eq!(gone, Err(FindError::NoNode("there@nowhere:1".to_owned())));
    assert_eq!(began.elapsed(), Duration::from_secs(5));
    let text = "supervise://there/user/echo";
    assert_eq!(soon(here.node.find::<Echo>(text)).await, Err(FindError::NoAddress(text.to_owned())));
    assert!(matches!(soon(here.node.find::<Echo>("there")).await, Err(FindError::Path(_))));
}

#[tokio::test(start_paused = true)]
async fn rem_05_a_ref_does_not_reach_a_later_actor_of_its_name() {
    let network = Network::new(1);
    let (here, mut there) = two(&network).await;
    let first = there.echo("echo", &here).await;
    let own = soon(there.node.find::<Echo>(there.path("echo"))).await.unwrap();
    there.system.graceful_stop(&own, Duration::from_secs(1)).await.unwrap();
    settle().await;
    let second = there.echo("echo", &here).await;
    assert_ne!(first, second);
    // The first says that the actor has ended, the next finds its ref closed.
    first.note(1).tell().unwrap();
    settle().await;
    assert_eq!(there.dead_letters()[0].reason, DeadLetterReason::Stopped);
    assert_eq!(first.note(2).tell().unwrap_err().reason(), SendErrorReason::Stopped);
    assert!(soon(first.noted()).await.unwrap_err().has_stopped());
    assert_eq!(soon(second.noted()).await.unwrap(), [0; 0]);
}

#[tokio::test(start_paused = true)]
async fn rem_06_a_restart_there_keeps_ref_mailbox_and_watchers() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let echo = there.echo("echo", &here).await;
    let (watcher, mut heard) = listener(&here, "watcher");
    watcher.watch(echo.clone()).await.unwrap();
    settle().await;
    echo.note(1).tell().unwrap();
    echo.fail("door".to_owned()).tell().unwrap();
    echo.note(2).tell().unwrap();
    assert_eq!(soon(echo.noted()).await.unwrap(), [2]);
    settle().await;
    assert_eq!(drain(&mut heard), []);
    echo.actor_ref().stop();
    settle().await;
    assert!(matches!(&drain(&mut heard)[..], [Heard::Gone(..)]));
}

#[tokio::test(start_paused = true)]
async fn rem_07_a_ref_in_a_message_works_there_and_at_a_third_node_and_comes_home() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let third = Place::new(&network, "third").await;
    settle().await;
    let echo = there.echo("echo", &here).await;
    third.system.spawn("echo", Echo::default).unwrap();
    let at_third = soon(here.node.find::<Echo>(third.path("echo"))).await.unwrap();
    let (own, mut heard) = listener(&here, "own");
    assert!(!soon(echo.take(own.clone())).await.unwrap(), "it is not local there");
    assert!(soon(echo.tell_taken(1)).await.unwrap());
    // A ref to an actor of the third node, sent by this one, reaches it from the second.
    assert!(!soon(echo.pass_on(at_third.clone())).await.unwrap());
    assert!(soon(at_third.tell_taken(2)).await.unwrap());
    let home = soon(at_third.give_back()).await.unwrap().expect("it was given");
    assert!(home.actor_ref().is_local());
    assert_eq!(home, own);
    home.hear(3).tell().unwrap();
    settle().await;
    assert_eq!(drain(&mut heard), [1, 2, 3].map(Heard::Number));
}

#[tokio::test(start_paused = true)]
async fn rem_08_a_ref_that_reaches_nobody_comes_as_a_dead_ref_and_the_rest_arrives() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let third = Place::new(&network, "third").await;
    settle().await;
    let echo = there.echo("echo", &here).await;
    let (_far, _heard) = listener(&third, "far");
    let far = soon(here.node.find::<Listener>(third.path("far"))).await.unwrap();
    network.kill("third:1");
    settle().await;
    assert!(far.actor_ref().has_ended());
    assert!(!soon(echo.take(far)).await.unwrap());
    assert!(!soon(echo.tell_taken(1)).await.unwrap(), "nobody is reached");
    let (ended, _heard) = listener(&here, "ended");
    here.system.graceful_stop(&ended, Duration::from_secs(1)).await.unwrap();
    let second = there.echo("second", &here).await;
    assert!(!soon(second.take(ended.clone())).await.unwrap());
    drop(ended);
    let home = soon(second.give_back()).await.unwrap().expect("it was given");
    assert!(home.actor_ref().has_ended());
}

#[tokio::test(start_paused = true)]
async fn rem_09_a_message_of_the_limit_arrives_and_one_byte_more_does_not() {
    let network = Network::new(1);
    let mut here = Place::with(&network, "here", |builder| builder.max_message(1000)).await;
    let there = Place::with(&network, "there", |builder| builder.max_message(1000)).await;
    let echo = there.echo("echo", &here).await;
    // MessagePack writes three bytes before an array of this length.
    assert_eq!(soon(echo.bytes(vec![1; 997])).await.unwrap(), 997);
    echo.bytes(vec![1; 998]).tell().unwrap();
    let refused = soon(echo.bytes(vec![1; 998])).await;
    assert!(matches!(refused, Err(supervise::AskError::Undeliverable)), "{refused:?}");
    assert_eq!(soon(echo.bytes(vec![1; 996])).await.unwrap(), 996);
    let reasons: Vec<_> = here.dead_letters().iter().map(|letter| letter.reason).collect();
    assert_eq!(reasons, [DeadLetterReason::TooLarge; 2]);
    assert_eq!(soon(echo.noted()).await.unwrap(), [997, 996]);
}

#[tokio::test(start_paused = true)]
async fn rem_19_a_ref_that_nobody_holds_is_forgotten_and_found_again_works() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let mut kept: Vec<EchoRef> = Vec::new();
    for number in 0..500 {
        let echo = there.echo(&format!("echo-{number}"), &here).await;
        echo.note(number).tell().unwrap();
        if number < 10 {
            kept.push(echo);
        }
    }
    let known = here.node.known_refs();
    assert!((10..150).contains(&known), "{known} refs are known");
    for (number, echo) in (0..).zip(&kept) {
        assert_eq!(soon(echo.noted()).await.unwrap(), [number]);
    }
    let again = soon(here.node.find::<Echo>(there.path("echo-20"))).await.unwrap();
    assert_eq!(soon(again.noted()).await.unwrap(), [20], "nothing was lost");
}

#[tokio::test(start_paused = true)]
async fn rem_z_a_system_joins_once_and_a_ref_needs_a_node_to_travel() {
    let network = Network::new(1);
    let here = Place::new(&network, "here").await;
    let again = Node::builder(&here.system).join(network.transport("other:1")).await;
    assert!(again.is_err());
    let alone = ActorSystem::new("alone");
    let echo = alone.spawn("echo", Echo::default).unwrap();
    assert!(serde_json::to_string(&echo).is_err());
    assert!(alone.node().is_none());
}
