//! The console's server, over real sockets. Rules 22.1, 22.4, 22.5, 22.6 and 22.7.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use supervise::console::{Console, Running, Token};
use supervise::prelude::*;
use supervise::{Event, Interest, Intervention};
use tokio::runtime::{Builder, Runtime};

/// After this long, a test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(60);

#[actor]
struct Worker;

#[actor]
impl Worker {
    /// Blocks its thread until the other end is dropped.
    #[handler(sensitive)]
    fn dig(&mut self, until: Gate) {
        let _closed = until.0.recv();
    }

    #[handler]
    fn break_down(&mut self, why: String) -> std::io::Result<()> {
        Err(std::io::Error::other(why))
    }
}

struct Gate(mpsc::Receiver<()>);

fn system() -> (Runtime, ActorSystem) {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let system = {
        let _inside = runtime.enter();
        ActorSystem::new("shop")
    };
    (runtime, system)
}

fn serving(system: &ActorSystem) -> (Running, SocketAddr) {
    let console = Console::of(system).serve("127.0.0.1:0").unwrap();
    let address = console.local_addr().unwrap();
    (console, address)
}

/// Sends a head, and returns the connection to read from.
fn send(address: SocketAddr, head: &str) -> BufReader<TcpStream> {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.write_all(format!("{head}\r\nConnection: close\r\n\r\n").as_bytes()).unwrap();
    BufReader::new(socket)
}

fn answer(address: SocketAddr, head: &str) -> (u16, String) {
    let mut whole = String::new();
    send(address, head).read_to_string(&mut whole).unwrap();
    let status = whole.split(' ').nth(1).unwrap().parse().unwrap();
    (status, whole)
}

fn get(address: SocketAddr, path: &str) -> (u16, String) {
    answer(address, &format!("GET {path} HTTP/1.1\r\nHost: localhost"))
}

/// An open stream, after its first view.
fn stream(address: SocketAddr) -> (u16, BufReader<TcpStream>) {
    let mut reader = send(address, "GET /events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream");
    let mut status = String::new();
    reader.read_line(&mut status).unwrap();
    let status = status.split(' ').nth(1).unwrap().parse().unwrap();
    if status == 200 {
        view(&mut reader);
    }
    (status, reader)
}

fn view(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line).unwrap() == 0 {
            return None;
        }
        if let Some(data) = line.strip_prefix("data: ") {
            return Some(data.to_owned());
        }
    }
}

#[test]
fn con_05_the_console_answers_while_every_worker_is_blocked_and_names_the_handler() {
    let (runtime, system) = system();
    let mut gates = Vec::new();
    for name in ["one", "two", "three", "four"] {
        let (gate, until) = mpsc::channel();
        let _inside = runtime.enter();
        system.spawn(name, || Worker).unwrap().dig(Gate(until)).tell().unwrap();
        gates.push(gate);
    }
    let (_console, address) = serving(&system);
    let began = Instant::now();
    loop {
        let (status, text) = get(address, "/text");
        assert_eq!(status, 200);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let named = |name: &str| words.contains(&format!("{name} in `dig`"));
        // Two workers of the runtime, so two of the four are in their handlers.
        let both = ["one", "two", "three", "four"].into_iter().filter(|name| named(name)).count() == 2;
        if both
            && words.contains("Blocks a thread: 2 × Worker, the worst is /user/")
            && words.contains("In `dig`, not at")
        {
            break;
        }
        assert!(began.elapsed() < PATIENCE, "{text}");
        std::thread::yield_now();
    }
    drop(gates);
    runtime.block_on(system.terminate());
}

#[test]
fn con_19_the_seventeenth_stream_is_refused_until_another_ends() {
    let (runtime, system) = system();
    let (_console, address) = serving(&system);
    let mut open: Vec<_> = (0..16).map(|_| stream(address)).collect();
    assert!(open.iter().all(|(status, _)| *status == 200));
    assert_eq!(stream(address).0, 503);
    assert_eq!(get(address, "/text").0, 200);
    open.pop();
    let began = Instant::now();
    while stream(address).0 != 200 {
        assert!(began.elapsed() < PATIENCE);
    }
    runtime.block_on(system.terminate());
}

