//! Rule 19.7: a circle of asks is reported.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use supervise::pattern;
use supervise::prelude::*;
use supervise::testkit::TestSystem;

/// Asks the next one.
#[actor]
#[derive(Default)]
struct Link {
    next: Option<LinkRef>,
    held: Vec<ReplyTo<u32>>,
    kept: Option<Kept>,
}

/// An ask that has begun.
type Kept = Pin<Box<dyn Future<Output = Result<u32, AskError>> + Send>>;

#[actor]
impl Link {
    #[handler]
    fn join(&mut self, next: LinkRef) {
        self.next = Some(next);
    }

    /// Asks the next actor, and so on. Replies with the number of actors.
    #[handler]
    async fn around(&mut self, left: u32) -> Result<u32, AskError> {
        match (&self.next, left.checked_sub(1)) {
            (Some(next), Some(left)) => Ok(next.around(left).await? + 1),
            _ => Ok(0),
        }
    }

    /// Like `around`, with an error as the answer.
    #[handler]
    async fn try_around(&mut self, left: u32) -> Reply<Result<u32, String>> {
        match (&self.next, left.checked_sub(1)) {
            (Some(next), Some(left)) => match next.try_around(left).await {
                Ok(answer) => Reply(answer.map(|count| count + 1)),
                Err(error) => Reply(Err(error.to_string())),
            },
            _ => Reply(Ok(0)),
        }
    }

    /// Keeps the slot, and answers from a task when time has passed.
    #[handler]
    fn soon(&mut self, reply: ReplyTo<u32>) {
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            reply.answer(5);
        });
    }

    /// Awaits what the next one answers from a task.
    #[handler]
    async fn ask_soon(&mut self) -> Result<u32, AskError> {
        match &self.next {
            Some(next) => next.soon().await,
            None => Ok(0),
        }
    }

    /// Awaits an answer that is there.
    #[handler]
    async fn ask_count(&mut self) -> Result<u32, AskError> {
        match &self.next {
            Some(next) => Ok(next.count().await? + 1),
            None => Ok(0),
        }
    }

    /// Hands the ask on to the next one.
    #[handler]
    fn pass(&mut self, left: u32, reply: ReplyTo<Result<u32, String>>) {
        if let Some(next) = &self.next {
            next.try_around(left).reply_to(reply);
        }
    }

    /// Awaits what the next one hands on.
    #[handler]
    async fn ask_pass(&mut self, left: u32) -> Reply<Result<u32, String>> {
        match &self.next {
            Some(next) => match next.pass(left).await {
                Ok(answer) => Reply(answer),
                Err(error) => Reply(Err(error.to_string())),
            },
            None => Reply(Ok(0)),
        }
    }

    #[handler]
    async fn sleep(&mut self) {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }

    /// Asks the next one when time has passed.
    #[handler]
    async fn ask_count_soon(&mut self) -> Result<u32, AskError> {
        tokio::time::sleep(Duration::from_secs(1)).await;
        match &self.next {
            Some(next) => Ok(next.count().await? + 1),
            None => Ok(0),
        }
    }

    /// Begins to ask the next one, and returns.
    #[handler]
    async fn ask_for_a_moment(&mut self) {
        if let Some(next) = self.next.clone() {
            let mut ask: Kept = Box::pin(async move { next.ask_count_soon().await });
            tokio::select! {
                biased;
                _ = &mut ask => {}
                () = tokio::task::yield_now() => {}
            }
            self.kept = Some(ask);
        }
    }

    /// Ends the ask that was begun.
    #[handler]
    async fn kept(&mut self) -> Reply<Result<u32, AskError>> {
        match self.kept.take() {
            Some(kept) => Reply(kept.await),
            None => Reply(Ok(0)),
        }
    }

    #[handler]
    fn count(&self) -> u32 {
        u32::try_from(self.held.len()).unwrap_or(u32::MAX)
    }
}

async fn ring(system: &TestSystem, names: &[&str]) -> Vec<LinkRef> {
    let links: Vec<_> = names.iter().map(|name| system.spawn(name, Link::default).unwrap()).collect();
    for (at, link) in links.iter().enumerate() {
        link.join(links[(at + 1) % links.len()].clone()).await.unwrap();
    }
    links
}

