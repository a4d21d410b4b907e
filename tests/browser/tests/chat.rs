//! The page of the example `chat` in Chromium.

#[allow(dead_code, unused_imports, unreachable_pub, reason = "the example's bots use what this test does not")]
#[path = "../../../examples/chat/server/mod.rs"]
mod server;

use serde_json::{Value, json};
use supervise_browser::Browser;

/// Fills an input in and submits its form.
async fn submit(browser: &Browser, input: &str, text: &str) {
    let (input, text) = (json!(input), json!(text));
    browser.run(&format!("const e = find({input}); e.value = {text}; e.form.requestSubmit();")).await;
}

async fn lines(browser: &Browser) -> Vec<String> {
    let lines = browser.run("return [...document.querySelectorAll('#lines li')].map(e => e.textContent)").await;
    serde_json::from_value(lines).expect("texts")
}

async fn until_line(browser: &Browser, line: &str) {
    let line = Value::from(line);
    browser
        .until(&format!("[...document.querySelectorAll('#lines li')].some(e => e.textContent === {line})"))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_users_talk_and_a_bug_of_one_connection_is_mended_by_the_page() {
    let server = server::start(0).expect("a free port");
    let address = format!("http://{}/", server.address);
    let browser = Browser::start().await;
    let ann = browser.client().window().await.expect("a window");
    browser.open(&address).await;
    submit(&browser, "name", "ann").await;
    browser.until_text("#status", "connected").await;

    let bob = browser.client().new_window(false).await.expect("a second window").handle;
    browser.client().switch_to_window(bob.clone()).await.expect("it is there");
    browser.open(&address).await;
    submit(&browser, "name", "bob").await;
    browser.until_text("#status", "connected").await;

    // A user's text is shown as text, even if it looks like HTML.
    browser.client().switch_to_window(ann.clone()).await.expect("it is there");
    until_line(&browser, "bob joined").await;
    submit(&browser, "text", "<b>darn</b> & hello").await;
    until_line(&browser, "ann: <b>d***</b> & hello").await;
    assert_eq!(browser.run("return document.querySelectorAll('#lines b').length").await, 0);

    // A text on which the filter panics is refused. The next text is accepted.
    submit(&browser, "text", "poison").await;
    until_line(&browser, "not said: the filter cannot read it").await;
    submit(&browser, "text", "I am still here").await;
    until_line(&browser, "ann: I am still here").await;

    // A bug ends the connection. The page connects again, and shows no text twice.
    submit(&browser, "text", "bug").await;
    browser.until("find('status').textContent !== 'connected'").await;
    browser.until_text("#status", "connected").await;
    submit(&browser, "text", "I am back").await;
    until_line(&browser, "ann: I am back").await;
    let said: Vec<_> = lines(&browser).await.into_iter().filter(|line| line.starts_with("ann: ")).collect();
    assert_eq!(said, ["ann: <b>d***</b> & hello", "ann: I am still here", "ann: I am back"]);

    // Bob has seen it all, and his connection is the first one.
    browser.client().switch_to_window(bob).await.expect("it is there");
    until_line(&browser, "ann: I am back").await;
    assert_eq!(
        lines(&browser).await,
        ["ann: <b>d***</b> & hello", "ann: I am still here", "ann left", "ann joined", "ann: I am back"]
    );
    let traffic = server.door.traffic().await.expect("the door stands");
    assert_eq!((traffic.entered, traffic.ended.get("panicked"), traffic.ended.len()), (3, Some(&1), 1));

    browser.end().await;
    server.system.terminate().await;
}
