//! The command line: a mistake is named in one line, and the exit code is not 0.

use std::process::{Command, Output};

fn run(argument: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cluster")).arg(argument).output().expect("cargo has built it")
}

#[test]
fn an_unknown_option_is_named() {
    for argument in ["--sede", "seven"] {
        let output = run(argument);
        let expected = format!("error: unknown option `{argument}`. `--help` lists the options\n");
        assert_eq!(
            (output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()),
            (Some(2), &*expected)
        );
    }
}

#[test]
fn help_says_how_to_call_it() {
    let output = run("--help");
    let text = String::from_utf8_lossy(&output.stdout);
    let is_named = text.contains("\nUsage: cargo run --manifest-path examples/cluster/Cargo.toml");
    assert!(output.status.success() && is_named && output.stderr.is_empty(), "{output:?}");
}
