//! What the text says of messages and failures. Rules 22.3 and 22.4.

use std::time::Duration;

use supervise::console::{Console, Watch};
use supervise::prelude::*;
use supervise::testkit::TestSystem;

#[derive(Debug, thiserror::Error)]
#[error("no ink")]
struct NoInk;

#[actor]
#[supervise(one_for_one, on(NoInk) = Restart)]
struct Desk;

#[actor]
impl Desk {
    #[handler]
    fn seat(&mut self, ctx: &mut Context<Self>) -> Result<(ClerkRef, PatientRef), SpawnError> {
        Ok((ctx.spawn("clerk", || Clerk)?, ctx.spawn("patient", || Patient)?))
    }
}

#[actor]
struct Clerk;

#[actor]
impl Clerk {
    #[handler]
    fn stamp(&mut self) -> Result<(), NoInk> {
        Err(NoInk)
    }
}

#[actor]
struct Patient;

#[actor]
impl Patient {
    #[handler(redeliver = 5)]
    fn seal(&mut self) -> Result<(), NoInk> {
        Err(NoInk)
    }
}

/// The words of the text after this many looks, one each second.
async fn read(system: &TestSystem, watch: &mut Watch, looks: u32) -> String {
    for _ in 0..looks {
        system.advance(Duration::from_secs(1)).await;
        watch.look();
    }
    watch.text().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Rule 4.8: the text about a failure says what becomes of the message.
#[supervise::test]
async fn con_11_a_card_says_what_became_of_the_message_that_failed(system: &TestSystem) {
    system.allow_failures();
    system.allow_dead_letters();
    let (clerk, patient) = system.spawn("desk", || Desk).unwrap().seat().await.unwrap();
    let mut watch = Console::of(system).by_hand();
    (0..3).for_each(|_| clerk.stamp().tell().unwrap());
    patient.seal().tell().unwrap();
    let text = read(system, &mut watch, 1).await;
    let last = "the last time in";
    for said in [
        format!("{last} `stamp`. The message that failed is not delivered again. /user/desk decides"),
        format!("{last} `seal`. The message that failed may be delivered again. /user/desk decides"),
    ] {
        assert!(text.contains(&said), "{said}\n{text}");
    }
}

/// A reader who sees ten failures must learn that there were more.
#[supervise::test]
async fn con_27_the_text_counts_the_failures_that_it_does_not_list(system: &TestSystem) {
    system.allow_failures();
    let (clerk, _) = system.spawn("desk", || Desk).unwrap().seat().await.unwrap();
    let mut watch = Console::of(system).by_hand();
    (0..10).for_each(|_| clerk.stamp().tell().unwrap());
    assert!(!read(system, &mut watch, 1).await.contains("in the last 15 minutes"));
    (0..90).for_each(|_| clerk.stamp().tell().unwrap());
    let text = read(system, &mut watch, 1).await;
    let more = "And 90 more in the last 15 minutes. The text of an actor lists its own failures.";
    assert!(text.contains(more), "{text}");
}
