//! Runs the programs as their users do. Each one answers bad input with one clear line and an exit code that is not 0. `.ci/run`
//! runs the services themselves; those that prove nothing run here.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use supervise_examples::service::process::signal;
use supervise_examples::service::{INTERRUPTED, Scratch};

const SERVICES: [&str; 7] = ["chat", "crawler", "devices", "intake", "metrics", "night", "orders"];

const BUILT: &str = "`cargo build --examples`, with the same features and also `-p supervise-example-orders`, has built the example";

fn command(program: &str, arguments: &[&str]) -> Command {
    let test = std::env::current_exe().expect("this test has a path");
    // `cargo build --examples` puts them beside the folder of the tests.
    let examples: PathBuf = test.ancestors().nth(2).expect("it is in target/debug/deps").join("examples");
    let mut command = Command::new(examples.join(program));
    command.args(arguments);
    command
}

fn run(program: &str, arguments: &[&str]) -> Output {
    command(program, arguments).output().expect(BUILT)
}

/// What a program that succeeded has written to standard output.
fn said(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The only line on standard error.
fn complaint(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(text.lines().count(), 1, "{text}");
    text.trim_end().to_owned()
}

#[test]
fn an_unknown_option_is_named() {
    for service in SERVICES {
        let output = run(service, &["--sede", "7"]);
        assert_eq!(output.status.code(), Some(2), "{service}");
        assert_eq!(complaint(&output), "error: unknown option `--sede`. `--help` lists the options", "{service}");
    }
}

#[test]
fn help_says_how_to_call_it() {
    for service in SERVICES {
        let output = run(service, &["--help"]);
        let text = String::from_utf8_lossy(&output.stdout);
        let is_named = text.contains("Usage: cargo run ") && text.contains(&format!("--example {service}"));
        assert!(output.status.success() && is_named && output.stderr.is_empty(), "{service}: {text}");
    }
}

#[test]
fn a_port_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("it listens").port().to_string();
    for service in ["chat", "devices", "intake", "metrics", "night"] {
        let output = run(service, &["--port", &port]);
        assert_eq!(output.status.code(), Some(2), "{service}");
        let complaint = complaint(&output);
        let expected = match service {
            "night" => format!("error: the console cannot listen on [127.0.0.1:{port}]: Address already in use"),
            "metrics" => format!("error: cannot listen on 127.0.0.1:{port}: "),
            _ => format!("error: cannot listen on 127.0.0.1:{port}: Address already in use"),
        };
        assert!(complaint.starts_with(&expected), "{service}: {complaint}");
        assert!(complaint.contains("Address already in use"), "{service}: {complaint}");
    }
}

#[test]
fn a_service_alone_says_what_it_expects() {
    for (arguments, expected) in [
        (&["serve"][..], "error: expected `serve PORT DATABASE`"),
        (&["serve", "99999", "user=x"][..], "error: `99999` is not a port"),
        (&["serve", "0", "nonsense"][..], "error: `nonsense`: invalid connection string"),
    ] {
        let output = run("intake", arguments);
        assert_eq!((output.status.code(), complaint(&output).as_str()), (Some(2), expected));
    }
}

#[test]
fn help_shows_what_an_option_may_be() {
    for (service, range) in [
        ("chat", "(60 to 1000, default 60)"),
        ("crawler", "(0 to 2^64 - 1, default 1)"),
        ("metrics", "(1 to 65535, default 9464)"),
    ] {
        let text = String::from_utf8_lossy(&run(service, &["--help"]).stdout).into_owned();
        assert!(text.contains(range), "{service}: {text}");
    }
}

#[test]
fn the_world_cup_names_a_wrong_option_in_one_line() {
    let output = run("world_cup", &["--faults", "101"]);
    let expected = "error: `--faults 101`: expected a whole number from 0 to 100. `--help` lists the options";
    assert_eq!((output.status.code(), complaint(&output).as_str()), (Some(2), expected));
}

