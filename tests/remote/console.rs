//! What the console of one node says of actors of other nodes. Rule 22.3.

use std::time::Duration;

use supervise::console::{Console, Watch};
use supervise::remote::memory::Network;

use crate::fixture::{Echo, Socket, settle, two};
use crate::log::Log;

async fn look(watch: &mut Watch, looks: u64) -> String {
    for _ in 0..looks {
        tokio::time::sleep(Duration::from_secs(1)).await;
        watch.look();
    }
    watch.text().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// An actor here may have the same path within its system, and loses nothing. CON-11.
#[tokio::test(start_paused = true)]
async fn con_11_the_console_says_for_which_node_a_lost_message_was() {
    let network = Network::new(1);
    let (here, there) = two(&network).await;
    let log = Log::open();
    let mut watch = Console::of(&here.system).by_hand();
    let own = here.system.spawn("echo", Echo::default).unwrap();
    let echo = there.echo("echo", &here).await;
    (0..20).for_each(|_| echo.attach(Socket).tell().unwrap());
    let text = look(&mut watch, 1).await;
    let says = "Messages lost: supervise://there@there:1/user/echo 20 dead letters, 100 % `Attach`: it cannot travel to another node.";
    assert!(text.contains(says), "{text}");
    let warnings = log.warnings();
    let line = warnings
        .iter()
        .find(|line| line.contains("messages to echo are getting lost. 20 dead letters"))
        .expect("a line");
    assert!(line.contains("actor=supervise://there@there:1/user/echo "), "{line}");
    own.actor_ref().stop();
    settle().await;
    (0..30).for_each(|_| _ = own.attach(Socket).tell());
    let text = look(&mut watch, 1).await;
    assert!(
        text.contains("Messages lost: /user/echo 30 dead letters, 100 % `Attach`: the recipient has ended."),
        "{text}"
    );
}
