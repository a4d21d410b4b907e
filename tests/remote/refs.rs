//! Refs.

use supervise::remote::memory::Network;

use crate::fixture::{Echo, Place, soon};

#[tokio::test(start_paused = true)]
async fn rem_01_a_found_ref_prints_its_node_and_found_again_is_equal() {
    let network = Network::new(1);
    let (here, there) = (Place::new(&network, "here").await, Place::new(&network, "there").await);
    there.system.spawn("echo", Echo::default).unwrap();
    let path = there.path("echo");
    let echo = soon(here.node.find::<Echo>(&path)).await.unwrap();
    assert_eq!(echo.actor_ref().path().to_string(), "supervise://there@there:1/user/echo");
    assert!(!echo.actor_ref().is_local());
    assert_eq!(echo.actor_ref().node().as_deref(), Some("there:1"));
    assert_eq!(soon(here.node.find::<Echo>(&path)).await.unwrap(), echo);
}

#[tokio::test(start_paused = true)]
async fn rem_03_an_ask_gives_the_reply() {
    let network = Network::new(1);
    let (here, there) = (Place::new(&network, "here").await, Place::new(&network, "there").await);
    there.system.spawn("echo", Echo::default).unwrap();
    let echo = soon(here.node.find::<Echo>(there.path("echo"))).await.unwrap();
    assert_eq!(soon(echo.echo(String::new())).await.unwrap(), "");
    echo.note(7).tell().unwrap();
    assert_eq!(soon(echo.noted()).await.unwrap(), [7]);
    let large = "x".repeat((1 << 20) - 100);
    assert_eq!(soon(echo.echo(large.clone())).await.unwrap(), large);
}
