//! Actions from the page in Chromium. CON-20, CON-22, CON-23, CON-28.

use serde_json::Value;
use supervise::console::{Console, Token};
use supervise::prelude::*;
use supervise_browser::Browser;

#[actor]
#[supervise(on(_) = Stop)]
struct Desk;

#[actor]
impl Desk {
    #[handler]
    fn seat(&mut self, ctx: &mut Context<Self>) -> Result<ClerkRef, SpawnError> {
        ctx.spawn_anonymous(|| Clerk)
    }
}

#[actor]
struct Clerk;

#[actor]
impl Clerk {
    #[handler]
    async fn wait(&mut self) {
        std::future::pending().await
    }
}

const CHOOSE: &str =
    "[...document.querySelectorAll('#rows tr')].find(e => e.dataset.path === '/user/desk')?.click()";

#[tokio::test(flavor = "multi_thread")]
async fn con_22_con_23_an_actor_is_restarted_and_stopped_from_the_page() {
    let system = ActorSystem::new("shop");
    let desk = system.spawn("desk", || Desk).expect("a free name");
    for _ in 0..2 {
        let clerk = desk.seat().await.expect("a name");
        for _ in 0..4 {
            clerk.wait().tell().expect("it runs");
        }
    }
    let console = Console::of(&system)
        .allow_actions(Token::random().label("night shift"))
        .serve("127.0.0.1:0")
        .expect("a free port");
    let address = format!("http://{}/", console.local_addr().expect("it listens by TCP"));
    let browser = Browser::start().await;

    // Without the token there is nothing to press.
    browser.open(&address).await;
    browser.until("document.querySelector('[data-path=\"/user/desk\"]')").await;
    browser.run(CHOOSE).await;
    browser.until("view.detail?.row.path === '/user/desk'").await;
    assert_eq!(browser.run("return $('acts').hidden").await, true);

    // The token leaves the address, and stays with the tab.
    browser.open("about:blank").await;
    browser.open(&console.operator_url().expect("actions are allowed")).await;
    browser.until("location.hash === '' && token").await;
    browser.open(&address).await;
    browser.until("document.querySelector('[data-path=\"/user/desk\"]')").await;
    browser.run(CHOOSE).await;
    browser.until("!$('acts').hidden && view.detail.below === 2").await;
    browser.run("document.querySelector('[data-what=restart]').click()").await;
    browser.until_text("#means", "The 2 actors below it stop, unless its pre_restart keeps them; 6 waiting messages would become dead letters.").await;
    browser.run("$('yes').click()").await;
    browser.until("!$('dialog').open && view.detail?.row.restarts === 1 && view.detail.below === 0").await;
    browser.until_text("#acted", "restart").await;

    // The action is on the timeline, and in the list below it.
    browser.until("document.querySelector('#timeline .hand')").await;
    browser.until_text("#failures", "restart by hand").await;
    browser.until_text("#failures", "by night shift").await;

    // An actor that has changed in the meantime is left alone.
    browser.run("document.querySelector('[data-what=stop]').click(); asked.restarts = 0; $('yes').click()").await;
    browser.until_text("#refused", "has changed").await;
    browser.run("$('no').click()").await;
    assert!(!desk.actor_ref().has_ended());
    browser.run("document.querySelector('[data-what=stop]').click()").await;
    browser.until_text("#means", "1 actor, 0 messages become dead letters").await;
    browser.run("$('yes').click()").await;
    browser.until("!document.querySelector('[data-path=\"/user/desk\"]') && $('acts').hidden").await;
    assert!(desk.actor_ref().has_ended());

    // The page forgets a wrong token.
    browser.run("token = 'no'.repeat(10); asked = { ...asked }; act()").await;
    browser.until("token === null").await;
    assert_eq!(browser.run("return sessionStorage.length").await, Value::from(0));
    browser.end().await;
    system.terminate().await;
}