#[test]
fn the_world_cup_names_a_file_that_it_cannot_use_in_one_line() {
    let scratch = Scratch::new("no-world-cup").expect("a folder");
    let file = |name: &str, text: &str| {
        let path = scratch.path().join(name);
        fs::write(&path, text).expect("a file");
        path.display().to_string()
    };
    for (path, expected) in [
        ("no/such/file.json".to_owned(), "error: cannot read no/such/file.json: No such file or directory"),
        (file("a", r#"{"name": "World Cup", "groups": []}"#), "a:1:1: wrong format: it has no `matches`"),
        (file("b", "nothing"), "b:1:2: wrong format: expected ident; expected {"),
        (file("c", r#"{"matches": []}"#), "c: the list of matches is empty"),
        (file("d", r#"{"matches": [7, 8]}"#), "d:1:14: record 1: "),
    ] {
        let output = run("world_cup", &[&path]);
        let complaint = complaint(&output);
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        assert!(complaint.starts_with("error: ") && complaint.contains(expected), "{complaint}");
    }
}

#[test]
fn a_folder_without_orders_is_refused_and_stays_as_it_was() {
    let scratch = Scratch::new("no-orders").expect("a folder");
    for folder in [scratch.path(), &scratch.path().join("missing")] {
        let folder = folder.to_str().expect("UTF-8");
        for arguments in [&["quarantined", folder][..], &["retry", folder, "1"], &["discard", folder, "1"]] {
            let output = run("orders", arguments);
            let expected = format!("error: there is no store of orders in {folder}");
            assert_eq!((output.status.code(), complaint(&output)), (Some(2), expected));
        }
    }
    assert!(is_empty(scratch.path()));
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).expect("the folder is there").next().is_none()
}

#[test]
fn the_orders_leave_nothing_behind() {
    let scratch = Scratch::new("orders-test").expect("a folder");
    let output = command("orders", &[]).env("TMPDIR", scratch.path()).output().expect(BUILT);
    assert!(said(&output).contains(", 0 lost"), "{output:?}");
    assert!(is_empty(scratch.path()));
}

#[test]
fn interrupted_orders_leave_nothing_behind() {
    let scratch = Scratch::new("interrupted-test").expect("a folder");
    let mut orders = command("orders", &[]);
    orders.env("TMPDIR", scratch.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut orders = orders.spawn().expect(BUILT);
    let mut line = String::new();
    let mut lines = BufReader::new(orders.stdout.take().expect("it is piped"));
    lines.read_line(&mut line).expect("a line");
    assert_eq!(line, "the intake accepts orders; kill 1 of 10 follows\n");
    signal("INT", orders.id()).expect("it runs");
    let output = orders.wait_with_output().expect("it ends");
    let expected = (Some(i32::from(INTERRUPTED)), "error: interrupted by Ctrl-C".to_owned());
    assert_eq!((output.status.code(), complaint(&output)), expected);
    assert!(is_empty(scratch.path()));
}

#[test]
fn a_store_that_is_kept_can_be_looked_into() {
    let scratch = Scratch::new("keep-test").expect("a folder");
    let text = said(&command("orders", &["--keep"]).env("TMPDIR", scratch.path()).output().expect(BUILT));
    let folder = text.lines().find_map(|line| line.strip_prefix("the store is in ")).expect("it says where");
    // The lines without a margin.
    let quarantined = || {
        let text = said(&run("orders", &["quarantined", folder]));
        let ids = text.lines().filter(|line| !line.starts_with(' ')).filter_map(|line| line.split(' ').next());
        ids.map(str::to_owned).collect::<Vec<_>>()
    };
    let all = quarantined();
    assert_eq!(all.len(), 30);
    assert_eq!(said(&run("orders", &["discard", folder, &all[0]])), format!("{} is discarded\n", all[0]));
    assert_eq!(said(&run("orders", &["retry", folder, &all[1]])), format!("{} is back in the queue\n", all[1]));
    assert_eq!(quarantined(), all[2..]);
    let output = run("orders", &["retry", folder, &all[1]]);
    let expected = format!("error: no message in quarantine has the ID {}", all[1]);
    assert_eq!((output.status.code(), complaint(&output)), (Some(1), expected));
}

#[test]
fn the_night_ends_with_a_look_at_the_shop() {
    let text = said(&run("night", &["--seconds", "1", "--sessions", "100", "--port", "0"]));
    assert!(text.starts_with("http://127.0.0.1:") && text.contains("\nshop, "), "{text}");
}

#[test]
fn the_metrics_can_be_scraped() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("it listens");
    let mut metrics = command("metrics", &["--seconds", "1", "--port", &free.port().to_string()]);
    let mut metrics = metrics.stdout(Stdio::piped()).spawn().expect(BUILT);
    let mut line = String::new();
    BufReader::new(metrics.stdout.take().expect("it is piped")).read_line(&mut line).expect("a line");
    assert_eq!(line, format!("http://{free}/metrics\n"));
    let mut stream = TcpStream::connect(free).expect("it listens");
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.lines().next().is_some_and(|status| status.ends_with(" 200 OK")), "{answer}");
    assert!(metrics.wait().expect("it ends").success());
}
