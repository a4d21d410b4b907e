//! Rule 19.6: what the timeout of an ask through a pattern says about the actors behind it.

use std::time::Duration;

use supervise::Backoff;
use supervise::pattern::{BackoffSupervisor, Pool};
use supervise::prelude::*;
use supervise::testkit::TestSystem;

const SECOND: Duration = Duration::from_secs(1);

#[actor]
struct Clerk {
    kept: Vec<ReplyTo<()>>,
}

#[actor]
impl Clerk {
    fn new() -> Self {
        Self { kept: Vec::new() }
    }

    #[handler]
    async fn serve(&mut self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    #[handler]
    fn keep(&mut self, reply: ReplyTo<()>) {
        self.kept.push(reply);
    }
}

/// What the error of an ask says after "within 1s: ".
async fn late(ask: supervise::Request<'_, Clerk, ()>) -> String {
    match ask.timeout(SECOND).await {
        Err(AskError::Timeout(late)) => late.to_string().split_once("within 1s: ").expect("a time").1.to_owned(),
        other => panic!("{other:?}"),
    }
}

/// Rule 19.6.
#[supervise::test]
async fn a_timeout_through_a_pool_names_the_worker(system: &TestSystem) {
    let pool = system.spawn_with("pool", Pool::round_robin(5, Clerk::new).props()).unwrap();
    assert_eq!(late(pool.serve(60)).await, "behind it, worker-1: it is handling a message");
    for seconds in [60, 60, 60, 60, 60] {
        pool.serve(seconds).tell().unwrap();
    }
    assert_eq!(
        late(pool.serve(60)).await,
        "behind it, worker-1: 2 messages wait or are being handled; worker-2: 2 messages wait or are being handled; \
         worker-3: it is handling a message; 2 more are not idle"
    );
}

/// Rule 19.6.
#[supervise::test]
async fn a_worker_that_answers_later_is_not_blamed(system: &TestSystem) {
    let pool = system.spawn_with("pool", Pool::round_robin(2, Clerk::new).props()).unwrap();
    assert_eq!(
        late(pool.keep()).await,
        "it has passed the message on, the actors behind it are idle, and somebody holds the reply slot"
    );
}

/// Rule 19.6: a pattern behind a pattern.
#[supervise::test]
async fn a_timeout_names_the_actor_behind_all_patterns(system: &TestSystem) {
    let delays = Backoff::exponential(SECOND, SECOND);
    let guarded = move || BackoffSupervisor::on_failure("clerk", Clerk::new, delays).props();
    let pool = system.spawn_with("pool", Pool::round_robin(2, guarded).props()).unwrap();
    pool.serve(60).tell().unwrap();
    assert_eq!(
        late(pool.serve(60)).await,
        "behind it, worker-1/clerk: it is handling a message; worker-2/clerk: it is handling a message"
    );
    let worker = pool.actor_ref().workers().await.unwrap().remove(0);
    system.settle().await;
    worker.actor_ref().stop();
    system.ended(&worker).await;
}
