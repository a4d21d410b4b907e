//! Attacks on `POST /act`. Rule 22.7.

use std::io;
use std::net::SocketAddr;
use std::sync::{Barrier, mpsc};
use std::thread;

use supervise::console::{Console, Running, Token};
use supervise::prelude::*;
use supervise::{AnyActorRef, Event, Events, Interest};
use tokio::runtime::Runtime;

use crate::client::{act, allowed, asked, system};

#[actor]
struct Clerk;

#[actor]
impl Clerk {
    #[handler]
    fn fail(&mut self) -> io::Result<()> {
        Err(io::Error::other("out of paper"))
    }

    #[handler]
    fn wink(&self) {}
}

#[actor]
#[supervise(one_for_one(max_retries = 1_000, within = "1h"), on(_) = Restart)]
struct Office;

#[actor]
impl Office {
    #[handler]
    fn clerk(&mut self, ctx: &mut Context<Self>) -> Result<ClerkRef, SpawnError> {
        ctx.spawn("clerk", || Clerk)
    }

    /// Blocks its thread until the other end is dropped.
    #[handler(sensitive)]
    fn count(&mut self, gate: Gate) {
        gate.inside.send(()).unwrap();
        let _closed = gate.until.recv();
    }
}

struct Gate {
    inside: mpsc::Sender<()>,
    until: mpsc::Receiver<()>,
}

struct Scene {
    runtime: Runtime,
    system: ActorSystem,
    office: OfficeRef,
    clerk: ClerkRef,
    _console: Running,
    address: SocketAddr,
    token: Token,
}

impl Scene {
    fn new() -> Self {
        let (runtime, system) = system();
        let (office, clerk) = runtime.block_on(async {
            let office = system.spawn("office", || Office).unwrap();
            let clerk = office.clerk().await.unwrap();
            (office, clerk)
        });
        let token = Token::random();
        let console = Console::of(&system).allow_actions(token.clone()).serve("127.0.0.1:0").unwrap();
        let address = console.local_addr().unwrap();
        Self { runtime, system, office, clerk, _console: console, address, token }
    }

    fn any(&self) -> AnyActorRef {
        self.clerk.actor_ref().to_any()
    }

    fn act(&self, actor: &AnyActorRef, restarts: u32, what: &str) -> u16 {
        act(self.address, &allowed(self.token.secret()), &asked(actor, restarts, what)).unwrap()
    }

    fn end(self) {
        self.runtime.block_on(self.system.terminate());
    }
}

/// How often each thing happened until the actor ended.
fn counted(runtime: &Runtime, mut events: Events) -> (usize, usize, usize) {
    let (mut asked, mut restarted, mut ended) = (0, 0, 0);
    runtime.block_on(async {
        while ended == 0 {
            match events.recv().await.expect("the system runs") {
                Event::Intervened { .. } => asked += 1,
                Event::Restarted { .. } => restarted += 1,
                Event::Stopped { actor, .. } if actor.local() == "/user/office/clerk" => ended += 1,
                _ => {}
            }
        }
    });
    (asked, restarted, ended)
}

#[test]
fn con_22_a_token_counts_only_where_it_belongs() {
    let scene = Scene::new();
    let mut events = scene.system.events().subscribe_to(Interest::FAILURES | Interest::RESTARTS | Interest::LIVES);
    let (clerk, secret) = (scene.any(), scene.token.secret());
    let body = asked(&clerk, 0, "stop");
    let rest = "Origin: http://localhost\r\nContent-Type: application/json\r\n";
    let other = Token::random();
    for authorization in [
        String::new(),
        "Authorization: \r\n".to_owned(),
        "Authorization: Bearer\r\n".to_owned(),
        "Authorization: Bearer \r\n".to_owned(),
        format!("Authorization: {secret}\r\n"),
        format!("Authorization: Basic {secret}\r\n"),
        format!("Authorization: Bearer{secret}\r\n"),
        format!("Authorization: Bearer {secret} {secret}\r\n"),
        format!("Authorization: Bearer {secret},\r\n"),
        format!("Authorization: Bearer {}\r\n", secret.to_uppercase()),
        format!("Authorization: Bearer {}\r\n", other.secret()),
        format!("Authorization: Bearer {secret}\r\nAuthorization: Bearer {}\r\n", other.secret()),
        format!("Cookie: token={secret}\r\n"),
        format!("X-Token: {secret}\r\nReferer: http://localhost/#token={secret}\r\n"),
        format!("Proxy-Authorization: Bearer {secret}\r\n"),
    ] {
        let status = act(scene.address, &format!("{authorization}{rest}"), &body).unwrap();
        assert_eq!(status, 401, "{}", authorization.replace(secret, "SECRET"));
    }
    let within = body.replace('{', &format!("{{\"token\":\"{secret}\","));
    assert_eq!(act(scene.address, rest, &within).unwrap(), 401, "in the body");
    let right = allowed(secret);
    for (instead, status) in [
        ("Origin: http://localhost.evil.test\r\n", 403),
        ("Origin: http://localhost:6670\r\n", 403),
        ("Origin: localhost\r\n", 403),
        ("Origin: file://localhost\r\n", 403),
        ("Origin: http://localhost\r\nOrigin: http://evil.test\r\n", 403),
        ("Origin: http://localhost\r\nSec-Fetch-Site: cross-site\r\n", 403),
        ("Origin: http://localhost\r\nHost: evil.test\r\n", 421),
    ] {
        let headers = right.replace("Origin: http://localhost\r\n", instead);
        assert_eq!(act(scene.address, &headers, &body).unwrap(), status, "{instead}");
    }
    // On a busy machine, a guardian may start only now.
    let done = std::iter::from_fn(|| events.try_recv()).find(|event| !matches!(event, Event::Started { .. }));
    assert!(done.is_none(), "{done:?}");
    scene.end();
}