/// From the line of an actor to its restart, without a mouse.
#[tokio::test(flavor = "multi_thread")]
async fn con_28_an_actor_is_restarted_by_keyboard() {
    const TAB: char = '\u{e004}';
    const DOWN: char = '\u{e015}';
    const ENTER: char = '\u{e007}';
    const ESCAPE: char = '\u{e00c}';
    const FOCUS: &str = "document.activeElement";
    let system = ActorSystem::new("shop");
    let desk = system.spawn("desk", || Desk).expect("a free name");
    let console = Console::of(&system)
        .allow_actions(Token::new("0123456789abcdef"))
        .serve("127.0.0.1:0")
        .expect("a free port");
    let browser = Browser::start().await;
    browser.open(&console.operator_url().expect("actions are allowed")).await;
    browser.until("document.querySelector('[data-path=\"/user/desk\"]')").await;
    browser.press('/').await;
    browser.press(DOWN).await;
    while browser.run(&format!("return {FOCUS}.dataset.path === '/user/desk'")).await == false {
        browser.press(DOWN).await;
    }
    browser.press(ENTER).await;
    browser.until("!$('acts').hidden && view.detail?.row.path === '/user/desk'").await;
    for _ in 0..50 {
        if browser.run(&format!("return {FOCUS}.dataset.what === 'restart'")).await == true {
            break;
        }
        browser.press(TAB).await;
    }
    // Pressing Enter twice does nothing: the dialog opens with the focus on Cancel, and then gives the focus back.
    let closed = format!("!$('dialog').open && {FOCUS}.dataset.what === 'restart'");
    for back in [ENTER, ESCAPE] {
        browser.press(ENTER).await;
        browser.until(&format!("$('dialog').open && {FOCUS}.id === 'no'")).await;
        browser.press(back).await;
        browser.until(&closed).await;
    }
    assert_eq!(browser.run("return view.detail.row.restarts").await, Value::from(0));
    browser.press(ENTER).await;
    browser.until("$('dialog').open").await;
    browser.press(TAB).await;
    browser.until(&format!("{FOCUS}.id === 'yes'")).await;
    // The key that opens the search does nothing while the dialog asks.
    browser.press('/').await;
    browser.until(&format!("{FOCUS}.id === 'yes'")).await;
    browser.press(ENTER).await;
    browser.until(&format!("{closed} && view.detail?.row.restarts === 1")).await;
    assert!(!desk.actor_ref().has_ended());
    browser.end().await;
    system.terminate().await;
}

/// A page of another site does nothing, even if it knows the token.
#[tokio::test(flavor = "multi_thread")]
async fn con_20_a_page_of_a_stranger_does_nothing() {
    let system = ActorSystem::new("shop");
    let desk = system.spawn("desk", || Desk).expect("a free name");
    let secret = "0123456789abcdef";
    let console =
        Console::of(&system).allow_actions(Token::new(secret)).serve("127.0.0.1:0").expect("a free port");
    let mut events = system.events().subscribe();
    let port = console.local_addr().expect("it listens by TCP").port();
    let uid = u64::from(desk.actor_ref().uid());
    let browser = Browser::start().await;
    browser.open(&format!("http://evil.test:{port}/")).await;
    let body = format!("{{path: '/user/desk', uid: '{uid}', restarts: 0, what: 'stop'}}");
    let ask = async |host: &str, mode: &str, content: &str| {
        let headers = format!("{{'Authorization': 'Bearer {secret}', 'Content-Type': '{content}'}}");
        let request =
            format!("{{method: 'POST', mode: '{mode}', headers: {headers}, body: JSON.stringify({body})}}");
        let script = format!(
            "try {{ const answer = await fetch('http://{host}:{port}/act', {request}); return answer.type + answer.status }} \
             catch (e) {{ return e.name }}"
        );
        browser.run(&script).await
    };
    // The browser sends no token without asking first, and the console does not permit it. A request without it has no answer for the stranger.
    assert_eq!(ask("127.0.0.1", "no-cors", "text/plain").await, "TypeError");
    assert_eq!(ask("127.0.0.1", "cors", "application/json").await, "TypeError");
    // With the name of the stranger, the request is from the same site, but the console does not answer to that name.
    assert_eq!(ask("evil.test", "same-origin", "application/json").await, "basic421");
    while let Some(event) = events.try_recv() {
        assert!(!matches!(event, supervise::Event::Intervened { .. }), "{event:?}");
    }
    assert!(!desk.actor_ref().has_ended());
    browser.log().await;
    browser.end().await;
    system.terminate().await;
}
