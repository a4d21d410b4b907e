//! A signal runs the coordinated shutdown. This is the only test in its process, because the process gets the
//! signal.

#![cfg(unix)]

use std::process::Command;
use std::time::Duration;

use supervise_core::{ActorSystem, Phase, ShutdownReason};

#[tokio::test]
async fn a_signal_shuts_the_system_down_and_a_system_that_has_ended_ignores_it() {
    let ended = ActorSystem::new("ended");
    ended.shutdown_on_signal().unwrap();
    ended.terminate().await;

    let system = ActorSystem::new("signalled");
    system.shutdown_on_signal().unwrap();
    let (ran, runs) = tokio::sync::oneshot::channel();
    let shutdown = system.coordinated_shutdown();
    shutdown
        .add_task(Phase::SERVICE_UNBIND, "tell", async move { ran.send(()).map_err(|()| "nobody waits") })
        .unwrap();
    let sent = Command::new("kill").args(["-TERM", &std::process::id().to_string()]).status();
    assert!(sent.unwrap().success());
    tokio::time::timeout(Duration::from_secs(10), system.when_terminated()).await.unwrap().unwrap();
    runs.await.unwrap();
    assert_eq!(shutdown.reason(), Some(ShutdownReason::Signal("SIGTERM")));
    assert_eq!(ended.coordinated_shutdown().reason(), Some(ShutdownReason::Terminate));
}
