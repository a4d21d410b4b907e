//! The registry.
//!
//! Rule 26.9.

use std::time::Duration;

use supervise::remote::memory::Network;

use crate::fixture::{Echo, Listener, Place, settle, soon, two};

#[tokio::test(start_paused = true)]
async fn rem_39_names_appear_at_peers_and_go_with_the_actor_and_the_node() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let echoes = here.node.listing::<Echo>("echoes");
    assert!(echoes.now().is_empty());
    let one = there.system.spawn("one", Echo::default).unwrap();
    let two = there.system.spawn("two", Echo::default).unwrap();
    there.node.register("echoes", &one).unwrap();
    there.node.register("echoes", &one).unwrap();
    there.node.register("echoes", &two).unwrap();
    settle().await;
    let now = echoes.now();
    assert_eq!(now.len(), 2, "to register twice has no effect");
    assert_eq!(soon(now[0].echo("named".to_owned())).await.unwrap(), "named");
    assert!(here.node.listing::<Listener>("echoes").now().is_empty(), "they are echoes");
    assert!(here.node.register("mine", &now[0]).is_err(), "it lives elsewhere");
    // A node that joins later hears of them too.
    let third = Place::new(&network, "third").await;
    settle().await;
    assert_eq!(third.node.listing::<Echo>("echoes").now().len(), 2);
    let mut changes = here.node.listing::<Echo>("echoes");
    there.system.graceful_stop(&one, Duration::from_secs(1)).await.unwrap();
    soon(changes.changed()).await;
    settle().await;
    assert_eq!(echoes.now().len(), 1);
    assert!(there.node.register("echoes", &one).is_err(), "it has ended");
    there.node.unregister("echoes", &two);
    settle().await;
    assert!(echoes.now().is_empty());
    there.node.register("echoes", &two).unwrap();
    settle().await;
    assert_eq!(echoes.now().len(), 1);
    network.kill("there:1");
    settle().await;
    assert!(echoes.now().is_empty());
}

#[tokio::test(start_paused = true)]
async fn rem_40_one_name_on_two_nodes_is_two_entries() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    for place in [&here, &there] {
        let echo = place.system.spawn("echo", Echo::default).unwrap();
        place.node.register("echo", &echo).unwrap();
    }
    settle().await;
    for place in [&here, &there] {
        let now = place.node.listing::<Echo>("echo").now();
        assert_eq!(now.len(), 2);
        assert!(now[0].actor_ref().is_local() && !now[1].actor_ref().is_local());
    }
}
