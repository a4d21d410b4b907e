//! One actor for each key in the whole mesh.
//!
//! Rules 28.1, 28.2, 28.3, 28.4, 28.5 and 28.6. The names `shr_..` are cases of this file.

mod attacked;
mod failing;
mod fixture;
mod hostile;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use supervise::remote::Node;
use supervise::remote::memory::Network;
use supervise::sharded::Sharded;
use supervise::{ActorSystem, AskError, Context, DeadLetterReason, Event, Interest, actor, supervise};

use crate::fixture::{settle, soon};
use fixture::{Account, Branch, Log, Settings, names, open};

#[tokio::test(start_paused = true)]
async fn shr_01_messages_for_one_key_from_all_nodes_reach_one_actor() {
    let (network, log) = (Network::new(1), Log::default());
    let branches = open(&network, &log, ["a", "b", "c"]).await;
    assert_eq!(names(&branches[0].accounts.nodes()), ["a", "b", "c"]);
    for key in 0..60 {
        for (number, branch) in (0..).zip(&branches) {
            soon(branch.account(key).noted()).await.unwrap();
            branch.account(key).note(number).tell().unwrap();
        }
    }
    settle().await;
    let homes = log.one_at_a_time();
    for key in 0..60 {
        let mut noted = log.noted(key);
        noted.sort_unstable();
        assert_eq!(noted, [0, 1, 2]);
        for branch in &branches {
            assert_eq!(branch.accounts.home(&key).unwrap().system(), homes[&key]);
        }
    }
    let mut each: HashMap<&str, usize> = HashMap::new();
    for home in homes.values() {
        *each.entry(home).or_default() += 1;
    }
    assert!(each.len() == 3 && each.values().all(|keys| *keys >= 10), "the keys are spread: {each:?}");
}

#[tokio::test(start_paused = true)]
async fn shr_02_what_one_sender_tells_one_key_is_handled_in_its_order() {
    let (network, log) = (Network::new(2), Log::default());
    let [a, _b] = open(&network, &log, ["a", "b"]).await;
    for number in 0..500 {
        for key in 0..8 {
            a.account(key).note(number).tell().unwrap();
        }
    }
    settle().await;
    for key in 0..8 {
        assert_eq!(log.noted(key), (0..500).collect::<Vec<_>>());
    }
}

#[tokio::test(start_paused = true)]
async fn shr_03_a_ref_leads_to_the_successor_of_an_actor_that_was_passivated() {
    let (network, log) = (Network::new(3), Log::default());
    let [a, _b] = open(&network, &log, ["a", "b"]).await;
    let refs: Vec<_> = (0..10).map(|key| a.account(key)).collect();
    for account in &refs {
        account.note(1).tell().unwrap();
    }
    tokio::time::sleep(Duration::from_secs(1000)).await;
    assert_eq!(log.one_at_a_time(), BTreeMap::new(), "all have ended");
    for account in &refs {
        assert_eq!(soon(account.noted()).await.unwrap().1, [] as [u64; 0]);
    }
    assert_eq!(log.one_at_a_time().len(), 10);
}

