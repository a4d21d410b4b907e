//! Attacks on the server.

use std::io::Read;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use supervise::Event;
use supervise::console::{Console, Token};
use supervise::prelude::*;

use crate::client::{PATIENCE, act, allowed, asked, said, statuses, system};

#[actor]
struct Clerk;

#[actor]
impl Clerk {}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

const LAST: &str = "GET /text HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// Rule 22.4.
#[test]
fn requests_that_come_together_are_answered_in_order() {
    let (runtime, system) = system();
    let console = Console::of(&system).serve("127.0.0.1:0").unwrap();
    let address = console.local_addr().unwrap();
    let all = format!("{}{}{}{LAST}", get("/nothing"), get("/text").repeat(500), get("/snapshot.json"));
    let answers = said(address, all.as_bytes()).unwrap();
    let found = statuses(&answers);
    assert_eq!((found.len(), found[0]), (503, 404));
    assert!(found[1..].iter().all(|status| *status == 200), "{found:?}");
    runtime.block_on(system.terminate());
}

/// Rule 22.5.
#[test]
fn the_body_of_a_refused_request_is_no_request() {
    let (runtime, system) = system();
    let console = Console::of(&system).serve("127.0.0.1:0").unwrap();
    let address = console.local_addr().unwrap();
    let inner = get("/text");
    let length =
        format!("POST /text HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{inner}", inner.len());
    let both = format!(
        "POST /text HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n\
         {:x}\r\n{inner}\r\n0\r\n\r\n",
        inner.len()
    );
    for request in [length, both] {
        let answers = said(address, format!("{request}{LAST}").as_bytes()).unwrap();
        let found = statuses(&answers);
        assert!(matches!(found[0], 400 | 405), "{request}: {found:?}");
        assert!(found.len() <= 2, "{request}: {found:?}");
    }
    runtime.block_on(system.terminate());
}

