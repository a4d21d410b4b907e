//! Sharded actors whose ends are slow, on nodes that come, leave, end and restart at the same time.
//!
//! Rules 28.2, 28.3, 28.4 and 28.6.

use std::time::Duration;

use supervise::AskError;
use supervise::remote::NodeId;
use supervise::remote::memory::Network;

use super::fixture::{Branch, Log, Settings, open};
use crate::fixture::{settle, soon};

fn slow(seconds: u64) -> Settings {
    Settings { ends_after: Duration::from_secs(seconds), ..Settings::default() }
}

async fn two(network: &Network, log: &Log, settings: Settings) -> (Branch, Branch) {
    let branches =
        (Branch::with(network, "a", log, settings).await, Branch::with(network, "b", log, settings).await);
    settle().await;
    branches
}

#[tokio::test(start_paused = true)]
async fn shr_17_a_node_that_ends_without_leaving_keeps_its_keys_until_its_actors_have_ended() {
    let (network, log) = (Network::new(17), Log::default());
    let (a, b) = two(&network, &log, slow(3)).await;
    for key in 0..20 {
        a.account(key).note(1).tell().unwrap();
    }
    settle().await;
    let ends = tokio::spawn(async move { b.system.terminate().await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    for key in 0..20 {
        assert_eq!(soon(a.account(key).note(2)).await.unwrap(), "a");
    }
    ends.await.unwrap();
    log.one_at_a_time();
}

#[tokio::test(start_paused = true)]
async fn shr_18_an_owner_that_restarts_keeps_its_keys_until_its_actors_have_ended() {
    let (network, log) = (Network::new(18), Log::default());
    let (a, b) = two(&network, &log, slow(3)).await;
    for key in 0..20 {
        a.account(key).note(1).tell().unwrap();
    }
    settle().await;
    assert!(matches!(soon(b.bank.fail()).await, Err(AskError::Failed(_))));
    // Messages that are under way to a gate that ends are lost, and their askers are told.
    for key in 0..20 {
        while let Err(error) = soon(a.account(key).note(2)).await {
            assert!(matches!(error, AskError::Stopped | AskError::Undeliverable), "{error}");
        }
    }
    log.one_at_a_time();
}

#[tokio::test(start_paused = true)]
async fn shr_19_messages_that_were_set_aside_do_not_keep_a_key_at_its_old_home() {
    let (network, log) = (Network::new(19), Log::default());
    let a = Branch::open(&network, "a", &log).await;
    for key in 0..20 {
        a.account(key).later(1).tell().unwrap();
    }
    settle().await;
    let b = Branch::open(&network, "b", &log).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    for key in 0..20 {
        let home = a.accounts.home(&key).unwrap();
        assert_eq!(soon(b.account(key).note(2)).await.unwrap(), home.system());
    }
    let homes = log.one_at_a_time();
    assert!(homes.iter().all(|(key, home)| a.accounts.home(key).unwrap().system() == home), "{homes:?}");
}

#[tokio::test(start_paused = true)]
async fn shr_20_a_key_that_moves_while_a_successor_is_awaited_has_one_actor() {
    let (network, log) = (Network::new(20), Log::default());
    let a = Branch::with(&network, "a", &log, slow(3)).await;
    for key in 0..20 {
        a.account(key).note(1).tell().unwrap();
    }
    settle().await;
    for key in 0..20 {
        a.accounts.here().passivate(&key);
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    for key in 0..20 {
        a.account(key).note(2).tell().unwrap();
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let b = Branch::with(&network, "b", &log, slow(3)).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    for key in 0..20 {
        b.account(key).note(3).tell().unwrap();
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    let homes = log.one_at_a_time();
    assert!(homes.iter().all(|(key, home)| a.accounts.home(key).unwrap().system() == home), "{homes:?}");
    for key in 0..20 {
        assert_eq!(log.noted(key), [1, 2, 3]);
    }
}

#[tokio::test(start_paused = true)]
async fn shr_21_many_keys_that_move_at_once_do_not_break_a_limit_of_the_nodes() {
    let (network, log) = (Network::new(21), Log::default());
    let settings = Settings { node_limit: Some(100), ..slow(3) };
    let a = Branch::with(&network, "a", &log, settings).await;
    for key in 0..1000 {
        a.account(key).note(1).tell().unwrap();
    }
    settle().await;
    let b = Branch::with(&network, "b", &log, settings).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    for key in 0..1000 {
        b.account(key).note(2).tell().unwrap();
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    log.one_at_a_time();
    for key in 0..1000 {
        assert_eq!(log.noted(key), [1, 2]);
    }
}

#[tokio::test(start_paused = true)]
async fn shr_28_a_node_that_has_left_takes_part_again_when_its_owner_restarts() {
    let (network, log) = (Network::new(28), Log::default());
    let (a, mut b) = two(&network, &log, slow(0)).await;
    let late = b.account(1);
    soon(b.accounts.leave()).await.unwrap();
    assert_eq!(a.accounts.nodes().len(), 1);
    assert!(matches!(soon(b.bank.fail()).await, Err(AskError::Failed(_))));
    b.accounts = soon(b.bank.accounts()).await.unwrap();
    soon(a.accounts.wait_for(|nodes| nodes.len() == 2)).await;
    for key in 0..20 {
        assert_eq!(soon(a.account(key).note(1)).await.unwrap(), soon(b.account(key).note(2)).await.unwrap());
    }
    assert!(log.one_at_a_time().values().any(|home| home == "b"));
    assert!(late.note(3).tell().is_err(), "a ref of the earlier handle");
}

#[tokio::test(start_paused = true)]
async fn shr_29_leaving_takes_twice_the_handover_time_at_most() {
    let (network, log) = (Network::new(29), Log::default());
    let [a, _b] = open(&network, &log, ["a", "b"]).await;
    for key in 0..20 {
        a.account(key).sleep(3600).tell().unwrap();
    }
    settle().await;
    let began = tokio::time::Instant::now();
    soon(a.accounts.leave()).await.unwrap();
    let waited = began.elapsed();
    assert!((Duration::from_secs(20)..=Duration::from_secs(40)).contains(&waited), "{waited:?}");
    assert!(!a.accounts.here().is_empty(), "they still sleep");
}

/// Nodes come, leave, end and restart while keys are passivated and messages are told. No node is cut off or killed.
async fn storm(seed: u64, loses_messages: bool) {
    let (network, log) = (Network::new(seed), Log::default());
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut branches, mut next, mut ends) =
        (vec![Branch::with(&network, "n0", &log, slow(1)).await], 1, Vec::new());
    for number in 0..100 {
        for key in 0..12 {
            let from = random.usize(..branches.len());
            branches[from].account(key).note(number).tell().unwrap();
        }
        let at = random.usize(..branches.len());
        match random.u8(if loses_messages { 0..8 } else { 0..6 }) {
            0 | 1 if branches.len() < 5 => {
                let branch = Branch::with(&network, &format!("n{next}"), &log, slow(random.u64(..3))).await;
                next += 1;
                // Until a node has heard of the others, it has a view of its own.
                let knows = |nodes: &[NodeId], of: &Branch| nodes.iter().any(|n| n.system() == of.system.name());
                soon(branch.accounts.wait_for(|nodes| branches.iter().all(|other| knows(nodes, other)))).await;
                branches.push(branch);
            }
            2 if branches.len() > 1 => {
                let leaves = branches.swap_remove(at);
                ends.push(tokio::spawn(async move {
                    leaves.accounts.leave().await.unwrap();
                    leaves.system.terminate().await;
                }));
            }
            3 => branches[at].accounts.here().passivate(&random.u64(..12)),
            6 if branches.len() > 1 => {
                let ending = branches.swap_remove(at);
                ends.push(tokio::spawn(async move { ending.system.terminate().await }));
            }
            7 => {
                assert!(matches!(soon(branches[at].bank.fail()).await, Err(AskError::Failed(_))));
                branches[at].accounts = soon(branches[at].bank.accounts()).await.unwrap();
            }
            _ => tokio::time::sleep(Duration::from_millis(random.u64(..300))).await,
        }
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    for (key, home) in log.one_at_a_time() {
        assert_eq!(branches[0].accounts.home(&key).unwrap().system(), home, "seed {seed}, key {key}");
    }
    for key in 0..12 {
        let mut noted = log.noted(key);
        noted.sort_unstable();
        let all = noted.len();
        noted.dedup();
        assert_eq!(noted.len(), all, "seed {seed}, key {key}: a message was handled twice");
        assert!(loses_messages || all == 100, "seed {seed}, key {key}: {} messages were lost", 100 - all);
    }
    for end in ends {
        soon(end).await.unwrap();
    }
    for branch in branches {
        branch.system.terminate().await;
    }
}

#[tokio::test(start_paused = true)]
async fn shr_22_while_nodes_come_and_leave_at_the_same_time_a_key_has_one_actor_and_no_message_is_lost() {
    for seed in 0..3 {
        storm(seed, false).await;
    }
}

#[tokio::test(start_paused = true)]
async fn shr_23_while_nodes_end_without_leaving_and_restart_a_key_has_one_actor() {
    for seed in 0..3 {
        storm(seed, true).await;
    }
}
