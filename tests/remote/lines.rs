//! What the log says about other nodes.
//!
//! Rule 26.13.

use std::time::Duration;

use supervise::remote::memory::Network;
use tracing::Level;

use crate::fixture::{Place, settle, soon, two};
use crate::log::Log;

/// The lines of this level about nodes, from their text on.
fn lines(log: &Log, level: Level) -> Vec<String> {
    let about_nodes = |text: &String| text.contains(" node=");
    log.at(level).into_iter().filter(about_nodes).collect()
}

/// Whether there is one line for each of `texts`, in their order, and no other.
fn are(lines: &[String], texts: &[&str]) -> bool {
    lines.len() == texts.len() && lines.iter().zip(texts).all(|(line, text)| line.contains(text))
}

#[tokio::test(start_paused = true)]
async fn the_log_says_when_a_node_comes_and_dies() {
    let network = Network::new(1);
    let log = Log::open();
    let (here, there) = two(&network).await;
    let infos = lines(&log, Level::INFO);
    let up = ["the node there@there:1 is connected", "the node here@here:1 is connected"];
    assert!(are(&infos, &up) || are(&infos, &[up[1], up[0]]), "{infos:?}");
    assert_eq!(log.warnings(), Vec::<String>::new());
    network.kill("there:1");
    settle().await;
    let warnings = log.warnings();
    let down = "the connection to the node there@there:1 has ended: the network says that it is gone. All refs to its \
                actors have ended";
    assert!(are(&warnings, &[down]), "{warnings:?}");
    assert!(warnings[0].contains(r#"why="vanished""#), "{warnings:?}");
    drop((here, there));
}

#[tokio::test(start_paused = true)]
async fn an_orderly_end_is_information_only() {
    let network = Network::new(1);
    let log = Log::open();
    let (here, there) = two(&network).await;
    let before = lines(&log, Level::INFO).len();
    soon(there.system.terminate()).await;
    settle().await;
    let infos = &lines(&log, Level::INFO)[before..];
    let goodbye = "the connection to the node there@there:1 has ended: it said goodbye";
    let left = "the connection to the node here@here:1 has ended: this node has left";
    assert!(are(infos, &[left, goodbye]) || are(infos, &[goodbye, left]), "{infos:?}");
    assert_eq!((log.warnings(), log.errors()), (Vec::new(), Vec::new()));
    drop(here);
}

#[tokio::test(start_paused = true)]
async fn a_node_of_another_mesh_is_in_the_log_at_most_ten_times_a_minute() {
    let network = Network::new(1);
    let log = Log::open();
    let here = Place::new(&network, "here").await;
    let there = Place::with(&network, "there", |builder| builder.mesh("other")).await;
    let text = "the node there@there:1 cannot connect: it belongs to another `mesh`";
    tokio::time::sleep(Duration::from_secs(90)).await;
    let (mut warnings, mut quiet) = (Vec::new(), 0);
    for record in log.all().into_iter().filter(|record| record.text.contains(text)) {
        match record.level {
            Level::WARN => warnings.push((record.text, std::mem::take(&mut quiet))),
            _ => quiet += 1,
        }
    }
    let [.., (tenth, 0), (next, quiet)] = &warnings[..11] else { panic!("{warnings:?}") };
    assert!(
        tenth.contains("(10 such lines within 1 min: further ones in this time are logged at debug level only)")
    );
    assert!(
        *quiet > 0 && next.contains(&format!("({quiet} earlier lines like this were logged at debug level only)")),
        "{next}"
    );
    assert!(warnings.len() <= 20, "ten in each minute");
    drop((here, there));
}

#[tokio::test(start_paused = true)]
async fn a_node_that_comes_and_goes_all_the_time_is_in_the_log_at_most_ten_times_a_minute() {
    let network = Network::new(1);
    let log = Log::open();
    let here = Place::new(&network, "here").await;
    let began = tokio::time::Instant::now();
    for _ in 0..100 {
        let there = Place::new(&network, "there").await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        network.kill("there:1");
        soon(there.system.terminate()).await;
    }
    let minutes = began.elapsed().as_secs() / 60 + 1;
    let about = |level| {
        let lines = lines(&log, level).into_iter();
        lines.filter(|line| line.contains("there@there:1")).count() as u64
    };
    let (ups, downs) = (about(Level::INFO), about(Level::WARN));
    assert!((10..=10 * minutes + minutes).contains(&ups), "{ups} in {minutes} min");
    assert!((10..=10 * minutes + minutes).contains(&downs), "{downs} in {minutes} min");
    drop(here);
}