/// Many ask for the same restart before the supervisor has time for it. It happens once.
#[test]
fn con_22_con_23_a_restart_that_many_ask_for_happens_once() {
    const MANY: usize = 16;
    let scene = Scene::new();
    let clerk = scene.any();
    let events = scene.system.events().subscribe_to(Interest::FAILURES | Interest::RESTARTS | Interest::LIVES);
    let ((gate, until), (inside, is_inside)) = (mpsc::channel(), mpsc::channel());
    scene.office.count(Gate { inside, until }).tell().unwrap();
    is_inside.recv().unwrap();
    let start = Barrier::new(MANY);
    thread::scope(|scope| {
        for _ in 0..MANY {
            scope.spawn(|| {
                start.wait();
                assert_eq!(scene.act(&clerk, 0, "restart"), 202, "it has not restarted yet");
            });
        }
    });
    drop(gate);
    // The actor has answered after the restart, so the earlier requests have been carried out.
    while scene.act(&clerk, 1, "stop") != 202 {
        thread::yield_now();
    }
    assert_eq!(counted(&scene.runtime, events), (MANY + 1, 1, 1));
    scene.end();
}

/// An action that is requested while the actor fails and restarts is done to the instance that the operator saw,
/// or not at all.
#[test]
fn con_22_an_action_beside_a_restart_is_done_to_what_was_seen() {
    for _ in 0..20 {
        let scene = Scene::new();
        let clerk = scene.any();
        let events = scene.system.events().subscribe_to(Interest::FAILURES | Interest::RESTARTS | Interest::LIVES);
        let start = Barrier::new(2);
        let status = thread::scope(|scope| {
            let asker = scope.spawn(|| {
                start.wait();
                scene.act(&clerk, 0, "restart")
            });
            start.wait();
            scene.clerk.fail().tell().unwrap();
            asker.join().unwrap()
        });
        // A stop that came before the new instance began would take the place of the restart.
        while scene.runtime.block_on(async { scene.clerk.wink().await }).is_err() {}
        let mut restarts = 1;
        while scene.act(&clerk, restarts, "stop") != 202 {
            restarts = if restarts == 1 { 2 } else { 1 };
        }
        let (asked, restarted, ended) = counted(&scene.runtime, events);
        assert_eq!(asked, 1 + usize::from(status == 202), "{status}");
        assert!((1..=2).contains(&restarted) && ended == 1, "{restarted}");
        scene.end();
    }
}

#[test]
fn con_22_an_actor_that_ended_and_its_successor_are_not_mixed_up() {
    let scene = Scene::new();
    let clerk = scene.any();
    clerk.stop();
    scene.runtime.block_on(scene.system.ended(&scene.clerk));
    for what in ["restart", "restart_now", "reset_backoff", "stop"] {
        assert_eq!(scene.act(&clerk, 0, what), 409, "{what}");
    }
    let successor = scene.runtime.block_on(async { scene.office.clerk().await.unwrap() });
    assert_eq!(scene.act(&clerk, 0, "stop"), 409, "its uid is another");
    assert!(!successor.actor_ref().to_any().has_ended());
    scene.end();
}

#[test]
fn con_22_the_runtimes_own_actors_are_left_alone_whatever_they_are_called() {
    let scene = Scene::new();
    let uid_of = |path: &str| scene.system.find(path).map_or(0, |actor| u64::from(actor.uid()));
    for (path, uid) in [("/", uid_of("/")), ("/user", uid_of("/user")), ("/system", uid_of("/system"))] {
        for what in ["restart", "restart_now", "reset_backoff", "stop"] {
            let body = format!("{{\"path\":\"{path}\",\"uid\":\"{uid}\",\"restarts\":0,\"what\":\"{what}\"}}");
            assert_eq!(act(scene.address, &allowed(scene.token.secret()), &body).unwrap(), 403, "{path} {what}");
        }
    }
    for path in ["/user/", "//user", "/user/.", "/user/..", "/user/office/..", "/user/*", "/%75ser", "/USER"] {
        for uid in [uid_of("/"), uid_of("/user"), uid_of("/user/office")] {
            let body = format!("{{\"path\":\"{path}\",\"uid\":\"{uid}\",\"restarts\":0,\"what\":\"stop\"}}");
            let status = act(scene.address, &allowed(scene.token.secret()), &body).unwrap();
            assert!([400, 403, 409].contains(&status), "{path}: {status}");
        }
    }
    assert!(!scene.system.has_terminated() && !scene.any().has_ended());
    scene.end();
}
