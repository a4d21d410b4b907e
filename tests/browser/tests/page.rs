//! The console's page in Chromium, on systems that fail. CON-08, CON-13, CON-17, CON-19, CON-20, CON-21, CON-25, CON-26, CON-28.

#[path = "../../../examples/night/shop.rs"]
mod shop;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use supervise::console::{Console, Running};
use supervise::prelude::*;
use supervise::{Event, Events, Interest};
use supervise_browser::contrast::TOO_FAINT;
use supervise_browser::{Browser, PATIENCE};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use self::shop::Shop;

/// A system, and the console that serves it.
struct Night {
    system: ActorSystem,
    console: Running,
    work: Option<JoinHandle<()>>,
}

impl Night {
    fn quiet() -> Self {
        let system = ActorSystem::new("shop");
        let console = Console::of(&system).serve("127.0.0.1:0").expect("a free port");
        Self { system, console, work: None }
    }

    /// The shop in which much is wrong, at work.
    async fn shop(sessions: usize) -> Self {
        let mut night = Self::quiet();
        let shop = Shop::open(&night.system, sessions).await.expect("it opens");
        night.work = Some(tokio::spawn(async move {
            let mut ticks = tokio::time::interval(Duration::from_millis(50));
            for tick in 0.. {
                ticks.tick().await;
                if shop.work(tick).is_err() {
                    return;
                }
            }
        }));
        night
    }

    /// When the gateway restarts, in milliseconds since the system began.
    fn gateway_is_due(&self) -> Option<f64> {
        let mut due = None;
        self.system.look(|glimpse| {
            if glimpse.actor().path().name() == "gateway" {
                due = glimpse.due();
            }
        });
        due.map(|due| (due.as_secs_f64() * 1e3).trunc())
    }

    async fn until_gateway_is_due_elsewhere(&self, due: f64) {
        let elsewhere = async {
            while self.gateway_is_due() == Some(due.trunc()) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, elsewhere).await.expect("it restarts");
    }

    fn socket(&self) -> SocketAddr {
        self.console.local_addr().expect("it listens by TCP")
    }

    fn address(&self) -> String {
        format!("http://{}/", self.socket())
    }

    async fn end(self) {
        self.system.terminate().await;
        if let Some(work) = self.work {
            work.await.expect("it ends with its system");
        }
    }
}

#[actor]
#[supervise(on(_) = Stop)]
struct Desk;

#[actor]
impl Desk {
    #[handler]
    fn seat(&mut self, name: String, ctx: &mut Context<Self>) -> Result<ClerkRef, SpawnError> {
        ctx.spawn(&name, || Clerk)
    }
}

/// Its clerks are near their limit after one failure.
#[actor]
#[supervise(one_for_one(max_retries = 2, within = "1h"), on(_) = Restart)]
struct Hall;

#[actor]
impl Hall {
    #[handler]
    fn fill(&mut self, clerks: usize, ctx: &mut Context<Self>) -> Result<Vec<ClerkRef>, SpawnError> {
        (0..clerks).map(|_| ctx.spawn_anonymous(|| Clerk)).collect()
    }
}

#[actor]
struct Clerk;

#[actor]
impl Clerk {
    #[handler]
    fn fail(&mut self, text: String) -> Result<(), std::io::Error> {
        Err(std::io::Error::other(text))
    }

    /// Asks another one to ask this one.
    #[handler]
    async fn circle(&mut self, other: ClerkRef, own: ClerkRef) -> Result<(), AskError> {
        other.circle(own, other.clone()).await.map_err(|_| AskError::Stopped)
    }
}

/// An open stream that a program holds beside the pages.
async fn stream(address: SocketAddr) -> (u16, TcpStream) {
    let mut socket = TcpStream::connect(address).await.expect("it listens");
    socket.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").await.expect("it reads");
    let mut head = [0; 12];
    socket.read_exact(&mut head).await.expect("it answers");
    let status = std::str::from_utf8(&head[9..]).expect("text").parse().expect("a status");
    (status, socket)
}

const ROWS: &str = "document.querySelectorAll('#rows tr').length";

