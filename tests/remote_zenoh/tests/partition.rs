//! Two nodes in network namespaces of their own, whose connection goes down and up again. Skipped aloud where a test may not make
//! network namespaces.
//!
//! Rules 26.3 and 26.4.

mod there;

use std::process::Stdio;
use std::time::{Duration, Instant};

use supervise_remote_zenoh::PATIENCE;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::there::{There, soon};

/// Two network namespaces, and a cable that connects them.
struct Cable {
    left: Shell,
    right: Shell,
}

/// A shell in a network namespace of its own, in which it is root.
struct Shell {
    process: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Cable {
    /// `Err`: why this machine does not let a test do this.
    async fn new() -> Result<Self, String> {
        let mut left = Shell::new(&["unshare", "--user", "--map-root-user", "--net", "sh"])?;
        // Each of them has made its namespace when it answers.
        left.does("true").await?;
        let right =
            ["nsenter", "--target", &left.pid(), "--user", "--preserve-credentials", "unshare", "--net", "sh"];
        let mut right = Shell::new(&right)?;
        right.does("true").await?;
        left.does(&format!("ip link add left type veth peer name right netns {}", right.pid())).await?;
        for (shell, name, address) in [(&mut left, "left", "10.77.0.1"), (&mut right, "right", "10.77.0.2")] {
            shell.does(&format!("ip address add {address}/24 dev {name}")).await?;
            shell.does("ip link set lo up").await?;
            shell.does(&format!("ip link set {name} up")).await?;
        }
        Ok(Self { left, right })
    }
}

impl Shell {
    fn new(command: &[&str]) -> Result<Self, String> {
        let mut process = Command::new(command[0])
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("`{}` cannot run: {error}", command[0]))?;
        let input = process.stdin.take().expect("it is piped");
        let output = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        Ok(Self { process, input, output })
    }

    fn pid(&self) -> String {
        self.process.id().expect("it runs").to_string()
    }

    /// Runs a command. `Err`: it failed.
    async fn does(&mut self, command: &str) -> Result<(), String> {
        let written = self.input.write_all(format!("{command} >&2; echo $?\n").as_bytes()).await;
        match (written, soon(self.output.next_line()).await) {
            (Ok(()), Ok(Some(code))) if code == "0" => Ok(()),
            (_, ended) => Err(format!("`{command}` failed: {ended:?}")),
        }
    }

    /// A node in this namespace.
    async fn node(&self, arguments: &[&str]) -> There {
        let mut node = Command::new("nsenter");
        node.args(["--target", &self.pid(), "--user", "--net", "--preserve-credentials"]);
        node.arg(env!("CARGO_BIN_EXE_node")).arg("plaintext").args(arguments);
        There::run(node).await
    }
}

/// The next two lines of a node, sorted.
async fn next_two(node: &mut There) -> [String; 2] {
    let mut both = [soon(node.line()).await.expect("it runs"), soon(node.line()).await.expect("it runs")];
    both.sort();
    both
}

#[tokio::test]
async fn rem_35_a_cable_that_is_cut_is_a_verdict_on_both_sides_and_healed_nodes_meet_again() {
    let mut cable = match Cable::new().await {
        Ok(cable) => cable,
        Err(why) => return eprintln!("SKIPPED: this machine makes no network namespaces for a test: {why}"),
    };
    let mut left = cable.left.node(&["10.77.0.1:7000"]).await;
    let mut right = cable.right.node(&["10.77.0.2:7000", "10.77.0.1:7000"]).await;
    left.says("up ").await;
    right.says("up ").await;
    for round in 0..2 {
        left.tell(&format!("watch {}", right.path("one"))).await;
        left.says("watches one").await;
        right.tell(&format!("watch {}", left.path("two"))).await;
        right.says("watches two").await;
        cable.left.does("ip link set left down").await.unwrap();
        let began = Instant::now();
        let verdict = |peer: &There, news: &str| {
            let mut both = [format!("down there@{} silent", peer.address), format!("gone {news} Unreachable")];
            both.sort();
            both
        };
        assert_eq!(next_two(&mut left).await, verdict(&right, "one"), "round {round}");
        assert_eq!(next_two(&mut right).await, verdict(&left, "two"), "round {round}");
        let took = began.elapsed();
        eprintln!("from the cut to the news on both sides: {took:?}");
        assert!(took > PATIENCE / 2, "{took:?}: it was not the silence");
        assert!(took < PATIENCE + Duration::from_secs(5), "{took:?}");
        cable.left.does("ip link set left up").await.unwrap();
        left.says("up ").await;
        right.says("up ").await;
        eprintln!("from the cut to the next association: {:?}", began.elapsed());
    }
    left.end().await;
    right.end().await;
}
