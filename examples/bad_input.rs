//! Checks what each service answers to bad input: one clear line, and an exit code that is not 0. `.ci/run` runs
//! the services themselves.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output};

const SERVICES: [&str; 4] = ["chat", "crawler", "devices", "intake"];

fn run(service: &str, arguments: &[&str]) -> Output {
    let test = std::env::current_exe().expect("this test has a path");
    // `cargo build --examples` puts them beside the folder of the tests.
    let examples: PathBuf = test.ancestors().nth(2).expect("it is in target/debug/deps").join("examples");
    Command::new(examples.join(service))
        .args(arguments)
        .output()
        .expect("`cargo build --examples`, with the same features, has built the example")
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
        assert!(output.status.success() && text.contains(&format!("cargo run --example {service}")), "{text}");
    }
}

#[test]
fn a_port_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("it listens").port().to_string();
    for service in ["chat", "devices", "intake"] {
        let output = run(service, &["--port", &port]);
        assert_eq!(output.status.code(), Some(2), "{service}");
        let complaint = complaint(&output);
        let expected = format!("error: cannot listen on 127.0.0.1:{port}: Address already in use");
        assert!(complaint.starts_with(&expected), "{service}: {complaint}");
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
        assert_eq!((output.status.code(), complaint(&output).as_str()), (Some(1), expected));
    }
}
