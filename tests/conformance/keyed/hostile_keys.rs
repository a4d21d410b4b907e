//! KEY: keys with equal hashes, and keys that panic or change.
//!
//! Rule 18.1.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use supervise::prelude::*;
use supervise::testkit::TestSystem;

use super::{Common, open};

/// A key that can be told to panic, and to change.
#[derive(Clone)]
struct Treacherous {
    name: &'static str,
    hash: Arc<AtomicU32>,
    panics: Arc<AtomicBool>,
}

impl Treacherous {
    fn new(name: &'static str) -> Self {
        Self { name, hash: Arc::default(), panics: Arc::default() }
    }

    fn check(&self) {
        assert!(!self.panics.load(Ordering::Relaxed), "as told");
    }
}

impl Hash for Treacherous {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.check();
        self.hash.load(Ordering::Relaxed).hash(state);
    }
}

impl PartialEq for Treacherous {
    fn eq(&self, other: &Self) -> bool {
        self.check();
        self.name == other.name
    }
}

impl Eq for Treacherous {}

impl fmt::Display for Treacherous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.check();
        f.write_str(self.name)
    }
}

/// Rule 18.1.
#[supervise::test]
async fn key_16_keys_of_one_hash_have_children_of_their_own(system: &TestSystem) {
    let probe = system.probe();
    let common = Common::new(&probe);
    let (_shop, sessions) = open(system, move || common.sessions::<Treacherous>()).await;
    let keys = ["a", "b", "c"].map(Treacherous::new);
    let children = keys.clone().map(|key| sessions.get_or_spawn(key).unwrap());
    for (key, child) in keys.iter().zip(&children) {
        assert_eq!(sessions.get(key).as_ref(), Some(child));
        assert_eq!(child.actor_ref().path().name(), key.name);
    }
    sessions.passivate(&keys[1]);
    system.settle().await;
    assert_eq!(sessions.get(&keys[1]), None);
    assert_eq!(sessions.get(&keys[2]).as_ref(), Some(&children[2]));
    assert_eq!(children[1].order(1).await.unwrap(), 4);
    assert_eq!(sessions.len(), 3);
}

/// Rule 18.1.
#[supervise::test]
async fn key_17_a_key_that_panics_or_changes_harms_nobody_else(system: &TestSystem) {
    system.allow_dead_letters();
    let probe = system.probe();
    let common = Common::new(&probe);
    let (_shop, sessions) = open(system, move || common.sessions::<Treacherous>()).await;
    let (bad, good) = (Treacherous::new("bad"), Treacherous::new("good"));
    good.hash.store(1, Ordering::Relaxed);
    let child = sessions.get_or_spawn(bad.clone()).unwrap();
    let fine = sessions.get_or_spawn(good.clone()).unwrap();
    system.settle().await;

    bad.panics.store(true, Ordering::Relaxed);
    let asked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sessions.get(&bad)));
    assert!(asked.is_err());
    child.leave().tell().unwrap();
    child.order(9).tell().unwrap();
    system.settle().await;
    assert_eq!(sessions.len(), 1, "its seat is free though it cannot be shown");
    assert!(child.order(1).tell().is_err(), "nobody can be made for it");
    bad.panics.store(false, Ordering::Relaxed);
    assert_eq!(child.order(2).await.unwrap(), 3);

    // It is no longer found, and it is not created twice under one name.
    bad.hash.store(2, Ordering::Relaxed);
    assert_eq!(sessions.get(&bad), None);
    assert!(matches!(sessions.get_or_spawn(bad.clone()), Err(SpawnError::NameTaken { .. })));
    child.leave().await.unwrap();
    system.settle().await;
    assert_eq!(sessions.len(), 1);
    assert_eq!(fine.order(1).await.unwrap(), 2);
    assert_eq!(sessions.get(&good), Some(fine));
}