#[tokio::test(flavor = "multi_thread")]
async fn con_19_eight_tabs_work_and_a_hidden_one_holds_no_stream() {
    let night = Night::quiet();
    let browser = Browser::start().await;
    let mut tabs = vec![browser.client().window().await.expect("a tab")];
    browser.open(&night.address()).await;
    for _ in 1..8 {
        let tab = browser.client().new_window(true).await.expect("a tab").handle;
        browser.client().switch_to_window(tab.clone()).await.expect("it is there");
        browser.open(&night.address()).await;
        tabs.push(tab);
    }
    for tab in tabs {
        browser.client().switch_to_window(tab).await.expect("it is there");
        browser.devtools("Page.bringToFront", json!({})).await;
        browser.until(&format!("!document.hidden && {ROWS} >= 3")).await;
        browser.until_text("#live", "Live").await;
    }
    // One tab is seen, so 15 of 16 streams are free, as soon as the server knows that the others have closed theirs.
    let began = Instant::now();
    let mut held = Vec::new();
    loop {
        let (status, socket) = stream(night.socket()).await;
        match status {
            200 => held.push(socket),
            _ if held.len() == 15 => break,
            _ => tokio::task::yield_now().await,
        }
        assert!(held.len() <= 15 && began.elapsed() < PATIENCE, "{} streams were free", held.len());
    }
    // The seventeenth stream is the page's own: it says so, and comes back by itself.
    browser.open("about:blank").await;
    loop {
        let (status, socket) = stream(night.socket()).await;
        if status == 200 {
            held.push(socket);
            break;
        }
        assert!(began.elapsed() < PATIENCE);
    }
    browser.open(&night.address()).await;
    browser.until_text("#live", "16 pages may be open").await;
    held.clear();
    browser.until_text("#live", "Live").await;
    browser.end().await;
    night.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn con_20_a_name_that_a_stranger_owns_gets_nothing() {
    let night = Night::quiet();
    let browser = Browser::start().await;
    let port = night.socket().port();
    browser.open(&format!("http://evil.test:{port}/")).await;
    browser.until_text("body", "This host name is not allowed").await;
    for path in ["", "text", "snapshot.json", "events"] {
        let answer = browser
            .run(&format!("const answer = await fetch('http://evil.test:{port}/{path}'); return answer.status"))
            .await;
        assert_eq!(answer, 421, "{path}");
        // Another site reads nothing of it either.
        let answer = browser
            .run(&format!(
                "try {{ return (await fetch('http://127.0.0.1:{port}/{path}')).status }} catch (e) {{ return e.name }}"
            ))
            .await;
        assert_eq!(answer, "TypeError", "{path}");
    }
    let (_, text) = get(night.socket(), "/text", "Sec-Fetch-Site: cross-site\r\n").await;
    assert!(text.starts_with("HTTP/1.1 403"), "{text}");
    // The refusals were seen; what follows must be without a report.
    browser.log().await;
    browser.end().await;
    night.end().await;
}

async fn get(address: SocketAddr, path: &str, headers: &str) -> (SocketAddr, String) {
    let mut socket = TcpStream::connect(address).await.expect("it listens");
    let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n");
    socket.write_all(head.as_bytes()).await.expect("it reads");
    let mut text = String::new();
    socket.read_to_string(&mut text).await.expect("it answers");
    (address, text)
}

#[tokio::test(flavor = "multi_thread")]
async fn con_17_con_21_what_failed_before_is_on_the_page_as_text() {
    let night = Night::quiet();
    let evil = "<img src=x onerror=window.evil=1>";
    let desk = night.system.spawn("desk", || Desk).expect("a free name");
    let name = "%3Cimg%20onerror=evil%3E";
    let clerk = desk.seat(name.to_owned()).await.expect("it answers");
    clerk.fail(evil.to_owned()).await.expect_err("it fails");
    let browser = Browser::start().await;
    browser.open(&night.address()).await;
    browser.until_text("#failures", evil).await;
    browser.until_text("#failures", name).await;
    // On its own page too.
    browser.run("document.querySelector('#failures tr').click()").await;
    browser.until_text("#detail h3", name).await;
    browser.until_text("#detail", evil).await;
    assert_eq!(browser.run("return document.querySelectorAll('img').length").await, 0);
    assert_eq!(browser.run("return window.evil === undefined").await, true);
    browser.end().await;
    night.end().await;
}

/// Passes what a console sends on to a browser, until it is paused. As with a stopped process or a dropped network, nothing is closed.
async fn proxy(to: SocketAddr) -> (SocketAddr, watch::Sender<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it listens");
    let (paused, is_paused) = watch::channel(false);
    tokio::spawn(async move {
        while let Ok((browser, _)) = listener.accept().await {
            let (mut asks, mut gets) = browser.into_split();
            let (mut answers, mut asked) = TcpStream::connect(to).await.expect("it listens").into_split();
            let mut is_paused = is_paused.clone();
            tokio::spawn(async move { tokio::io::copy(&mut asks, &mut asked).await });
            tokio::spawn(async move {
                let mut part = vec![0; 64 * 1_024];
                while let Ok(read) = answers.read(&mut part).await
                    && read > 0
                    && is_paused.wait_for(|paused| !paused).await.is_ok()
                {
                    if gets.write_all(&part[..read]).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    (address, paused)
}

/// Rule 22.3: what is old is not called live.
#[tokio::test(flavor = "multi_thread")]
async fn con_26_the_page_says_that_no_news_comes() {
    let night = Night::quiet();
    let browser = Browser::start().await;
    let (address, paused) = proxy(night.socket()).await;
    browser.open(&format!("http://{address}/")).await;
    browser.until_text("#live", "Live").await;
    paused.send_replace(true);
    browser.until_text("#live", "No news: what you see is old").await;
    paused.send_replace(false);
    browser.until_text("#live", "Live").await;
    browser.end().await;
    night.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn con_26_the_page_says_how_the_system_ended_and_stays() {
    let night = Night::quiet();
    let browser = Browser::start().await;
    browser.open(&night.address()).await;
    browser.until(&format!("{ROWS} >= 3")).await;
    night.end().await;
    browser.until_text("#lede", "The system has ended, as it was told to.").await;
    browser.until_text("#live", "Ended").await;
    assert_ne!(browser.run(&format!("return {ROWS}")).await, 0);
    browser.end().await;
}

/// Waits until the gateway restarts. Returns when it did, in milliseconds since the system began.
async fn restarted(night: &Night, events: &mut Events) -> f64 {
    let restarted = async {
        while !matches!(events.recv().await, Some(Event::Restarted { actor, .. }) if actor.name() == "gateway") {}
        night.system.uptime().as_secs_f64() * 1e3
    };
    tokio::time::timeout(PATIENCE, restarted).await.expect("it restarts")
}

/// The countdown and the restart end together.
#[tokio::test(flavor = "multi_thread")]
async fn con_13_the_countdown_ends_when_the_actor_restarts() {
    /// Reads at each frame to which time the page counts down. When that countdown has ended, there is another one
    /// or none.
    const WATCH: &str = "window.end = null; \
                         (function watch() { \
                           const at = document.querySelector('#countdown')?.dataset; \
                           if (at?.due == due && at.left > 0) requestAnimationFrame(watch); else window.end = now(); \
                         })()";
    /// How far apart the ends may be.
    const APART: f64 = 100.0;
    let night = Night::shop(0).await;
    let mut events = night.system.events().subscribe_to(Interest::RESTARTS);
    let browser = Browser::start().await;
    browser.open(&night.address()).await;
    browser.until_text("#cards", "Restart loop").await;
    browser
        .run("[...document.querySelectorAll('.card')].find(e => e.textContent.includes('Restart loop')).click()")
        .await;
    browser.until_text("#detail h3", "gateway").await;
    let began = Instant::now();
    loop {
        // The page counts down to the time for which the supervisor waits, unless the supervisor has begun another
        // wait meanwhile.
        browser.until("document.querySelector('#countdown')?.dataset.left > 300").await;
        while events.try_recv().is_some() {}
        let due = browser.run("return Number(document.querySelector('#countdown')?.dataset.due)").await;
        let Some(due) = due.as_f64().filter(|due| night.gateway_is_due() == Some(due.trunc())) else { continue };
        browser.run(&format!("const due = {due}; {WATCH}")).await;
        let restarted = restarted(&night, &mut events).await;
        browser.until("window.end !== null").await;
        let ended = browser.run("return window.end").await.as_f64().expect("a time");
        let uptime = night.system.uptime().as_secs_f64() * 1e3;
        // The page's clock follows the system's clock, late by the time that the last view took to arrive. So the
        // countdown does not end too early.
        let times =
            format!("due at {due}, ended at {ended}, restarted at {restarted}, {uptime} by the system's clock");
        assert!(due <= ended && ended <= uptime && due <= restarted.ceil(), "{times}");
        if (ended - restarted).abs() <= APART {
            // The page shows the next wait or none.
            night.until_gateway_is_due_elsewhere(due).await;
            browser.until(&format!("document.querySelector('#countdown')?.dataset.due != {due}")).await;
            break;
        }
        // A busy machine may be late once, but not always.
        assert!(began.elapsed() < PATIENCE, "{times}");
    }
    browser.end().await;
    night.end().await;
}

/// Siblings with a problem have lines of their own at the top, however many there are.
#[tokio::test(flavor = "multi_thread")]
async fn con_25_three_ill_siblings_of_100_000_are_on_the_first_screen() {
    let night = Night::quiet();
    let hall = night.system.spawn("hall", || Hall).expect("a free name");
    let clerks = hall.fill(100_000).await.expect("it answers");
    let ill = [10, 50_000, 99_999].map(|place| &clerks[place]);
    for clerk in ill {
        clerk.fail("no ink".to_owned()).tell().expect("it runs");
    }
    let browser = Browser::start().await;
    browser.open(&night.address()).await;
    browser.until_text("#cards", "3 × Clerk").await;
    browser.until_text("#rows", "3 not well").await;
    for clerk in ill {
        let path = clerk.actor_ref().path().local().to_owned();
        let line = format!("[...document.querySelectorAll('#rows tr')].find(e => e.dataset.path === {path:?})");
        browser.until(&format!("{line}?.textContent.includes('Near its limit')")).await;
        let bottom = browser.run(&format!("return {line}.getBoundingClientRect().bottom <= innerHeight")).await;
        assert_eq!(bottom, true, "{path} is not on the first screen");
    }
    assert_eq!(browser.run(&format!("return {ROWS} <= 300 && scrollY === 0")).await, true);
    browser.end().await;
    night.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn con_25_three_of_many_are_found_at_once() {
    let night = Night::shop(100_000).await;
    let browser = Browser::start().await;
    browser.open(&night.address()).await;
    browser.until_text("#rows", "100\u{202f}000 × Session").await;
    browser.until_text("#rows", "Falling behind").await;
    let lines = browser.run(&format!("return {ROWS}")).await;
    assert!(lines.as_u64().is_some_and(|lines| (5..=300).contains(&lines)), "{lines}");
    // Opened, they come by pages.
    browser
        .run("[...document.querySelectorAll('#rows tr')].find(e => e.textContent.includes('× Session')).click()")
        .await;
    browser.until(&format!("{ROWS} > 100")).await;
    browser.until_text("#rows", "page 1 of 1\u{202f}000").await;
    browser.run("document.querySelector('#rows [aria-label=\"Next page\"]').click()").await;
    browser.until_text("#rows", "page 2 of 1\u{202f}000").await;
    assert!(browser.run(&format!("return {ROWS} <= 300")).await == true);
    // One of them is found by its name, by the server.
    let name = browser
        .run("return [...document.querySelectorAll('#rows tr')].find(e => e.ariaLevel === '5').dataset.path")
        .await;
    let name = name.as_str().and_then(|path| path.rsplit_once('/')).expect("a path").1.to_owned();
    browser.press('/').await;
    browser.client().active_element().await.expect("the search").send_keys(&name).await.expect("it takes keys");
    browser.until_text("#note", " found").await;
    browser
        .until(&format!(
            "document.querySelector('#rows tr').dataset.path.toLowerCase().endsWith({:?})",
            format!("/{}", name.to_lowercase())
        ))
        .await;
    browser.press('\u{e00c}').await;
    browser.until_text("#rows", "× Session").await;
    // And by type there is a line for each.
    browser.run("document.querySelector('[data-tab=type]').click()").await;
    browser.until_text("#rows", "1 × Gateway").await;
    browser.end().await;
    night.end().await;
}

/// CON-08: the root of what is stuck, and who waits for it.
#[tokio::test(flavor = "multi_thread")]
async fn con_08_the_page_names_the_root_of_a_chain() {
    let night = Night::shop(0).await;
    let browser = Browser::start().await;
    browser.open(&night.address()).await;
    browser.until_text("#cards", "Stuck").await;
    // The card names one of the actors that wait longest.
    browser
        .until("/42 actors wait for its answer, such as order-\\d+ → ledger → conn-2\\./.test($('cards').textContent)")
        .await;
    browser
        .run("[...document.querySelectorAll('.card')].find(e => e.textContent.includes('Stuck')).click()")
        .await;
    browser.until_text("#detail h3", "conn-2").await;
    // The link to the advice stays in place from one view to the next.
    browser.until("$('advice').querySelector('a')?.href.endsWith('/docs/console/#stuck')").await;
    browser.run("window.link = $('advice').querySelector('a'); window.before = views; link.focus()").await;
    browser.until("views > before + 1 && document.activeElement === link").await;
    browser.until_text("#detail .waits", "ledger").await;
    browser.until_text("#detail", "the nearest 20 of 42").await;
    browser.until_text("#rows", "→ conn-2").await;
    // The actors behind it share one line, which says why they do nothing.
    browser.until_text("#rows", "41 × Order").await;
    browser.until_text("#rows", "41 wait for another").await;
    // The rule that decided is marked in the table of its supervisor.
    browser
        .run("[...document.querySelectorAll('#rows tr')].find(e => e.textContent.includes('gateway')).click()")
        .await;
    browser.until_text("#detail .rules .hit", "io::Error → Restart(backoff(min = 1s, max = 30s").await;
    browser.until_text("#detail", "gateway → payments → /user").await;
    browser.until_text("#advice", "What to do: Restart loop. Fix the cause that the card shows.").await;
    // The list of actors that ended, with their reasons.
    browser.run("document.querySelector('[data-tab=ended]').click()").await;
    browser.until_text("#ends", "stopped at its limit").await;
    browser.end().await;
    night.end().await;
}

/// All columns of the table, all cards and all failures can be read on a notebook. CON-28.
#[tokio::test(flavor = "multi_thread")]
async fn con_28_nothing_is_cut_at_1280_and_at_1440_pixels() {
    const CUT: &str = "[...document.querySelectorAll('#rows td, #rows .state, #rows em, .card span, #failures td')].filter(e => \
                       e.clientWidth > 0 && (e.scrollWidth > e.clientWidth || !e.closest('#rows') && e.scrollHeight > \
                       e.clientHeight)).map(e => e.textContent)";
    let night = Night::shop(30).await;
    let browser = Browser::start().await;
    browser.open(&night.address()).await;
    browser.until_text("#rows", "→ conn-2").await;
    browser.until_text("#rows", "Falling behind").await;
    browser.until_text("#failures", "io::Error").await;
    for width in [1280, 1440] {
        browser.resize(width, 960).await;
        assert_eq!(browser.run(&format!("return {CUT}")).await, Value::Array(Vec::new()), "{width} pixels");
        // Later in the night the numbers are longer.
        let later = "for (const row of view.rows) { row.waiting = 1234567; row.oldest = 754e3; row.per_second = 48e3; row.restarts = 1234; if (row.since != null) row.since = now() - 754e3 }";
        let cut = browser.run(&format!("{later}; render(); return {CUT}")).await;
        assert_eq!(cut, Value::Array(Vec::new()), "{width} pixels, long numbers");
    }
    browser.end().await;
    night.end().await;
}

/// A stuck actor has a lane on the timeline, whatever the list shows. CON-17.
#[tokio::test(flavor = "multi_thread")]
async fn con_17_what_is_stuck_is_on_the_timeline_in_every_list() {
    let night = Night::shop(0).await;
    let browser = Browser::start().await;
    browser.open(&night.address()).await;
    browser.until("document.querySelector('#timeline .stuck')").await;
    // A card says since when, by the clock of the server, and counts on between two views.
    browser
        .until(
            "/^since \\d\\d:\\d\\d:\\d\\d UTC, for \\d/.test(document.querySelector('.card time')?.textContent)",
        )
        .await;
    let said = "[document.body.dataset.views, document.querySelector('.card time').textContent]";
    browser.run(&format!("window.said = {said}")).await;
    browser.until(&format!("{said}[1] !== said[1] && {said}[0] === said[0] || (said = {said}, false)")).await;
    browser.run("document.querySelector('[data-tab=type]').click()").await;
    browser.until_text("#rows", "1 × Gateway").await;
    let at = browser.run("return Number(document.body.dataset.views)").await;
    browser.until(&format!("Number(document.body.dataset.views) >= {at} + 2")).await;
    assert_eq!(browser.run("return document.querySelectorAll('#timeline .stuck').length").await, 1);
    // The page's clock is the server's, in UTC, whatever the browser's zone and clock are.
    let clock = browser.run("return [clock(view.now), new Date(view.clock).toISOString().slice(11, 19)]").await;
    assert_eq!(clock[0], clock[1]);
    browser.end().await;
    night.end().await;
}

/// CON-08: actors that wait for each other.
#[tokio::test(flavor = "multi_thread")]
async fn con_08_the_page_names_the_actors_of_a_deadlock() {
    let night = Night::quiet();
    let clerk = |name| night.system.spawn(name, || Clerk).expect("a free name");
    let (left, right) = (clerk("left"), clerk("right"));
    left.circle(right, left.clone()).tell().expect("it runs");
    let browser = Browser::start().await;
    browser.open(&night.address()).await;
    browser.until_text("#cards", "Deadlock").await;
    for name in ["left", "right"] {
        browser.until_text("#cards", name).await;
    }
    browser.run("document.querySelector('.card').click()").await;
    // The card links to one of the two, which waits for the other.
    browser.until("/left|right/.test(document.querySelector('#detail .waits')?.textContent)").await;
    assert_eq!(browser.run("return document.querySelectorAll('.card').length").await, 1);
    browser.end().await;
    night.end().await;
}

/// Everything by keyboard, with the roles that a screen reader needs.
#[tokio::test(flavor = "multi_thread")]
async fn con_28_the_tree_is_used_by_keyboard() {
    const DOWN: char = '\u{e015}';
    const ENTER: char = '\u{e007}';
    const ESCAPE: char = '\u{e00c}';
    let night = Night::shop(30).await;
    let browser = Browser::start().await;
    browser.open(&night.address()).await;
    browser.until_text("#rows", "gateway").await;
    browser.press('/').await;
    browser.until("document.activeElement.id === 'search'").await;
    browser.press(ESCAPE).await;
    browser.until("document.activeElement.id !== 'search'").await;
    // One line of the tree is reached by Tab, and the others by arrows.
    assert_eq!(browser.run("return document.querySelectorAll('#rows [tabindex=\"0\"]').length").await, 1);
    browser.run("document.querySelector('#rows [tabindex=\"0\"]').focus()").await;
    let first = browser.run("return document.activeElement.dataset.path").await;
    browser.press(DOWN).await;
    browser.until(&format!("document.activeElement.dataset.path !== {first}")).await;
    let second = browser.run("return document.activeElement.dataset.path").await;
    browser.press(ENTER).await;
    browser
        .until(&format!("document.querySelector('#rows [aria-selected=true]')?.dataset.path === {second}"))
        .await;
    // The focus stays where it was when new views come.
    let at = browser.run("return Number(document.body.dataset.views)").await;
    browser.until(&format!("Number(document.body.dataset.views) >= {at} + 2")).await;
    assert_eq!(browser.run("return document.activeElement.dataset.path").await, second);
    // A card is a button: it is chosen by Enter, and keeps the focus.
    let card = browser
        .run("const card = [...document.querySelectorAll('.card')].at(-1); card.focus(); return card.dataset.path")
        .await;
    browser.press(ENTER).await;
    let pressed =
        "document.activeElement.matches('.card[aria-pressed=true]') && document.activeElement.dataset.path";
    browser.until(&format!("({pressed}) === {card}")).await;
    let at = browser.run("return Number(document.body.dataset.views)").await;
    browser.until(&format!("Number(document.body.dataset.views) >= {at} + 2 && ({pressed}) === {card}")).await;
    browser.run("document.querySelector('[data-tab=type]').focus()").await;
    browser.press(ENTER).await;
    browser.until_text("#rows", "1 × Gateway").await;
    browser.run("document.querySelector('[data-tab=tree]').focus()").await;
    browser.press(ENTER).await;
    browser.until("document.querySelector('#rows [aria-expanded=true]')").await;
    for condition in [
        "document.querySelector('#rows').closest('[role=treegrid]')?.getAttribute('aria-label')",
        "[...document.querySelectorAll('#rows tr')].every(e => e.role === 'row' && e.ariaLevel >= 1)",
        "document.querySelector('#rows [aria-expanded=true]') && document.querySelector('#rows [aria-expanded=false]')",
        "document.querySelector('#live').getAttribute('role') === 'status'",
        "[...document.querySelectorAll('input, button')].every(e => e.ariaLabel || e.textContent.trim())",
        "document.querySelectorAll('h1').length === 1 && document.documentElement.lang === 'en'",
    ] {
        assert_eq!(browser.run(&format!("return Boolean({condition})")).await, true, "{condition}");
    }
    browser.end().await;
    night.end().await;
}

/// The pages of a group, without a mouse. The focus stays on its line.
#[tokio::test(flavor = "multi_thread")]
async fn con_28_the_pages_of_a_group_are_turned_by_keyboard() {
    const LEFT: char = '\u{e012}';
    const RIGHT: char = '\u{e014}';
    const DOWN: char = '\u{e015}';
    const UP: char = '\u{e013}';
    const PAGE_UP: char = '\u{e00e}';
    const PAGE_DOWN: char = '\u{e00f}';
    const HOME: char = '\u{e011}';
    const END: char = '\u{e010}';
    const LINE: &str = "document.activeElement.closest('#rows tr')";
    let night = Night::quiet();
    night.system.spawn("hall", || Hall).expect("a free name").fill(250).await.expect("it answers");
    let browser = Browser::start().await;
    browser.open(&night.address()).await;
    browser.until_text("#rows", "250 × Clerk").await;
    browser.press('/').await;
    browser.press(DOWN).await;
    browser.until(&format!("{LINE} === $('rows').firstElementChild")).await;
    while browser.run(&format!("return {LINE}.textContent.includes('× Clerk')")).await == false {
        browser.press(DOWN).await;
    }
    let group = browser.run(&format!("return {LINE}.dataset.path")).await;
    for (key, shows) in [
        (RIGHT, "page 1 of 3"),
        (RIGHT, "page 2 of 3"),
        (RIGHT, "page 3 of 3"),
        (LEFT, "page 2 of 3"),
        (LEFT, "page 1 of 3"),
    ] {
        browser.press(key).await;
        browser
            .until(&format!("{LINE}?.textContent.includes('{shows}') && {LINE}.dataset.path === {group}"))
            .await;
        assert_eq!(browser.run(&format!("return {LINE}.ariaExpanded")).await, "true");
    }
    // Out of the group, over it, and back to it.
    for (key, at) in [
        (DOWN, "/user/hall/"),
        (PAGE_DOWN, "/system"),
        (UP, "/user/hall/"),
        (PAGE_UP, "Clerk"),
        (DOWN, "/user/hall/"),
    ] {
        browser.press(key).await;
        browser
            .until(&format!("{LINE}?.dataset.path.startsWith('{at}') || {LINE}?.dataset.path.endsWith('//{at}')"))
            .await;
    }
    browser.press(LEFT).await;
    browser.until(&format!("{LINE}.dataset.path === {group}")).await;
    browser.press(END).await;
    browser.until(&format!("{LINE} === $('rows').lastElementChild")).await;
    browser.press(HOME).await;
    browser.until(&format!("{LINE} === $('rows').firstElementChild")).await;
    browser
        .run(&format!("[...document.querySelectorAll('#rows tr')].find(e => e.dataset.path === {group}).focus()"))
        .await;
    browser.press(LEFT).await;
    browser
        .until(&format!("{LINE}?.ariaExpanded === 'false' && {LINE}.dataset.path === {group} && {ROWS} < 20"))
        .await;
    browser.end().await;
    night.end().await;
}

/// On a phone, the line says what has no column of its own. An age is the same on the card and on the line.
#[tokio::test(flavor = "multi_thread")]
async fn con_28_a_phone_shows_what_waits_and_all_show_the_same_age() {
    let night = Night::shop(30).await;
    let browser = Browser::start().await;
    browser.open(&night.address()).await;
    browser.until_text("#cards", "Falling behind").await;
    browser.resize(420, 1000).await;
    let shown = "[...document.querySelectorAll('#rows tr')].find(e => e.row.path.endsWith('/audit')).innerText";
    browser.until(&format!("/ wait, oldest about \\d/.test({shown})")).await;
    browser.until("/restart .*rule io::Error/.test($('failures').innerText)").await;
    browser.resize(1440, 1000).await;
    browser.run("document.querySelector('.card[data-path=\"behind/user/payments/audit\"]').click()").await;
    browser.until("view.detail?.row.path === '/user/payments/audit'").await;
    let ages = "(() => { const [said] = /for about (\\d.*?)[.,;]( |$)/.exec(view.cards.find(c => c.path.endsWith('/audit')).says).slice(1); \
                return [said, $('detail').innerText.includes(`oldest about ${said}`), [...document.querySelectorAll('#rows tr')]\
                .find(e => e.row.path.endsWith('/audit')).children[3].innerText === said].join() })()";
    let ages = browser.run(&format!("return {ages}")).await;
    assert!(ages.as_str().is_some_and(|ages| ages.ends_with("true,true")), "{ages}");
    browser.end().await;
    night.end().await;
}

/// The page shows twelve failures, counts the others, and shows them on request.
#[tokio::test(flavor = "multi_thread")]
async fn con_17_the_failures_that_are_not_listed_are_counted_and_shown_on_request() {
    let night = Night::shop(30).await;
    let hall = night.system.spawn("hall", || Hall).expect("a free name");
    for clerk in hall.fill(100).await.expect("it answers") {
        clerk.fail("no ink".to_owned()).tell().expect("it runs");
    }
    let browser = Browser::start().await;
    browser.open(&night.address()).await;
    browser.until("view?.more_failures >= 40 && $('older').textContent.includes(' more in 15 minutes')").await;
    browser.until("document.querySelectorAll('#failures tr').length === 12").await;
    assert_eq!(browser.run("return $('all-events').textContent").await, "Show 48 more");
    browser.run("$('all-events').click()").await;
    browser.until("document.querySelectorAll('#failures tr').length === 60 && $('all-events').hidden").await;
    browser.end().await;
    night.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn con_28_texts_have_contrast_and_a_phone_needs_no_sideways_scroll() {
    let night = Night::shop(30).await;
    let browser = Browser::start().await;
    browser.open(&night.address()).await;
    browser.until_text("#cards", "Restart loop").await;
    browser.until("document.querySelector('#detail h3')").await;
    for dark in [false, true] {
        browser.dark(dark).await;
        for width in [1440, 900, 420] {
            browser.resize(width, 1000).await;
            assert_eq!(browser.run(TOO_FAINT).await, Value::Array(Vec::new()), "dark: {dark}, {width} pixels");
            let wide = browser.run("return document.documentElement.scrollWidth").await;
            assert!(wide.as_u64().is_some_and(|wide| wide <= width.into()), "{wide} of {width} pixels");
        }
    }
    browser.end().await;
    night.end().await;
}
