//! `retry_now`: the delay before a restart ends.
//!
//! Rule 23.5.

use std::time::Duration;

use supervise::prelude::*;
use supervise::testkit::{ProbeHandle, TestSystem};

const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
#[error("no connection")]
struct Down;

#[actor]
struct Connection {
    seen: ProbeHandle<&'static str>,
}

#[actor]
impl Connection {
    #[pre_start]
    fn open(&mut self) {
        self.seen.note("open");
    }

    #[handler]
    fn fail(&mut self) -> Result<(), Down> {
        Err(Down)
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3, backoff(min = "10s", max = "1m")), on(Down) = Restart, on(_) = Stop)]
struct Keeper {
    seen: ProbeHandle<&'static str>,
    #[child(|this| { let seen = this.seen.clone(); move || Connection { seen: seen.clone() } })]
    connection: Child<Connection>,
}

#[actor]
impl Keeper {
    #[handler]
    fn connection(&self) -> ConnectionRef {
        self.connection.actor()
    }

    /// The network is back.
    #[handler]
    fn retry(&mut self, ctx: &mut Context<Self>) {
        ctx.retry_now(&self.connection.actor());
    }
}

#[supervise::test]
async fn a_delay_ends_once_from_the_parent_and_from_outside(system: &TestSystem) {
    let seen = system.probe();
    let handle = seen.handle();
    let keeper =
        system.spawn("keeper", move || Keeper { seen: handle.clone(), connection: Child::default() }).unwrap();
    let connection = keeper.connection().await.unwrap();
    // Nothing waits.
    keeper.retry().await.unwrap();
    assert_eq!(seen.all().await, ["open"]);
    let mut lives = 0;
    for outside in [false, true] {
        connection.fail().tell().unwrap();
        system.expect_decision(&connection).await;
        system.advance(SECOND).await;
        assert_eq!(seen.all().await, [""; 0]);
        for _twice in 0..2 {
            if outside { connection.actor_ref().retry_now() } else { keeper.retry().await.unwrap() }
        }
        assert_eq!(seen.all().await, ["open"]);
        lives += 1;
        // The timer of the delay does not restart it again.
        system.advance(SECOND * 9).await;
        assert_eq!(seen.all().await, [""; 0]);
    }
    assert_eq!(lives, 2);
    // The third delay has grown to 40 s, and the limit of 3 is not used up twice.
    connection.fail().tell().unwrap();
    system.expect_decision(&connection).await;
    system.advance(SECOND * 39).await;
    assert_eq!(seen.all().await, [""; 0]);
    system.advance(SECOND).await;
    assert_eq!(seen.all().await, ["open"]);
    assert!(!connection.actor_ref().has_ended());
    connection.fail().tell().unwrap();
    system.expect_decision(&connection).await;
    system.expect_terminated(&connection).await;
}
