//! A quarantine that does not keep everything.
//!
//! Rule 27.15.

use std::time::Duration;

use supervise::prelude::*;
use tokio::time::sleep;

use crate::stumbling::Stumbling;

const HOUR: Duration = Duration::from_secs(3600);

#[derive(Debug, thiserror::Error)]
#[error("it fails")]
struct Fails;

#[actor(mailbox = durable(redeliver = 0, keep = "2d"))]
struct Forgetful;

#[actor]
impl Forgetful {
    #[handler]
    fn fail(&mut self, _number: u32) -> Result<(), Fails> {
        Err(Fails)
    }
}

#[test]
fn what_has_been_in_quarantine_for_long_enough_is_discarded() {
    let store = Stumbling::default();
    store.process(async |system| {
        let forgetful = system.spawn("forgetful", || Forgetful).expect("the name is free");
        forgetful.fail(1).accepted().await.expect("the store works");
        sleep(HOUR * 2).await;
        let quarantined =
            async || system.store().quarantined("/user/forgetful").await.expect("the store works").len();
        assert_eq!(quarantined().await, 1, "it is kept for two days");
        store.script().age = HOUR * 49;
        sleep(HOUR * 2).await;
        store.script().age = Duration::ZERO;
        assert_eq!(quarantined().await, 0);
    });
}