#[test]
fn con_20_con_22_strangers_and_actions_are_refused() {
    let (runtime, system) = system();
    let (_console, address) = serving(&system);
    for path in ["/", "/text", "/snapshot.json", "/events"] {
        assert_eq!(
            answer(address, &format!("GET {path} HTTP/1.1\r\nHost: evil.test:{}", address.port())).0,
            421,
            "{path}"
        );
        let other = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site");
        assert_eq!(answer(address, &other).0, 403, "{path}");
        assert_eq!(
            answer(address, &format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0")).0,
            405
        );
    }
    assert_eq!(answer(address, "POST /act HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0").0, 404);
    assert_eq!(get(address, "/../etc/passwd").0, 404);
    let (status, page) = get(address, "/");
    assert_eq!(status, 200);
    for header in [
        "content-security-policy: default-src 'none'",
        "x-content-type-options: nosniff",
        "cache-control: no-store",
    ] {
        assert!(page.contains(header), "{header} is missing");
    }
    let refused = Console::of(&system).serve("0.0.0.0:0").expect_err("other machines could read it");
    assert!(refused.to_string().contains("bind_anywhere"), "{refused}");
    runtime.block_on(system.terminate());
}

/// An error's text is text in each answer, and no answer is taken for a page. Rule 22.5.
#[test]
fn con_21_an_error_is_text_in_json_and_text() {
    let (runtime, system) = system();
    let (_console, address) = serving(&system);
    let worker = {
        let _inside = runtime.enter();
        system.spawn("worker", || Worker).unwrap()
    };
    worker.break_down("<img/src=x/onerror=\"alert(1)\">".to_owned()).tell().unwrap();
    let until = |path: &str, kind: &str, evil: &str| {
        let began = Instant::now();
        loop {
            let (status, answer) = get(address, path);
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            let head = head.to_ascii_lowercase();
            assert_eq!(status, 200);
            assert!(head.contains(&format!("content-type: {kind}")) && head.contains("nosniff"), "{head}");
            if body.contains(evil) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{path}: {body}");
            std::thread::yield_now();
        }
    };
    until("/text", "text/plain", "<img/src=x/onerror=\"alert(1)\">");
    until("/snapshot.json", "application/json", "<img/src=x/onerror=\\\"alert(1)\\\">");
    runtime.block_on(system.terminate());
}

/// Without texts, no answer has one: neither a card nor a list nor the chosen actor. Rule 22.6.
#[test]
fn con_24_no_answer_has_the_text_of_an_error() {
    let (runtime, system) = system();
    let console = Console::of(&system).without_texts().serve("127.0.0.1:0").unwrap();
    let address = console.local_addr().unwrap();
    let worker = {
        let _inside = runtime.enter();
        system.spawn("worker", || Worker).unwrap()
    };
    for _ in 0..4 {
        worker.break_down("swordfish".to_owned()).tell().unwrap();
    }
    let began = Instant::now();
    loop {
        let (_, text) = get(address, "/text");
        assert!(!text.contains("swordfish") && !text.contains("Why"), "{text}");
        if text.contains("Restart loop") {
            break;
        }
        assert!(began.elapsed() < PATIENCE, "{text}");
        std::thread::yield_now();
    }
    for path in ["/text/user/worker", "/snapshot.json?focus=/user/worker", "/snapshot.json"] {
        let (status, answer) = get(address, path);
        assert!(
            status == 200 && answer.contains("break_down") && !answer.contains("swordfish"),
            "{path}: {answer}"
        );
    }
    runtime.block_on(system.terminate());
}

/// The last view of the stream says how the system ended. After that, the console serves nothing.
#[test]
fn con_26_the_last_view_says_how_the_system_ended() {
    let (runtime, system) = system();
    let (console, address) = serving(&system);
    let (_, mut reader) = stream(address);
    runtime.block_on(system.terminate());
    let mut last = String::new();
    while let Some(view) = view(&mut reader) {
        last = view;
    }
    assert!(last.contains("The system has ended, as it was told to."), "{last}");
    assert!(console.text().contains("The system has ended"));
    let began = Instant::now();
    while TcpStream::connect(address).is_ok() {
        assert!(began.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
}

#[test]
fn a_stopped_console_serves_nothing_and_the_system_goes_on() {
    let (runtime, system) = system();
    let (console, address) = serving(&system);
    console.stop();
    let began = Instant::now();
    while TcpStream::connect(address).is_ok() {
        assert!(began.elapsed() < PATIENCE);
        std::thread::yield_now();
    }
    assert!(!system.has_terminated());
    runtime.block_on(system.terminate());
}

#[cfg(unix)]
#[test]
fn a_unix_socket_is_served_and_a_stale_one_is_replaced() {
    use std::os::unix::net::{UnixListener, UnixStream};
    let (runtime, system) = system();
    let folder = std::env::temp_dir().join(format!("supervise-console-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("console.sock");
    drop(UnixListener::bind(&path).unwrap());
    let _console = Console::of(&system).unix(&path).unwrap();
    let mut socket = UnixStream::connect(&path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.write_all(b"GET /text HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    assert!(text.contains("All is well"), "{text}");
    assert!(Console::of(&system).unix(&path).is_err(), "somebody listens there");
    runtime.block_on(system.terminate());
    std::fs::remove_dir_all(&folder).unwrap();
}

fn act(address: SocketAddr, headers: &str, body: &str) -> u16 {
    let head = format!(
        "POST /act HTTP/1.1\r\nHost: localhost:1\r\n{headers}Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.write_all(head.as_bytes()).unwrap();
    let mut whole = String::new();
    // A refusal may come before the body is read.
    let _reset = BufReader::new(socket).read_to_string(&mut whole);
    whole.split(' ').nth(1).unwrap().parse().unwrap()
}

/// Rule 22.7.
#[test]
fn con_22_an_action_needs_a_token_an_origin_and_what_was_seen() {
    let (runtime, system) = system();
    let worker = {
        let _inside = runtime.enter();
        system.spawn("worker", || Worker).unwrap().actor_ref().to_any()
    };
    let mut events = system.events().subscribe_to(Interest::FAILURES | Interest::RESTARTS);
    let second = Token::new("0123456789abcdef").label("second shift");
    let console =
        Console::of(&system).allow_actions(Token::random()).allow_actions(second).serve("127.0.0.1:0").unwrap();
    let address = console.local_addr().unwrap();
    let url = console.operator_url().unwrap();
    let first = url.strip_prefix(&format!("http://{address}/#token=")).unwrap();
    let right = |token: &str| {
        format!(
            "Authorization: Bearer {token}\r\nOrigin: http://localhost:1\r\nContent-Type: application/json; charset=utf-8\r\n"
        )
    };
    let on = |path: &str, uid: u64, restarts: u32, what: &str| {
        format!("{{\"path\":\"{path}\",\"uid\":\"{uid}\",\"restarts\":{restarts},\"what\":\"{what}\"}}")
    };
    let uid = u64::from(worker.uid());
    let restart = on("/user/worker", uid, 0, "restart");
    for (without, status) in [("Authorization", 401), ("Origin", 403), ("Content-Type", 415)] {
        let kept: String = right(first).split_inclusive('\n').filter(|line| !line.starts_with(without)).collect();
        assert_eq!(act(address, &kept, &restart), status, "without {without}");
    }
    assert_eq!(act(address, &right(&first[1..]), &restart), 401);
    assert_eq!(act(address, &right(first).replace("http://localhost:1", "http://localhost:2"), &restart), 403);
    assert_eq!(act(address, &right(first).replace("http://localhost:1", "null"), &restart), 403);
    assert_eq!(act(address, &right(first).replace("application/json", "text/plain"), &restart), 415);
    assert_eq!(act(address, &format!("{}Sec-Fetch-Site: cross-site\r\n", right(first)), &restart), 403);
    assert_eq!(act(address, &right(first), "{}"), 400);
    assert_eq!(act(address, &right(first), &" ".repeat(5_000)), 413);
    assert_eq!(get(address, "/act").0, 405);
    for path in ["/", "/user", "/system"] {
        let uid = u64::from(system.find(path).unwrap().uid());
        assert_eq!(act(address, &right(first), &on(path, uid, 0, "stop")), 403, "{path}");
    }
    for stale in [
        on("/user/worker", uid + 1, 0, "restart"),
        on("/user/worker", uid, 1, "restart"),
        on("/user/nobody", uid, 0, "restart"),
        on("/user/worker", uid, 0, "restart_now"),
    ] {
        assert_eq!(act(address, &right(first), &stale), 409, "{stale}");
    }
    assert!(events.try_recv().is_none(), "nothing was done");
    assert_eq!(act(address, &right(first), &restart), 202);
    let mut told = Vec::new();
    runtime.block_on(async {
        while told.len() < 2 {
            match events.recv().await.unwrap() {
                Event::Intervened { actor, what, by, .. } => told.push(format!("{} {what} {by}", actor.local())),
                Event::Restarted { failure, .. } => told.push(failure.to_string()),
                other => panic!("{other:?}"),
            }
        }
    });
    assert_eq!(told, ["/user/worker restart console", "restarted by hand, by console"]);
    assert_eq!(act(address, &right(first), &restart), 409, "it was restarted since");
    assert_eq!(act(address, &right("0123456789abcdef"), &on("/user/worker", uid, 1, "stop")), 202);
    runtime.block_on(async {
        let event = events.recv().await.unwrap();
        assert!(
            matches!(&event, Event::Intervened { what: Intervention::Stop, by, .. } if &**by == "second shift"),
            "{event:?}"
        );
    });
    runtime.block_on(system.terminate());
}
