//! Checks what each service answers to bad input: one clear line, and an exit code that is not 0. `.ci/run` runs
//! the services themselves.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output};

const SERVICES: [&str; 7] = ["chat", "crawler", "devices", "intake", "metrics", "night", "orders"];

fn run(service: &str, arguments: &[&str]) -> Output {
    let test = std::env::current_exe().expect("this test has a path");
    // `cargo build --examples` puts them beside the folder of the tests.
    let examples: PathBuf = test.ancestors().nth(2).expect("it is in target/debug/deps").join("examples");
    Command::new(examples.join(service))
        .args(arguments)
        .output()
        .expect("`cargo build --examples`, with the same features and also `-p supervise-example-orders`, has built the example")
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
