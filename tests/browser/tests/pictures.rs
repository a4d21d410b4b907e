//! Draws the pictures of the README: `UPDATE_PICTURES=1 cargo test --test pictures`. Without that the pictures go to the folder for
//! temporary files, and it is only checked that they can be drawn.

#[path = "../../../examples/night/shop.rs"]
mod shop;

use std::path::{Path, PathBuf};
use std::time::Duration;

use supervise::console::Console;
use supervise::prelude::*;
use supervise_browser::Browser;

use self::shop::Shop;

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_drawn_in_light_and_dark() {
    let system = ActorSystem::new("shop");
    let console = Console::of(&system).serve("127.0.0.1:0").expect("a free port");
    let shop = Shop::open(&system, 10_000).await.expect("it opens");
    let work = tokio::spawn(async move {
        let mut ticks = tokio::time::interval(Duration::from_millis(50));
        for tick in 0.. {
            ticks.tick().await;
            if shop.work(tick).is_err() {
                return;
            }
        }
    });
    let browser = Browser::start().await;
    browser.resize(1440, 1440).await;
    browser.open(&format!("http://{}/", console.local_addr().expect("it listens by TCP"))).await;
    for card in ["Stuck", "Branch down", "Restart loop", "Messages lost"] {
        browser.until_text("#cards", card).await;
    }
    browser
        .run("[...document.querySelectorAll('.card')].find(e => e.textContent.includes('Restart loop')).click()")
        .await;
    browser.until_text("#detail .hit", "io::Error").await;
    browser.until("document.querySelectorAll('.spark').length > 5").await;
    if std::env::var_os("UPDATE_PICTURES").is_some() {
        // The longer the shop is open, the more there is to see.
        browser.until_text("#detail", "Its 5th failure").await;
        browser.until_text("#cards", "Near its limit").await;
    }
    let folder = match std::env::var_os("UPDATE_PICTURES") {
        Some(_) => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../supervise/docs"),
        None => PathBuf::from(env!("CARGO_TARGET_TMPDIR")),
    };
    for (dark, name) in [(false, "console.png"), (true, "console-dark.png")] {
        browser.dark(dark).await;
        let picture = browser.picture().await;
        assert_eq!(picture[..8], *b"\x89PNG\r\n\x1a\n", "{name}");
        std::fs::write(folder.join(name), picture).expect("it can be written");
    }
    browser.resize(420, 1400).await;
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("phone.png"), browser.picture().await)
        .expect("it can be written");
    browser.end().await;
    system.terminate().await;
    work.await.expect("it ends with its system");
}
