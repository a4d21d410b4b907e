//! Nodes in processes of their own, which are killed, stopped and started again. Each test waits for what it expects, on the real
//! clock, because processes and sockets know no other.
//!
//! Rules 26.1, 26.3, 26.4 and 26.6.

mod there;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use supervise::remote::{FindError, Node};
use supervise::zenoh::Zenoh;
use supervise::{ActorSystem, AskError, Event, Events, HowEnded, Interest};
use supervise_remote_zenoh::{Echo, EchoRef, PATIENCE, Watcher, WatcherRef};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::there::{There, soon};

/// The node of this process.
struct Here {
    system: ActorSystem,
    node: Node,
    events: Events,
    watcher: WatcherRef,
    gone: UnboundedReceiver<(String, HowEnded)>,
}

impl Here {
    async fn new(seeds: &[&str]) -> Self {
        let system = ActorSystem::new("here");
        let events = system.events().subscribe_to(Interest::FAILURES);
        let engine = Zenoh::listen("127.0.0.1:0").seeds(seeds.iter().copied());
        let node = Node::builder(&system).serve::<Echo>().patience(PATIENCE).join(engine).await.expect("it joins");
        let (log, gone) = unbounded_channel();
        let watcher = system.spawn("watcher", move || Watcher { log: log.clone() }).expect("it is the first");
        Self { system, node, events, watcher, gone }
    }

    async fn find(&self, there: &There, name: &str) -> EchoRef {
        // A node that is stopped or starts again is not there for a while.
        soon(async {
            loop {
                if let Ok(found) = self.node.find::<Echo>(there.path(name)).await {
                    return found;
                }
            }
        })
        .await
    }

    /// Finds both actors of the other node, and watches them.
    async fn watch(&self, there: &There) -> [EchoRef; 2] {
        let both = [self.find(there, "one").await, self.find(there, "two").await];
        for echo in &both {
            soon(self.watcher.watch(echo.clone())).await.expect("it watches");
            // The answer proves that the watch has arrived, because both take the same way in order.
            soon(echo.echo(String::new())).await.expect("it is there");
        }
        both
    }

    /// Waits for the news that both actors cannot be reached.
    async fn told(&mut self) {
        let mut gone = [soon(self.gone.recv()).await.unwrap(), soon(self.gone.recv()).await.unwrap()];
        gone.sort_by(|a, b| a.0.cmp(&b.0));
        let unreachable = |name: &str| (name.to_owned(), HowEnded::Unreachable);
        assert_eq!(gone, [unreachable("one"), unreachable("two")]);
    }

    /// Why the association with the peer ended.
    async fn verdict(&mut self) -> &'static str {
        loop {
            if let Event::NodeDown { why, .. } = soon(self.events.recv()).await.expect("the system lives") {
                return why;
            }
        }
    }

    async fn end(mut self) {
        assert_eq!(self.gone.try_recv().ok(), None, "each watch is told once");
        soon(self.system.terminate()).await;
    }
}

#[tokio::test]
async fn rem_02_rem_03_two_processes_tell_and_ask_each_other() {
    let here = Here::new(&[]).await;
    let there = There::new("127.0.0.1:0", &[here.node.id().address()]).await;
    let one = here.find(&there, "one").await;
    for number in 0..1000 {
        one.note(number).tell().unwrap();
    }
    assert_eq!(soon(one.noted()).await.unwrap(), (0..1000).collect::<Vec<u64>>());
    // Larger than one batch of the engine.
    let large = "x".repeat(500_000);
    assert_eq!(soon(one.echo(large.clone())).await.unwrap(), large);
    // That process asks an actor of this one.
    let own = here.system.spawn("own", Echo::default).unwrap();
    assert_eq!(soon(one.relay(own, "back".to_owned())).await.unwrap(), "back");
    there.end().await;
    here.end().await;
}

#[tokio::test]
async fn a_program_on_one_thread_hears_of_an_orderly_end_at_once() {
    let mut here = Here::new(&[]).await;
    let there = There::new("127.0.0.1:0", &[here.node.id().address()]).await;
    here.watch(&there).await;
    let began = Instant::now();
    there.end().await;
    let mut gone = [soon(here.gone.recv()).await.unwrap(), soon(here.gone.recv()).await.unwrap()];
    gone.sort_by(|a, b| a.0.cmp(&b.0));
    let graceful = |name: &str| (name.to_owned(), HowEnded::Graceful);
    assert_eq!(gone, [graceful("one"), graceful("two")]);
    eprintln!("an orderly end took {:?}", began.elapsed());
    here.end().await;
}

