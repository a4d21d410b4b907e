//! Servers that are known by their certificates, and ask for those of their clients.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use supervise::durable::{JetStreamStore, MessageStore, Owner, StoreError, StoreErrorKind};

use crate::server::Server;

/// How many folders this process has made.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// Certificates in a folder that is removed at the end.
struct Certificates(PathBuf);

impl Certificates {
    /// An authority, and certificates that it has signed. `None` if OpenSSL is not installed.
    fn make() -> Option<Self> {
        if Command::new("openssl").arg("version").stdout(Stdio::null()).status().is_err() {
            println!("skipped: openssl is not installed");
            return None;
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("supervise-certificates-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("there is room for a folder");
        let made = Self(folder);
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-x509"];
        made.openssl(&key, "authority", &["-subj", "/CN=authority"]);
        for (name, usage) in [("server", "serverAuth"), ("client", "clientAuth")] {
            let extended = format!("extendedKeyUsage={usage}");
            let signed = ["-CA", "authority.pem", "-CAkey", "authority.key", "-addext", &extended];
            let about = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"];
            let leaf = ["-addext", "basicConstraints=critical,CA:FALSE"];
            made.openssl(&key, name, &[&signed[..], &about, &leaf].concat());
        }
        Some(made)
    }

    fn openssl(&self, begin: &[&str], name: &str, end: &[&str]) {
        let files = ["-keyout", &format!("{name}.key"), "-out", &format!("{name}.pem")].map(str::to_owned);
        let made = Command::new("openssl")
            .arg("req")
            .args(begin)
            .args(files)
            .args(end)
            .current_dir(&self.0)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(made.is_ok_and(|status| status.success()), "the certificate of the {name} is made");
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        // What is left is in a temporary folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn open(mut store: JetStreamStore) -> Result<(), StoreError> {
    store.open(&Owner::new("shop")).await.map(drop)
}

#[tokio::test]
async fn a_server_with_an_authority_of_its_own_is_trusted_and_trusts() {
    let Some(certificates) = Certificates::make() else { return };
    let [authority, server, key] =
        ["authority.pem", "server.pem", "server.key"].map(|name| certificates.file(name));
    let quoted = |path: &Path| format!("{:?}", path.display().to_string());
    let config = format!(
        "tls {{ cert_file: {}, key_file: {}, ca_file: {}, verify: true }}",
        quoted(&server),
        quoted(&key),
        quoted(&authority)
    );
    let Some(server) = Server::configured(&config) else { return };
    let store = || JetStreamStore::new(server.url()).accept_timeout(std::time::Duration::from_secs(2));
    let error = open(store()).await.expect_err("nobody knows the authority");
    assert_eq!(error.kind, StoreErrorKind::Broken, "{error}");
    open(store().root_certificates(&authority)).await.expect_err("the server asks for a certificate");
    let client = store().client_certificate(certificates.file("client.pem"), certificates.file("client.key"));
    open(client.root_certificates(&authority)).await.expect("each of them is known");
}

#[tokio::test]
async fn a_server_without_encryption_is_refused_if_there_is_an_authority() {
    let Some(certificates) = Certificates::make() else { return };
    let Some(server) = Server::start() else { return };
    open(JetStreamStore::new(server.url())).await.expect("it is not asked for");
    let wary = JetStreamStore::new(server.url()).root_certificates(certificates.file("authority.pem"));
    open(wary).await.expect_err("the server does not encrypt");
}

#[tokio::test]
async fn credentials_that_are_not_there_are_named() {
    let store = JetStreamStore::new("nats://127.0.0.1:1").credentials("/nowhere/shop.creds");
    let error = open(store).await.expect_err("there is no such file");
    assert!(error.to_string().contains("/nowhere/shop.creds"), "{error}");
}

/// A server that wants this login, written as in its configuration. `None` if it is not installed.
fn guarded(login: &str) -> Option<Server> {
    Server::configured(format!("authorization {{ {login} }}"))
}

/// The servers' URLs, with this login in the first one.
fn with_login(login: &str, server: &Server) -> JetStreamStore {
    let at = format!("127.0.0.1:{}", server.port());
    JetStreamStore::new(format!("nats://{login}@{at}, {at},")).accept_timeout(std::time::Duration::from_secs(2))
}

#[tokio::test]
async fn a_user_and_a_password_in_the_url_log_in() {
    let Some(server) = guarded("user: shop, password: \"p@ss,w:rd/%\"") else { return };
    open(with_login("shop:p%40ss%2Cw%3Ard%2F%25", &server)).await.expect("it is the password");
    let error = open(with_login("shop:other", &server)).await.expect_err("it is not the password");
    assert!(error.to_string().contains("authorization"), "{error}");
    open(JetStreamStore::new(server.url())).await.expect_err("nobody has logged in");
}

#[tokio::test]
async fn a_token_in_the_url_logs_in() {
    let Some(server) = guarded("token: \"a-token\"") else { return };
    open(with_login("a-token", &server)).await.expect("it is the token");
    open(with_login("another", &server)).await.expect_err("it is another");
}

#[tokio::test]
async fn the_login_in_a_url_is_shown_nowhere() {
    let urls = [
        "nats://me:hidden@127.0.0.1:1,tls://me:hidden@[::1]:1",
        "me:hidden@127.0.0.1:1",
        "nats://hidden@127.0.0.1:1",
        "nats://me:hid,hidden/hidden@hidden@127.0.0.1:1",
        "nats://me:1,hidden@127.0.0.1:1",
        "nats://me:hidden@127.0.0.1:nowhere",
        "nats://me:hidden@127.0.0.1:1,nats://me:hidden2@127.0.0.1:2",
    ];
    for url in urls {
        let store = JetStreamStore::new(url);
        let shown = format!("{store:?}");
        let error = open(store).await.expect_err("nobody is there");
        for text in [shown, format!("{error} {error:?}")] {
            assert!(!text.contains("hid") && !text.contains("me:"), "{url}: {text}");
        }
    }
    let shown = format!("{:?}", JetStreamStore::new("nats://me:hidden@one:4222,tls://two"));
    assert!(shown.contains("nats://one:4222,tls://two"), "the servers are shown: {shown}");
}

/// A cluster may name servers that are in no URL. Nobody may make the client send its login to one of them in the clear.
#[tokio::test]
async fn a_server_without_encryption_is_refused_if_one_url_begins_with_tls() {
    let Some(server) = Server::start() else { return };
    let mixed = JetStreamStore::new(format!("tls://127.0.0.1:1,{}", server.url()));
    open(mixed).await.expect_err("the server does not encrypt");
}
