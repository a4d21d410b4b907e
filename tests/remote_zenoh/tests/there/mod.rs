//! Nodes in other processes.

#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of it")]

use std::process::{Command as Tool, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

/// Awaits something that must happen within a minute.
pub async fn soon<T>(what: impl IntoFuture<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), what.into_future()).await.expect("it happens within a minute")
}

/// A node in another process.
pub struct There {
    process: Child,
    output: Lines<BufReader<ChildStdout>>,
    pub address: String,
}

impl There {
    pub async fn new(address: &str, seeds: &[&str]) -> Self {
        let mut node = Command::new(env!("CARGO_BIN_EXE_node"));
        node.arg(address).args(seeds);
        Self::run(node).await
    }

    /// Runs a program that behaves as `node` does.
    pub async fn run(mut node: Command) -> Self {
        let mut process =
            node.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn().expect("it starts");
        let output = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        let mut there = Self { process, output, address: String::new() };
        there.address = there.says("ready ").await;
        there
    }

    /// The next line, or `None` after its end.
    pub async fn line(&mut self) -> Option<String> {
        self.output.next_line().await.expect("it can be read")
    }

    /// Tells it a line.
    pub async fn tell(&mut self, line: &str) {
        let input = self.process.stdin.as_mut().expect("it is piped");
        soon(input.write_all(format!("{line}\n").as_bytes())).await.expect("it runs");
    }

    /// Waits for a line that begins with `begin`, and returns the rest of the line.
    pub async fn says(&mut self, begin: &str) -> String {
        loop {
            let line = soon(self.line()).await.expect("it still runs");
            if let Some(rest) = line.strip_prefix(begin) {
                return rest.to_owned();
            }
        }
    }

    pub fn path(&self, name: &str) -> String {
        format!("supervise://there@{}/user/{name}", self.address)
    }

    /// Sends a signal, such as `STOP`.
    pub fn signal(&self, signal: &str) {
        let process = self.process.id().expect("it runs").to_string();
        let status =
            Tool::new("kill").args([&format!("-{signal}"), &process]).status().expect("there is a `kill`");
        assert!(status.success());
    }

    /// SIGKILL.
    pub async fn kill(&mut self) {
        soon(self.process.kill()).await.expect("it runs");
    }

    /// Closes its input, so that it ends.
    pub fn close(&mut self) {
        drop(self.process.stdin.take());
    }

    /// Ends it in an orderly way.
    pub async fn end(mut self) {
        drop(self.process.stdin.take());
        let status = soon(self.process.wait()).await.expect("it is ours");
        assert!(status.success(), "{status}");
    }
}