#[tokio::test]
async fn rem_25_a_killed_process_is_unreachable_to_each_watcher_once() {
    let mut here = Here::new(&[]).await;
    let mut took = Vec::new();
    for _ in 0..5 {
        let mut there = There::new("127.0.0.1:0", &[here.node.id().address()]).await;
        let [one, _] = here.watch(&there).await;
        let began = Instant::now();
        there.kill().await;
        here.told().await;
        took.push(began.elapsed());
        // The engine has seen the connection end: nobody waited for patience.
        assert_eq!(here.verdict().await, "vanished");
        assert!(matches!(soon(one.noted()).await, Err(AskError::Undeliverable)));
    }
    eprintln!("from SIGKILL to the news: {took:?}");
    here.end().await;
}

#[tokio::test]
async fn rem_26_a_stopped_process_is_given_up_after_patience_and_comes_to_its_verdict_when_it_goes_on() {
    let mut here = Here::new(&[]).await;
    let mut there = There::new("127.0.0.1:0", &[here.node.id().address()]).await;
    let [one, _] = here.watch(&there).await;
    there.says("up ").await;
    there.signal("STOP");
    let began = Instant::now();
    here.told().await;
    eprintln!("from SIGSTOP to the news: {:?}", began.elapsed());
    assert_eq!(here.verdict().await, "silent");
    there.signal("CONT");
    let verdict = there.says("down ").await;
    assert!(verdict.starts_with(&here.node.id().to_string()), "{verdict}");
    there.says("up ").await;
    let again = here.find(&there, "one").await;
    assert_ne!(again, one);
    assert_eq!(soon(again.echo("again".to_owned())).await.unwrap(), "again");
    assert!(matches!(soon(one.noted()).await, Err(AskError::Undeliverable)), "the old ref stays dead");
    there.end().await;
    here.end().await;
}

/// Kills the other process and starts it again at its address, with these seeds.
async fn restart(mut here: Here, mut there: There, seeds: &[&str]) {
    let [one, _] = here.watch(&there).await;
    one.note(1).tell().unwrap();
    assert_eq!(soon(one.noted()).await.unwrap(), [1]);
    there.kill().await;
    let mut there = There::new(&there.address, seeds).await;
    here.told().await;
    there.says("up ").await;
    let again = here.find(&there, "one").await;
    assert_ne!(again, one);
    assert_eq!(soon(again.noted()).await.unwrap(), [0; 0], "the new actor was told nothing");
    assert!(matches!(soon(one.noted()).await, Err(AskError::Undeliverable)));
    there.end().await;
    here.end().await;
}

#[tokio::test]
async fn rem_27_watches_do_not_reach_a_process_that_starts_again_at_the_same_address() {
    let here = Here::new(&[]).await;
    let seed = here.node.id().address().to_owned();
    let there = There::new("127.0.0.1:0", &[&seed]).await;
    restart(here, there, &[&seed]).await;
}

#[tokio::test]
async fn rem_27_a_seed_starts_again_at_the_same_address() {
    let there = There::new("127.0.0.1:0", &[]).await;
    let here = Here::new(&[&there.address]).await;
    restart(here, there, &[]).await;
}

/// An authority, and the files of nodes whose certificates it has signed.
struct Authority {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut parameters = CertificateParams::default();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        std::fs::write(folder.join("ca.pem"), parameters.self_signed(&key).unwrap().pem()).unwrap();
        Self { folder, issuer: Issuer::new(parameters, key) }
    }

    /// An engine whose certificate this authority has signed, and which trusts the peers of `trusts`.
    fn engine(&self, trusts: &Self, name: &str, seeds: &[&str]) -> Zenoh {
        let key = KeyPair::generate().unwrap();
        let parameters = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap();
        let file = |kind: &str| self.folder.join(format!("{name}.{kind}"));
        std::fs::write(file("pem"), certificate.pem()).unwrap();
        std::fs::write(file("key"), key.serialize_pem()).unwrap();
        let seeds = seeds.iter().copied();
        let ca = trusts.folder.join("ca.pem");
        Zenoh::listen("127.0.0.1:0").seeds(seeds).mutual_tls(ca, file("pem"), file("key"))
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.folder);
    }
}

#[tokio::test]
async fn with_mutual_tls_only_peers_that_the_authority_has_signed_are_heard() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let system = ActorSystem::new("shop");
    let node = Node::builder(&system).serve::<Echo>().join(ours.engine(&ours, "shop", &[])).await.unwrap();
    system.spawn("echo", Echo::default).unwrap();
    let address = node.id().address().to_owned();
    let path = format!("supervise://{}/user/echo", node.id());
    // The first stranger trusts our authority, but another authority has signed its certificate. The second one
    // does not use TLS.
    let strangers =
        [theirs.engine(&ours, "stranger", &[&address]), Zenoh::listen("127.0.0.1:0").seeds([&address])];
    for engine in strangers {
        let stranger = ActorSystem::new("stranger");
        let patient = Node::builder(&stranger).find_timeout(Duration::from_secs(2));
        let outside = soon(patient.join(engine)).await.unwrap();
        let error = outside.find::<Echo>(&path).await.expect_err("it must not get in");
        assert_eq!(error, FindError::NoNode(node.id().to_string()));
        soon(stranger.terminate()).await;
    }
    let friend = ActorSystem::new("friend");
    let inside = soon(Node::builder(&friend).join(ours.engine(&ours, "friend", &[&address]))).await.unwrap();
    let echo = soon(inside.find::<Echo>(&path)).await.unwrap();
    assert_eq!(soon(echo.echo("secret".to_owned())).await.unwrap(), "secret");
    assert_eq!(node.peers(), [inside.id().clone()]);
    soon(friend.terminate()).await;
    soon(system.terminate()).await;
}