/// Rule 22.4.
#[test]
fn a_request_that_is_too_large_is_refused_and_others_are_answered() {
    let (runtime, system) = system();
    let console = Console::of(&system).serve("127.0.0.1:0").unwrap();
    let address = console.local_addr().unwrap();
    let long = "x".repeat(200_000);
    for (request, status) in [
        (get(&format!("/{long}")), 414),
        (get(&format!("/snapshot.json?search={long}")), 414),
        (format!("GET / HTTP/1.1\r\nHost: localhost\r\nCookie: {long}\r\n\r\n"), 431),
        (format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X: y\r\n".repeat(1_000)), 431),
    ] {
        // It may close before it has read everything, and then its answer may be lost.
        if let Ok(answer) = said(address, request.as_bytes()) {
            let found = statuses(&answer);
            assert!(found.is_empty() || found[0] == status || found[0] == 431, "{status}: {found:?}");
        }
    }
    for nonsense in ["\u{16}\u{3}\u{1}\u{2}", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\r\n\r\n\r\n"] {
        let found = said(address, format!("{nonsense}{LAST}").as_bytes()).map(|answer| statuses(&answer));
        assert!(found.is_err() || found.is_ok_and(|found| found.iter().all(|status| [200, 400].contains(status))));
    }
    assert_eq!(statuses(&said(address, LAST.as_bytes()).unwrap()), [200]);
    runtime.block_on(system.terminate());
}

/// A client that asks while the system ends gets a complete answer, or none. Rule 22.1.
#[test]
fn requests_at_the_instant_of_the_end_are_answered_whole_or_not_at_all() {
    for round in 0..10 {
        let (runtime, system) = system();
        let clerk = {
            let _inside = runtime.enter();
            system.spawn("clerk", || Clerk).unwrap().actor_ref().to_any()
        };
        let token = Token::random();
        let console = Console::of(&system).allow_actions(token.clone()).serve("127.0.0.1:0").unwrap();
        let address = console.local_addr().unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let readers: Vec<_> = ["/text", "/", &format!("/snapshot.json?search={round}"), "/events", "/act"]
            .map(str::to_owned)
            .into_iter()
            .map(|path| {
                let (over, clerk, token) = (Arc::clone(&over), clerk.clone(), token.clone());
                thread::spawn(move || {
                    let mut answered = 0;
                    while !over.load(Ordering::Relaxed) {
                        if path == "/act" {
                            let status =
                                act(address, &allowed(token.secret()), &asked(&clerk, 0, "reset_backoff"));
                            assert!(status.is_err() || [202, 409].contains(&status.unwrap()));
                            continue;
                        }
                        let request = get(&path).replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
                        let Ok(answer) = said(address, request.as_bytes()) else { continue };
                        if let Some((head, body)) = answer.split_once("\r\n\r\n") {
                            assert_eq!(statuses(head), [200], "{answer}");
                            assert!(path == "/events" || !body.is_empty(), "{head}");
                            answered += 1;
                        }
                    }
                    answered
                })
            })
            .collect();
        if round % 2 == 0 {
            assert_eq!(statuses(&said(address, LAST.as_bytes()).unwrap()), [200]);
        }
        runtime.block_on(system.terminate());
        let began = Instant::now();
        while TcpStream::connect(address).is_ok() {
            assert!(began.elapsed() < PATIENCE, "it goes on although the system has ended");
            thread::yield_now();
        }
        over.store(true, Ordering::Relaxed);
        for reader in readers {
            reader.join().expect("no answer was wrong");
        }
        assert!(console.text().contains("The system has ended"), "{}", console.text());
    }
}

/// A runtime may end without its system having been told to. Nobody can look at that system any more. Rule 22.1.
#[test]
fn the_console_ends_with_the_runtime_of_its_system() {
    let (runtime, system) = system();
    {
        let _inside = runtime.enter();
        system.spawn("clerk", || Clerk).unwrap();
    }
    let console = Console::of(&system).serve("127.0.0.1:0").unwrap();
    let address = console.local_addr().unwrap();
    drop(system);
    runtime.shutdown_background();
    let began = Instant::now();
    while TcpStream::connect(address).is_ok() {
        assert!(began.elapsed() < PATIENCE, "it goes on although the runtime has ended");
        thread::yield_now();
    }
}

/// Only a socket on which nobody listens is replaced.
#[cfg(unix)]
#[test]
fn a_socket_of_another_kind_is_not_replaced() {
    use std::os::unix::net::UnixDatagram;
    let (runtime, system) = system();
    let folder = std::env::temp_dir().join(format!("supervise-hostile-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("log.sock");
    let log = UnixDatagram::bind(&path).unwrap();
    assert!(Console::of(&system).unix(&path).is_err(), "somebody reads there");
    UnixDatagram::unbound().unwrap().send_to(b"still here", &path).unwrap();
    let mut line = [0; 10];
    assert_eq!(log.recv(&mut line).unwrap(), 10);
    let file = folder.join("notes");
    std::fs::write(&file, "kept").unwrap();
    assert!(Console::of(&system).unix(&file).is_err(), "a file is there");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
    let symbolic = folder.join("link");
    std::os::unix::fs::symlink(&path, &symbolic).unwrap();
    assert!(Console::of(&system).unix(&symbolic).is_err(), "a link is there");
    assert!(symbolic.is_symlink());
    runtime.block_on(system.terminate());
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A stream whose reader goes away without a word gives its place back. Rule 22.4.
#[test]
fn streams_of_readers_that_hung_up_are_free_again() {
    let (runtime, system) = system();
    let console = Console::of(&system).serve("127.0.0.1:0").unwrap();
    let address = console.local_addr().unwrap();
    let began = Instant::now();
    for _ in 0..100 {
        loop {
            let mut socket = TcpStream::connect(address).unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            std::io::Write::write_all(&mut socket, get("/events").as_bytes()).unwrap();
            let mut status = [0; 12];
            socket.read_exact(&mut status).unwrap();
            if status.ends_with(b"200") {
                break;
            }
            assert!(began.elapsed() < PATIENCE, "readers that hung up keep their places");
        }
    }
    runtime.block_on(system.terminate());
}

#[derive(Debug, thiserror::Error)]
#[error("no ink: {0}")]
struct NoInk(String);

#[actor]
struct Scribe;

#[actor]
impl Scribe {
    #[handler]
    fn write(&mut self, what: String) -> Result<(), NoInk> {
        Err(NoInk(what))
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 5, within = "1h"), on(NoInk) = Restart, on(_) = Escalate)]
struct Desk;

#[actor]
impl Desk {
    #[handler]
    fn seat(&mut self, name: String, ctx: &mut Context<Self>) -> Result<ScribeRef, SpawnError> {
        ctx.spawn(&name, || Scribe)
    }
}

/// CON-27: the text of one actor has what the page shows of it. Rule 22.4.
#[test]
fn con_27_one_actor_has_a_text_of_its_own() {
    let (runtime, system) = system();
    let console = Console::of(&system).serve("127.0.0.1:0").unwrap();
    let address = console.local_addr().unwrap();
    let ask = |path: &str| {
        let request = get(path).replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
        let answer = said(address, request.as_bytes()).unwrap();
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_owned();
        (statuses(&answer)[0], body)
    };
    let events = system.events().subscribe();
    runtime.block_on(async {
        let mut events = events;
        let desk = system.spawn("desk", || Desk).unwrap();
        let scribe = desk.seat("scribe+1".to_owned()).await.unwrap();
        for what in ["first", "evil \u{1b}[31m"] {
            scribe.write(what.to_owned()).tell().unwrap();
        }
        let mut decided = 0;
        while decided < 2 {
            decided += u32::from(matches!(events.recv().await, Some(Event::Decided { .. })));
        }
    });
    let both = "2 of 5 restarts in 1 h used. At the limit, it stops.";
    let patience = Instant::now();
    let (mut status, mut text) = ask("/text/user/desk/scribe+1");
    // The console reads the events on its own thread, and the last restart may still be under way.
    let is_done = |text: &str| ["Running", both, "evil"].into_iter().all(|part| text.contains(part));
    while !is_done(&text) && patience.elapsed() < PATIENCE {
        (status, text) = ask("/text/user/desk/scribe+1");
    }
    assert_eq!(status, 200);
    assert!(text.lines().all(|line| line.chars().count() <= 80) && !text.contains('\u{1b}'), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for fact in [
        "/user/desk/scribe+1 Scribe Running; no message waits.",
        "Mailbox 0 messages wait; no bound",
        "Last in no handler since its restart",
        &format!("Restarts 2 Limit {both} The count starts anew in 5"),
        "/user/desk decides about it: one_for_one(max_retries = 5, within = 3600s)",
        "1 NoInk → Restart (decided the last failure) 2 anything else → Escalate",
        "If it is escalated, these decide next: /user: killed, death pact → Stop; anything else → Restart /: anything else → Stop",
        "failed in `write`: no ink: evil \\u{1b}[31m; restart at once, rule `NoInk` of /user/desk, 2 of 5 used",
        "failed in `write`: no ink: first; restart at once, rule `NoInk` of /user/desk, 1 of 5 used",
    ] {
        assert!(words.contains(fact), "{fact}\n{text}");
    }
    let (status, text) = ask("/text/user/desk");
    assert!(status == 200 && text.contains("It decides about its children: one_for_one(max_retries"), "{text}");
    assert!(text.contains("Below it  1 actor, with 0 waiting messages") && !text.contains("failed"), "{text}");
    let (status, text) = ask("/text/user/gone");
    assert!(status == 404 && text.contains("If there was one and it ended without a failure,"), "{text}");
    let (status, text) = ask("/text/desk");
    assert!(status == 404 && text.contains("\nThe actors of the program are below /user."));
    let (status, text) = ask("/text?user/desk");
    assert_eq!((status, &*text), (400, "/text takes no query. For one actor, ask for /text/user/NAME.\n"));
    let (status, text) = ask("/text");
    assert!(status == 200 && text.ends_with("\nFor one actor, add its path: …/text/user\n"), "{text}");
    runtime.block_on(system.terminate());
}

#[actor]
struct Gate;

#[actor]
impl Gate {
    /// Blocks its thread until the other end is dropped.
    #[handler(sensitive)]
    fn block(&mut self, until: mpsc::Receiver<()>) {
        let _closed = until.recv();
    }
}

/// CON-06: handlers that block all threads of the runtime leave none for a new task. Rule 22.3.
#[test]
fn con_06_a_runtime_without_a_free_thread_is_on_the_page() {
    let (runtime, system) = system();
    let console = Console::of(&system).start().unwrap();
    let (gates, held): (Vec<_>, Vec<_>) = (0..2).map(|_| mpsc::channel::<()>()).unzip();
    {
        let _inside = runtime.enter();
        for (n, until) in held.into_iter().enumerate() {
            system.spawn(format!("gate-{n}"), || Gate).unwrap().block(until).tell().unwrap();
        }
    }
    let until = |done: &dyn Fn(&str) -> bool| {
        let began = Instant::now();
        while !done(&console.text()) {
            assert!(began.elapsed() < PATIENCE, "{}", console.text());
            thread::yield_now();
        }
    };
    until(&|text| {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        words.contains("Short of threads: / the runtime A new task waited ")
            && words.contains("In a handler and not at an `.await`: gate-0 in `block`, gate-1 in `block`.")
    });
    drop(gates);
    until(&|text| text.contains("All is well"));
    runtime.block_on(system.terminate());
}