#[tokio::test(start_paused = true)]
async fn shr_04_a_node_that_comes_takes_its_keys_over_one_at_a_time() {
    let (network, log) = (Network::new(4), Log::default());
    let [a, b] = open(&network, &log, ["a", "b"]).await;
    let refs: Vec<_> = (0..90).map(|key| a.account(key)).collect();
    for account in &refs {
        account.note(0).tell().unwrap();
    }
    settle().await;
    let before = log.one_at_a_time();
    let c = Branch::open(&network, "c", &log).await;
    for number in 1..=200 {
        for account in &refs {
            account.note(number).tell().unwrap();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    settle().await;
    let after = log.one_at_a_time();
    let moved: Vec<_> = before.iter().filter(|(key, home)| after[*key] != **home).map(|(key, _)| *key).collect();
    assert!((15..=45).contains(&moved.len()), "about a third moves: {}", moved.len());
    assert!(moved.iter().all(|key| after[key] == "c"), "only to the new node");
    for key in 0..90 {
        let mut noted = log.noted(key);
        noted.sort_unstable();
        assert_eq!(noted, (0..=200).collect::<Vec<_>>(), "key {key}");
        assert_eq!(b.accounts.home(&key), c.accounts.home(&key));
    }
}

#[tokio::test(start_paused = true)]
async fn shr_05_messages_wait_at_the_new_home_until_the_old_one_has_let_the_key_go() {
    let (network, log) = (Network::new(5), Log::default());
    let [a] = open(&network, &log, ["a"]).await;
    let refs: Vec<_> = (0..20).map(|key| a.account(key)).collect();
    for account in &refs {
        account.sleep(10).tell().unwrap();
        account.note(1).tell().unwrap();
    }
    settle().await;
    let b = Branch::open(&network, "b", &log).await;
    settle().await;
    let moved: Vec<u64> = (0..20).filter(|key| b.accounts.home(key).unwrap().system() == "b").collect();
    assert!(!moved.is_empty());
    for key in &moved {
        b.account(*key).note(2).tell().unwrap();
    }
    settle().await;
    assert!(log.one_at_a_time().values().all(|home| home == "a"), "the old actors sleep");
    tokio::time::sleep(Duration::from_secs(10)).await;
    let homes = log.one_at_a_time();
    for key in moved {
        assert_eq!(homes[&key], "b");
        assert_eq!(log.noted(key), [1, 2]);
    }
}

#[tokio::test(start_paused = true)]
async fn shr_06_an_actor_that_does_not_end_is_not_waited_for_longer_than_the_handover() {
    let (network, log) = (Network::new(6), Log::default());
    let [a] = open(&network, &log, ["a"]).await;
    for key in 0..20 {
        a.account(key).sleep(3600).tell().unwrap();
    }
    settle().await;
    let b = Branch::open(&network, "b", &log).await;
    settle().await;
    let key = (0..20).find(|key| b.accounts.home(key).unwrap().system() == "b").unwrap();
    let began = tokio::time::Instant::now();
    assert_eq!(soon(b.account(key).noted()).await.unwrap().0, "b");
    let waited = began.elapsed();
    assert!((Duration::from_secs(19)..Duration::from_secs(22)).contains(&waited), "{waited:?}");
    // Its other keys are not held up by that.
    let other = (100..200).find(|key| b.accounts.home(key).unwrap().system() == "b").unwrap();
    let began = tokio::time::Instant::now();
    soon(b.account(other).noted()).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn shr_07_the_keys_of_a_node_that_is_lost_begin_anew_elsewhere() {
    let (network, log) = (Network::new(7), Log::default());
    let [a, b] = open(&network, &log, ["a", "b"]).await;
    let refs: Vec<_> = (0..20).map(|key| a.account(key)).collect();
    for account in &refs {
        account.note(1).tell().unwrap();
    }
    settle().await;
    let of_b: Vec<u64> = (0..20).filter(|key| a.accounts.home(key).unwrap().system() == "b").collect();
    let asked = refs[usize::try_from(of_b[0]).unwrap()].clone();
    let asks = tokio::spawn(async move { asked.sleep(60).await });
    settle().await;
    network.kill("b:1");
    assert!(matches!(soon(asks).await.unwrap(), Err(AskError::ConnectionLost)));
    settle().await;
    assert_eq!(names(&a.accounts.nodes()), ["a"]);
    for key in of_b {
        let account = &refs[usize::try_from(key).unwrap()];
        assert_eq!(soon(account.noted()).await.unwrap(), ("a".to_owned(), vec![]));
    }
    drop(b);
}

#[tokio::test(start_paused = true)]
async fn shr_08_a_node_that_leaves_hands_its_keys_over_without_a_loss() {
    let (network, log) = (Network::new(8), Log::default());
    let [a, b, c] = open(&network, &log, ["a", "b", "c"]).await;
    let refs: Vec<_> = (0..60).map(|key| a.account(key)).collect();
    let tells = {
        let refs = refs.clone();
        tokio::spawn(async move {
            for number in 0..300 {
                for account in &refs {
                    account.note(number).tell().unwrap();
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
    };
    tokio::time::sleep(Duration::from_secs(1)).await;
    soon(b.accounts.leave()).await.unwrap();
    assert!(b.accounts.here().is_empty());
    assert!(log.one_at_a_time().values().all(|home| home != "b"));
    // Its own refs still reach the actors.
    assert_ne!(soon(b.account(3).noted()).await.unwrap().0, "b");
    b.system.terminate().await;
    tells.await.unwrap();
    settle().await;
    assert_eq!(names(&c.accounts.nodes()), ["a", "c"]);
    log.one_at_a_time();
    for key in 0..60 {
        let mut noted = log.noted(key);
        noted.sort_unstable();
        assert_eq!(noted, (0..300).collect::<Vec<_>>(), "key {key}");
    }
}

#[tokio::test(start_paused = true)]
async fn shr_09_the_table_of_the_actor_that_spawned_it_decides_at_the_home() {
    let (network, log) = (Network::new(9), Log::default());
    let [a, b] = open(&network, &log, ["a", "b"]).await;
    let key = (0..100).find(|key| a.accounts.home(key).unwrap().system() == "b").unwrap();
    let account = a.account(key);
    account.note(1).tell().unwrap();
    assert!(matches!(soon(account.fail()).await, Err(AskError::Failed(_))));
    assert_eq!(soon(account.noted()).await.unwrap(), ("b".to_owned(), vec![]), "it was restarted");
    assert_eq!(b.accounts.here().len(), 1);
    assert_eq!(b.accounts.here().path().to_string(), "supervise://b/user/bank/accounts");
    log.one_at_a_time();
}

#[tokio::test(start_paused = true)]
async fn shr_10_nodes_that_cannot_reach_each_other_have_an_actor_each_until_they_can() {
    let (network, log) = (Network::new(10), Log::default());
    let [a, b] = open(&network, &log, ["a", "b"]).await;
    network.partition("a:1", "b:1");
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!((names(&a.accounts.nodes()), names(&b.accounts.nodes())), (vec!["a"], vec!["b"]));
    for key in 0..20 {
        assert_eq!(soon(a.account(key).noted()).await.unwrap().0, "a");
        assert_eq!(soon(b.account(key).noted()).await.unwrap().0, "b");
    }
    network.heal();
    tokio::time::sleep(Duration::from_secs(30)).await;
    for key in 0..20 {
        let home = a.accounts.home(&key).unwrap();
        assert_eq!(soon(a.account(key).noted()).await.unwrap().0, home.system());
        assert_eq!(soon(b.account(key).noted()).await.unwrap().0, home.system());
    }
    assert_eq!(a.accounts.here().len() + b.accounts.here().len(), 20);
}

#[tokio::test(start_paused = true)]
async fn shr_11_a_system_that_has_not_joined_and_a_name_that_is_taken_are_told() {
    #[actor]
    #[supervise(one_for_one, on(_) = Stop)]
    struct Tries;

    #[actor]
    impl Tries {
        #[handler]
        fn twice(&mut self, ctx: &mut Context<Self>) -> Vec<String> {
            let one = || Sharded::of(|_: &u64| account());
            let mut told = Vec::new();
            for name in ["accounts", "accounts"] {
                if let Err(error) = one().spawn(ctx, name) {
                    told.push(error.to_string());
                }
            }
            told
        }
    }

    fn account() -> Account {
        Account { key: 0, node: String::new(), log: Log::default(), noted: Vec::new(), ends_after: Duration::ZERO }
    }

    let system = ActorSystem::new("alone");
    let tries = system.spawn("tries", || Tries).unwrap();
    let not_joined =
        "the system `alone` has not joined other nodes; await `Node::builder(&system).join(..)` first";
    assert_eq!(tries.twice().await.unwrap(), [not_joined, not_joined]);
    let network = Network::new(11);
    let _node = Node::builder(&system).join(network.transport("alone:1")).await.unwrap();
    assert_eq!(tries.twice().await.unwrap(), ["this node already takes part in `accounts`"]);
}

#[tokio::test(start_paused = true)]
async fn shr_12_a_message_for_which_there_is_no_room_is_a_dead_letter_and_its_asker_is_told() {
    let (network, log) = (Network::new(12), Log::default());
    let a = Branch::with(&network, "a", &log, Settings { limit: Some(1), ..Settings::default() }).await;
    let p = Branch::with(&network, "p", &log, Settings { is_proxy: true, ..Settings::default() }).await;
    let mut letters = a.system.events().subscribe_to(Interest::DEAD_LETTERS);
    settle().await;
    soon(a.account(1).noted()).await.unwrap();
    assert!(matches!(soon(a.account(2).noted()).await, Err(AskError::TooManyChildren)));
    // This word does not travel. Both mean that the message was not handled, and that a retry may help.
    assert!(matches!(soon(p.account(2).noted()).await, Err(AskError::MailboxFull)));
    for _ in 0..2 {
        let Some(Event::DeadLetter(letter)) = letters.try_recv() else { panic!("no dead letter") };
        assert_eq!(letter.reason, DeadLetterReason::TooManyChildren);
    }
}

#[tokio::test(start_paused = true)]
async fn shr_13_after_a_restart_of_its_owner_a_node_takes_part_again() {
    let (network, log) = (Network::new(13), Log::default());
    let [a, b] = open(&network, &log, ["a", "b"]).await;
    let refs: Vec<_> = (0..20).map(|key| a.account(key)).collect();
    for account in &refs {
        soon(account.noted()).await.unwrap();
    }
    assert!(matches!(soon(b.bank.fail()).await, Err(AskError::Failed(_))));
    settle().await;
    assert!(soon(b.bank.accounts()).await.unwrap().here().is_empty(), "its instance is a new one");
    assert_eq!(names(&a.accounts.nodes()), ["a", "b"]);
    for account in &refs {
        soon(account.noted()).await.unwrap();
    }
    log.one_at_a_time();
    drop(b.node);
}

#[tokio::test(start_paused = true)]
async fn shr_15_a_message_that_waits_for_room_at_the_old_home_is_handled_before_the_key_moves() {
    let (network, log) = (Network::new(15), Log::default());
    let small = Settings { room: Some(1), ..Settings::default() };
    let a = Branch::with(&network, "a", &log, small).await;
    settle().await;
    for key in 0..20 {
        let account = a.account(key);
        account.sleep(5).tell().unwrap();
        (0..4).for_each(|number| account.note(number).tell().unwrap());
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let b = Branch::with(&network, "b", &log, small).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    (0..20).for_each(|key| b.account(key).note(4).tell().unwrap());
    tokio::time::sleep(Duration::from_secs(30)).await;
    let homes = log.one_at_a_time();
    for key in 0..20 {
        let mut noted = log.noted(key);
        noted.sort_unstable();
        assert_eq!(noted, [0, 1, 2, 3, 4]);
        assert_eq!(homes[&key], b.accounts.home(&key).unwrap().system());
    }
}

#[tokio::test(start_paused = true)]
async fn shr_16_a_proxy_sends_and_is_not_a_home() {
    let (network, log) = (Network::new(16), Log::default());
    let proxy = Branch::with(&network, "p", &log, Settings { is_proxy: true, ..Settings::default() }).await;
    // The message waits for the first node that can be a home.
    let early = proxy.account(7);
    let early = tokio::spawn(async move { early.noted().await });
    settle().await;
    let two = proxy.accounts.clone();
    let two = tokio::spawn(async move { two.wait_for(|nodes| nodes.len() == 2).await });
    let [a, _b] = open(&network, &log, ["a", "b"]).await;
    soon(two).await.unwrap();
    assert!(soon(early).await.unwrap().is_ok());
    assert_eq!(names(&a.accounts.nodes()), ["a", "b"]);
    assert_eq!(names(&proxy.accounts.nodes()), ["a", "b"]);
    for key in 0..20 {
        soon(proxy.account(key).noted()).await.unwrap();
    }
    assert!(proxy.accounts.here().is_empty());
    assert_eq!(log.one_at_a_time().len(), 20);
}

/// Nodes come and leave at random while messages are told. No node is lost, so no message is lost either.
#[tokio::test(start_paused = true)]
async fn shr_14_whatever_comes_and_leaves_each_message_is_handled_once_by_one_actor_at_a_time() {
    for seed in 0..16 {
        let (network, log) = (Network::new(seed), Log::default());
        let mut random = fastrand::Rng::with_seed(seed);
        let mut branches = vec![Branch::open(&network, "n0", &log).await];
        settle().await;
        let mut next = 1;
        for number in 0..120 {
            for key in 0..12 {
                let from = random.usize(..branches.len());
                branches[from].account(key).note(number).tell().unwrap();
            }
            match random.u8(..12) {
                0 | 1 if branches.len() < 5 => {
                    branches.push(Branch::open(&network, &format!("n{next}"), &log).await);
                    next += 1;
                    // Until it has heard of the others, a new node has a view of its own.
                    if random.bool() {
                        tokio::time::sleep(Duration::from_millis(300)).await;
                    }
                }
                2 if branches.len() > 1 => {
                    let leaves = branches.swap_remove(random.usize(..branches.len()));
                    soon(leaves.accounts.leave()).await.unwrap();
                    tokio::time::sleep(Duration::from_millis(random.u64(..500))).await;
                    leaves.system.terminate().await;
                }
                3 => {
                    let at = random.usize(..branches.len());
                    branches[at].account(random.u64(..12)).sleep(random.u64(1..4)).tell().unwrap();
                }
                _ => tokio::time::sleep(Duration::from_millis(random.u64(..60))).await,
            }
        }
        tokio::time::sleep(Duration::from_secs(60)).await;
        for key in 0..12 {
            let mut noted = log.noted(key);
            noted.sort_unstable();
            assert_eq!(noted, (0..120).collect::<Vec<_>>(), "seed {seed}, key {key}");
        }
        for branch in branches {
            branch.system.terminate().await;
        }
    }
}