/// Rule 19.7.
#[supervise::test]
async fn a_circle_of_asks_of_any_length_is_told(system: &TestSystem) {
    for names in [&["a", "b"][..], &["c", "d", "e"], &["f", "g", "h", "i", "j", "k", "l"]] {
        let links = ring(system, names).await;
        // An ask that stops just before the first actor is not a circle.
        let length = u32::try_from(links.len()).unwrap();
        assert_eq!(links[0].try_around(length - 1).await.unwrap(), Ok(length - 1));
        let told = links[0].try_around(length).await.unwrap().unwrap_err();
        let names: Vec<_> = links.iter().map(|link| link.actor_ref().path().to_string()).collect();
        let last = names.last().unwrap();
        assert!(told.starts_with("a circle of asks: "), "{told}");
        assert!(
            told.contains(&format!("{last} waits for")) || told.contains(&format!("waits for {last}")),
            "{told}"
        );
        assert!(names.iter().all(|name| told.contains(name)), "{told}");
        // It is over.
        assert_eq!(links[0].try_around(length - 1).await.unwrap(), Ok(length - 1));
    }
}

/// Rule 19.7.
#[supervise::test]
async fn a_circle_makes_an_actor_fail_that_passes_the_error_on(system: &TestSystem) {
    let links = ring(system, &["a", "b"]).await;
    let told = links[0].around(2).await.unwrap_err();
    assert!(matches!(told, AskError::Failed(_)), "{told:?}");
    system.allow_failures();
}

/// Rule 19.7.
#[supervise::test]
async fn asks_that_close_a_circle_at_the_same_time_are_told(system: &TestSystem) {
    let links = ring(system, &["a", "b"]).await;
    let (one, other) = (links[0].try_around(2).ask().unwrap(), links[1].try_around(2).ask().unwrap());
    let (one, other) = (one.await.unwrap(), other.await.unwrap());
    assert!(one.is_err() || other.is_err(), "{one:?} {other:?}");
}

/// Rule 19.7.
#[supervise::test]
async fn an_actor_that_answers_from_elsewhere_closes_no_circle(system: &TestSystem) {
    let links = ring(system, &["a", "b"]).await;
    // a awaits an answer that a task of b gives, and b asks a meanwhile. This ask waits for that second.
    let one = links[0].ask_soon().ask().unwrap();
    system.settle().await;
    let other = links[1].ask_count().ask().unwrap();
    system.advance(Duration::from_secs(1)).await;
    assert_eq!((one.await.unwrap(), other.await.unwrap()), (5, 1));
}

/// Rule 19.7.
#[supervise::test]
async fn a_circle_through_a_message_that_was_handed_on_is_told(system: &TestSystem) {
    let links = ring(system, &["a", "b", "c"]).await;
    // a asks b, b hands on to c, c asks a.
    let told = links[0].ask_pass(2).await.unwrap().unwrap_err();
    assert!(told.starts_with("a circle of asks: "), "{told}");
    assert_eq!(links[0].ask_pass(0).await.unwrap(), Ok(0));
}

/// Rules 13.1 and 19.7.
#[supervise::test]
async fn a_circle_through_a_pool_is_told(system: &TestSystem) {
    let link = system.spawn("link", Link::default).unwrap();
    let pool = system.spawn_with("pool", pattern::Pool::round_robin(1, Link::default).props()).unwrap();
    pool.join(link.clone()).await.unwrap();
    link.join(LinkRef::clone(&pool)).await.unwrap();
    let told = link.try_around(2).await.unwrap().unwrap_err();
    assert!(told.starts_with("a circle of asks: "), "{told}");
}

/// Rule 19.6: the error of a timeout names the actor for which the asked actor waits.
#[supervise::test]
async fn a_late_answer_says_whom_the_actor_waits_for(system: &TestSystem) {
    let links = ring(system, &["a", "b"]).await;
    let asked = links[0].ask_soon().ask().unwrap();
    system.settle().await;
    let late = links[0].count().timeout(Duration::from_millis(1)).await.unwrap_err().to_string();
    // b's handler has taken its slot, so nobody knows who answers.
    assert!(late.ends_with("2 messages wait or are being handled"), "{late}");
    system.advance(Duration::from_secs(1)).await;
    assert_eq!(asked.await.unwrap(), 5);
}

/// Rule 19.7.
#[supervise::test]
async fn an_ask_that_has_been_answered_closes_no_circle(system: &TestSystem) {
    let links = ring(system, &["a", "b"]).await;
    // In one turn, b answers a and asks a.
    links[1].sleep().tell().unwrap();
    let one = links[0].ask_count().ask().unwrap();
    system.settle().await;
    let other = links[1].ask_count().ask().unwrap();
    system.advance(Duration::from_secs(1)).await;
    assert_eq!((one.await.unwrap(), other.await.unwrap()), (1, 1));
}

/// Rule 19.7.
#[supervise::test]
async fn an_ask_that_outlives_its_handler_closes_no_circle(system: &TestSystem) {
    let links = ring(system, &["a", "b"]).await;
    // a keeps its ask. b asks a before it answers, and a is free.
    links[0].ask_for_a_moment().await.unwrap();
    system.advance(Duration::from_secs(1)).await;
    assert_eq!(links[0].kept().await.unwrap().unwrap(), 1);
}
