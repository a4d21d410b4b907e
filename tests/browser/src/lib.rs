//! A headless Chromium, and what the tests ask of it.

pub mod contrast;

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use base64::Engine;
use fantoccini::actions::{InputSource, KeyAction, KeyActions};
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder};
use http::Method;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::{Mutex, MutexGuard};
use url::{ParseError, Url};

/// After this long, a test fails instead of hanging.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// How often the page is asked whether it shows what a test waits for.
const GLANCE: Duration = Duration::from_millis(20);

/// One browser runs at a time. Several would slow each other down until a test runs out of time.
static TURN: Mutex<()> = Mutex::const_new(());

/// A browser of one test. It ends with the test.
#[derive(Debug)]
pub struct Browser {
    _turn: MutexGuard<'static, ()>,
    client: Client,
    driver: Child,
    profile: PathBuf,
}

/// A command of ChromeDriver that WebDriver does not have: its path below the session, and its body.
#[derive(Debug)]
struct Own(&'static str, Value);

impl WebDriverCompatibleCommand for Own {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.0))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.1.to_string()))
    }
}

impl Browser {
    /// Starts ChromeDriver on a free port, and Chromium with it. Chromium finds `evil.test` at 127.0.0.1, as it would after a DNS
    /// rebinding.
    pub async fn start() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let turn = TURN.lock().await;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let profile = std::env::temp_dir().join(format!("supervise-browser-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&profile).expect("a folder for the profile");
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("Debian's package chromium-driver is installed");
        let mut lines = BufReader::new(driver.stdout.take().expect("it is piped")).lines();
        let port = loop {
            let line = lines.next_line().await.expect("text").expect("ChromeDriver tells its port");
            if let Some((_, port)) = line.split_once("successfully on port ") {
                break port.trim_end_matches('.').to_owned();
            }
        };
        // Its output must be read, or it blocks.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let options = json!({
            "args": [
                "--headless=new",
                // Chromium refuses to run as root without it.
                "--no-sandbox",
                "--disable-dev-shm-usage",
                "--disable-gpu",
                "--hide-scrollbars",
                "--force-device-scale-factor=1",
                "--window-size=1440,1000",
                "--host-resolver-rules=MAP evil.test 127.0.0.1",
                format!("--user-data-dir={}", profile.display()),
            ],
        });
        let wanted = json!({ "goog:chromeOptions": options, "goog:loggingPrefs": { "browser": "ALL" } });
        let Value::Object(wanted) = wanted else { unreachable!("it is written as an object") };
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(wanted)
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .expect("Debian's package chromium is installed");
        Self { _turn: turn, client, driver, profile }
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Ends the browser. Fails the test if the page has violated its content security policy.
    pub async fn end(mut self) {
        let reports: Vec<_> =
            self.log().await.into_iter().filter(|line| line.contains("Content Security Policy")).collect();
        assert_eq!(reports, Vec::<String>::new());
        self.client.close().await.expect("it closes");
        self.driver.kill().await.expect("it runs");
        _ = std::fs::remove_dir_all(&self.profile);
    }

    pub async fn open(&self, address: &str) {
        self.client.goto(address).await.expect("it opens");
    }

    /// Runs a function with this body in the page, and returns its result.
    pub async fn run(&self, body: &str) -> Value {
        self.client.execute(body, Vec::new()).await.unwrap_or_else(|error| panic!("{body}: {error}"))
    }

    /// Waits until a condition of the page holds.
    pub async fn until(&self, condition: &str) {
        let body = format!("return Boolean({condition})");
        let began = Instant::now();
        let mut ticks = tokio::time::interval(GLANCE);
        while self.run(&body).await != Value::Bool(true) {
            if began.elapsed() > PATIENCE {
                let shown = self.run("return document.body.innerText").await;
                panic!("{condition}\n{}", shown.as_str().unwrap_or_default());
            }
            ticks.tick().await;
        }
    }

    /// Waits until an element has this text.
    pub async fn until_text(&self, selector: &str, text: &str) {
        let (selector, text) = (Value::from(selector), Value::from(text));
        self.until(&format!(
            "[...document.querySelectorAll({selector})].some(e => e.textContent.includes({text}))"
        ))
        .await;
    }

    /// A command of the DevTools protocol.
    pub async fn devtools(&self, command: &str, parameters: Value) -> Value {
        let body = json!({ "cmd": command, "params": parameters });
        self.client.issue_cmd(Own("goog/cdp/execute", body)).await.expect("ChromeDriver forwards it")
    }

    /// The messages that the page wrote to its console, and those that the browser reported about it.
    pub async fn log(&self) -> Vec<String> {
        let lines =
            self.client.issue_cmd(Own("se/log", json!({ "type": "browser" }))).await.expect("it keeps a log");
        let lines = lines.as_array().cloned().unwrap_or_default();
        lines.iter().map(|line| line["message"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Presses one key, as a keyboard does: whatever has the focus gets it. `key` is one of WebDriver's.
    pub async fn press(&self, key: char) {
        let pressed = KeyActions::new("keyboard".to_owned())
            .then(KeyAction::Down { value: key })
            .then(KeyAction::Up { value: key });
        self.client.perform_actions(pressed).await.expect("it takes keys");
    }

    /// The size of the page, in CSS pixels.
    pub async fn resize(&self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", size).await;
        self.until(&format!("innerWidth === {width}")).await;
    }

    pub async fn dark(&self, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.devtools("Emulation.setEmulatedMedia", features).await;
        self.until(&format!("matchMedia('(prefers-color-scheme: {scheme})').matches")).await;
    }

    /// The page as a PNG.
    pub async fn picture(&self) -> Vec<u8> {
        let picture = self.devtools("Page.captureScreenshot", json!({ "format": "png" })).await;
        let data = picture["data"].as_str().expect("a picture");
        base64::engine::general_purpose::STANDARD.decode(data).expect("base64")
    }
}
