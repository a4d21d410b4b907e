//! Debian's `nats-server`, with a folder of its own.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How many servers this process has started.
static NUMBER: AtomicU32 = AtomicU32::new(0);

pub(crate) struct Server {
    process: Option<Child>,
    port: u16,
    folder: PathBuf,
}

impl Server {
    /// `None` if it is not installed.
    pub(crate) fn start() -> Option<Self> {
        if Command::new("nats-server").arg("--version").stdout(Stdio::null()).status().is_err() {
            println!("skipped: nats-server is not installed (apt-get install nats-server)");
            return None;
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("supervise-nats-{}-{number}", std::process::id()));
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let mut server = Self { process: None, port: free.expect("there is a free port").port(), folder };
        server.start_again();
        Some(server)
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub(crate) fn runs(&self) -> bool {
        self.process.is_some()
    }

    /// Kills it with SIGKILL.
    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("it can be killed");
            process.wait().expect("it has ended");
        }
    }

    pub(crate) fn start_again(&mut self) {
        let process = Command::new("nats-server")
            .args(["-js", "-a", "127.0.0.1", "-p", &self.port.to_string(), "-sd"])
            .arg(&self.folder)
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn();
        self.process = Some(process.expect("it starts"));
        let deadline = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(Instant::now() < deadline, "nats-server listens");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        // What is left is in a temporary folder.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
