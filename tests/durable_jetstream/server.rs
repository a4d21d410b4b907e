//! Debian's `nats-server`, with a folder of its own.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use async_nats::jetstream::Context;

/// How many servers this process has started.
static NUMBER: AtomicU32 = AtomicU32::new(0);

pub(crate) struct Server {
    process: Option<Child>,
    port: u16,
    folder: PathBuf,
    /// The contents of its configuration file.
    config: String,
}

impl Server {
    /// `None` if it is not installed.
    pub(crate) fn start() -> Option<Self> {
        Self::configured("")
    }

    /// With a configuration file. `None` if it is not installed.
    pub(crate) fn configured(config: impl Into<String>) -> Option<Self> {
        if Command::new("nats-server").arg("--version").stdout(Stdio::null()).status().is_err() {
            println!("skipped: nats-server is not installed (apt-get install nats-server)");
            return None;
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("supervise-nats-{}-{number}", std::process::id()));
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        std::fs::create_dir_all(&folder).expect("there is room for a folder");
        let port = free.expect("there is a free port").port();
        let mut server = Self { process: None, port, folder, config: config.into() };
        server.start_again();
        Some(server)
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// A client of the server, which sees the streams of all stores.
    pub(crate) async fn context(&self) -> Context {
        async_nats::jetstream::new(async_nats::connect(self.url()).await.expect("the server runs"))
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Suspends the server's process, so that it neither runs nor ends.
    pub(crate) fn freeze(&self) {
        self.signal("STOP");
    }

    pub(crate) fn thaw(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        let process = self.process.as_ref().expect("it runs");
        let sent = Command::new("kill").args([&format!("-{name}"), &process.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "the server gets {name}");
    }

    /// Kills it, and starts it with an empty disk.
    pub(crate) fn start_empty(&mut self) {
        self.kill();
        std::fs::remove_dir_all(self.disk()).expect("it has a disk");
        self.start_again();
    }

    /// Kills it, copies its disk, and starts it again.
    pub(crate) fn save(&mut self) {
        self.kill();
        copy(&self.disk(), &self.folder.join("saved"));
        self.start_again();
    }

    /// Kills it, and starts it with the disk that was saved.
    pub(crate) fn restore(&mut self) {
        self.kill();
        std::fs::remove_dir_all(self.disk()).expect("it has a disk");
        copy(&self.folder.join("saved"), &self.disk());
        self.start_again();
    }

    /// Kills it, and starts it with one stream as it was saved. The others stay as they are.
    pub(crate) fn restore_stream(&mut self, name: &str) {
        self.kill();
        let streams = "jetstream/$G/streams";
        let now = self.disk().join(streams).join(name);
        std::fs::remove_dir_all(&now).expect("there is such a stream");
        copy(&self.folder.join("saved").join(streams).join(name), &now);
        self.start_again();
    }

    /// Ends it, so that it writes everything to its disk, and starts it again.
    pub(crate) fn restart(&mut self) {
        self.signal("TERM");
        if let Some(mut process) = self.process.take() {
            process.wait().expect("it has ended");
        }
        self.start_again();
    }

    fn disk(&self) -> PathBuf {
        self.folder.join("disk")
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
        let config = self.folder.join("config");
        std::fs::write(&config, &self.config).expect("there is room for a file");
        let deadline = Instant::now() + Duration::from_secs(20);
        self.process = Some(self.spawn(&config));
        while !self.listens() {
            assert!(Instant::now() < deadline, "nats-server listens");
            std::thread::sleep(Duration::from_millis(10));
            // While it was down, another connection may have taken its port for a moment. Then it ends at once.
            let process = self.process.as_mut().expect("it was started");
            if process.try_wait().expect("it can be waited for").is_some() {
                self.process = Some(self.spawn(&config));
            }
        }
    }

    fn spawn(&self, config: &std::path::Path) -> Child {
        let mut command = Command::new("nats-server");
        command
            .args(["-js", "-a", "127.0.0.1", "-p", &self.port.to_string(), "-sd"])
            .arg(self.disk())
            .arg("-c")
            .arg(config);
        command.stderr(Stdio::null()).stdout(Stdio::null()).spawn().expect("it starts")
    }

    /// Whether the server accepts connections. A port without a listener can connect to itself.
    fn listens(&self) -> bool {
        TcpStream::connect(("127.0.0.1", self.port))
            .is_ok_and(|stream| stream.local_addr().ok() != stream.peer_addr().ok())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        // What is left is in a temporary folder.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Copies a folder.
fn copy(from: &std::path::Path, to: &std::path::Path) {
    let copied = Command::new("cp").arg("-r").arg(from).arg(to).status();
    assert!(copied.is_ok_and(|status| status.success()), "{} is copied", from.display());
}