/// Why an engine does not open.
async fn why(engine: Zenoh) -> String {
    let system = ActorSystem::new("alone");
    let error = soon(Node::builder(&system).join(engine)).await.expect_err("it must not join").to_string();
    assert!(system.node().is_none());
    soon(system.terminate()).await;
    error
}

#[tokio::test]
async fn a_node_that_cannot_listen_does_not_join() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let error = why(Zenoh::listen(taken.local_addr().unwrap().to_string())).await;
    assert!(error.contains("could not join"), "{error}");
}

#[tokio::test]
async fn beyond_loopback_a_node_joins_with_tls_or_when_told_that_plain_text_will_do() {
    // No machine has these addresses, so even without the refusal the engine cannot listen there.
    for beyond in ["192.0.2.1:7000", "[2001:db8::1]:7000", "shop.invalid:7000"] {
        let refusal = format!("`{beyond}` is not a loopback address");
        assert!(why(Zenoh::listen(beyond)).await.contains(&refusal));
        assert!(!why(Zenoh::listen(beyond).plaintext()).await.contains(&refusal));
        // To connect there in plain text is as bad.
        let error = why(Zenoh::listen("127.0.0.1:0").seeds(["localhost:7000", beyond])).await;
        assert!(error.contains(&refusal), "{error}");
    }
}

#[tokio::test]
async fn noise_and_silence_on_the_port_disturb_nobody() {
    let mut here = Here::new(&[]).await;
    let address = here.node.id().address().to_owned();
    let mut there = There::new("127.0.0.1:0", &[&address]).await;
    let echo = here.watch(&there).await[0].clone();
    let mut open = Vec::new();
    for number in 0..60_u8 {
        let mut socket = tokio::net::TcpStream::connect(&address).await.unwrap();
        // Zenoh reads a length of two bytes first.
        let noise: Vec<u8> = match number % 3 {
            0 => Vec::new(),
            1 => vec![number; 70_000],
            _ => (0..2_000).flat_map(|byte: u16| [2, 0, byte.to_le_bytes()[0], number]).collect(),
        };
        // Zenoh may hang up first.
        let _closed = soon(socket.write_all(&noise)).await;
        open.push(socket);
    }
    for _ in 0..50 {
        assert_eq!(soon(echo.echo("calm".to_owned())).await.unwrap(), "calm");
    }
    assert!(here.gone.try_recv().is_err(), "the association has ended");
    drop(open);
    there.kill().await;
    here.told().await;
    here.end().await;
}

#[test]
fn a_runtime_that_is_dropped_closes_the_port() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let address = runtime.block_on(async {
        let system = ActorSystem::new("dropped");
        let node = Node::builder(&system).join(Zenoh::listen("127.0.0.1:0")).await.unwrap();
        system.spawn("echo", Echo::default).unwrap();
        node.id().address().to_owned()
    });
    assert!(std::net::TcpStream::connect(&address).is_ok());
    drop(runtime);
    let deadline = Instant::now() + Duration::from_secs(30);
    while std::net::TcpStream::connect(&address).is_ok() {
        assert!(Instant::now() < deadline, "the port is open");
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn a_node_that_listens_everywhere_says_where_it_is_by_any_name() {
    let everywhere = || Zenoh::listen("0.0.0.0:0").plaintext();
    assert!(why(everywhere()).await.contains("reachable_at"));
    let here = Here::new(&[]).await;
    // The name contains characters that Zenoh's keys do not allow.
    let name = "a/b*\u{fc}%41?#$:1";
    let system = ActorSystem::new("there");
    let engine = everywhere().reachable_at(name).seeds([here.node.id().address()]);
    let there = Node::builder(&system).join(engine).await.unwrap();
    assert_eq!(there.id().address(), name);
    // The look-up is answered only when both sides have the association.
    let path = format!("supervise://{}/user/nobody", here.node.id());
    let error = soon(there.find::<Echo>(&path)).await.expect_err("there is nobody");
    assert_eq!(error, FindError::NotFound(path));
    assert_eq!(here.node.peers(), [there.id().clone()]);
    soon(system.terminate()).await;
    here.end().await;
}
