//! KEY: keyed children whose keys or owners misbehave.

use std::cell::Cell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use supervise::ChildKey;
use supervise::prelude::*;
use supervise::testkit::TestSystem;

use crate::fixture::{Boom, secs};

/// A child that takes ten seconds to end.
#[actor(stop_timeout = "30s")]
struct Slow;

#[actor]
impl Slow {
    #[handler]
    fn ping(&self) {}

    #[handler]
    fn fail(&self) -> Result<(), Boom> {
        Err(Boom("as told"))
    }

    #[handler]
    fn leave(&self, ctx: &mut Context<Self>) {
        ctx.passivate();
    }

    #[post_stop]
    async fn end(&self) {
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 1, on_limit = Escalate), on(_) = Restart)]
struct Owner<K: ChildKey> {
    children: Children<K, Slow>,
}

#[actor]
impl<K: ChildKey> Owner<K> {
    #[pre_start]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        self.children = Children::of(|_: &K| Slow).spawn(ctx, "children")?;
        Ok(())
    }

    #[handler]
    fn children(&self) -> Children<K, Slow> {
        self.children.clone()
    }
}

/// The owner, and its children.
async fn owned<K: ChildKey>(system: &TestSystem) -> (OwnerRef<K>, Children<K, Slow>) {
    let owner = system.spawn("owner", || Owner { children: Children::default() }).unwrap();
    let children = owner.children().await.unwrap();
    (owner, children)
}

/// At that time the children's parent has no instance, and it does not get another one.
///
/// Rules 1.5 and 18.8.
#[supervise::test]
async fn key_20_an_owner_that_ends_during_a_restart_of_its_childrens_parent_leaves_no_ask_open(
    system: &TestSystem,
) {
    system.allow_failures();
    system.allow_dead_letters();
    let (owner, children) = owned::<u32>(system).await;
    let (failing, other) = (children.get_or_spawn(1).unwrap(), children.get_or_spawn(2).unwrap());
    other.ping().await.unwrap();
    failing.fail().tell().unwrap();
    system.advance(secs(11)).await;
    // The limit refuses this restart, and the escalation restarts the parent, which waits for its children.
    failing.fail().tell().unwrap();
    system.settle().await;
    owner.actor_ref().stop();
    let ask = children.get_or_spawn(2).unwrap().ping().ask().unwrap();
    system.advance(secs(30)).await;
    system.expect_terminated(&owner).await;
    assert!(matches!(ask.await, Err(AskError::Stopped)));
    assert_eq!(children.len(), 0);
    assert!(matches!(children.get_or_spawn(2), Err(SpawnError::Stopping { .. })));
}

thread_local! {
    /// What the next key does before it is shown.
    static BEFORE_SHOWN: Cell<Option<Box<dyn FnOnce()>>> = const { Cell::new(None) };
}

/// Not even equal to itself.
struct Odd {
    compared: Arc<AtomicU32>,
}

impl PartialEq for Odd {
    fn eq(&self, _: &Self) -> bool {
        assert!(self.compared.fetch_add(1, Ordering::Relaxed) < 100, "compared for ever");
        false
    }
}

impl Eq for Odd {}

impl Hash for Odd {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl fmt::Display for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(code) = BEFORE_SHOWN.take() {
            code();
        }
        f.write_str("odd")
    }
}

/// The second caller finds the successor, even if the key does not equal itself.
///
/// Rule 18.4.
#[supervise::test]
async fn key_21_two_senders_make_one_successor_of_a_key_that_equals_nothing(system: &TestSystem) {
    let (_owner, children) = owned::<Odd>(system).await;
    let child = children.get_or_spawn(Odd { compared: Arc::default() }).unwrap();
    child.leave().await.unwrap();
    system.advance(secs(11)).await;
    assert_eq!(children.len(), 0);
    let first = child.clone();
    BEFORE_SHOWN.set(Some(Box::new(move || first.ping().tell().unwrap())));
    child.ping().tell().unwrap();
    child.ping().await.unwrap();
    assert_eq!(children.len(), 1);
}
