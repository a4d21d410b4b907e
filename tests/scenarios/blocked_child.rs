//! A child that blocks its thread while its parent fails again and again.
//!
//! Rules 1.3, 2.3, 4.2 and 7.10.

use std::sync::{Arc, Mutex, mpsc};

use supervise::prelude::*;
use supervise::testkit;

const FAILURES: u32 = 10_000;

/// How many errors may be held, most of them by system messages that wait for the child.
const BOUND: usize = 16;

/// Keeps a token, so that the test can count the errors that something still holds.
#[derive(Debug, thiserror::Error)]
#[error("failure {number}")]
struct Down {
    number: u32,
    _token: Arc<()>,
}

/// What outlives the instances.
#[derive(Debug, Clone, Default)]
struct Shared {
    token: Arc<()>,
    /// The child's restarts, by their causes.
    restarts: Arc<Mutex<Vec<String>>>,
}

impl Shared {
    fn down(&self, number: u32) -> Down {
        Down { number, _token: Arc::clone(&self.token) }
    }

    fn errors_held(&self) -> usize {
        Arc::weak_count(&self.token) + Arc::strong_count(&self.token)
    }

    fn take_restarts(&self) -> Vec<String> {
        std::mem::take(&mut self.restarts.lock().unwrap())
    }
}

#[actor]
#[supervise(on(Down) = Restart, on(_) = Escalate)]
struct Above;

#[actor]
impl Above {
    #[handler]
    fn parent(&mut self, shared: Shared, ctx: &mut Context<Self>) -> ParentRef {
        ctx.spawn("parent", move || Parent { shared: shared.clone() }).unwrap()
    }
}

/// Its child survives its restarts.
#[actor]
#[supervise(on(Down) = Restart, on(_) = Escalate)]
struct Parent {
    shared: Shared,
}

#[actor]
impl Parent {
    #[handler]
    fn child(&mut self, ctx: &mut Context<Self>) -> BlockedRef {
        let shared = self.shared.clone();
        ctx.spawn("child", move || Blocked { shared: shared.clone() }).unwrap()
    }

    #[handler]
    fn fail(&mut self, number: u32) -> Result<(), Down> {
        Err(self.shared.down(number))
    }

    #[handler]
    fn greet(&mut self) {}

    #[pre_restart]
    fn keep(&mut self) {}
}

#[actor]
struct Blocked {
    shared: Shared,
}

#[actor]
impl Blocked {
    /// Blocks its thread until the sender is gone.
    #[handler]
    fn block(&mut self, entered: mpsc::Sender<()>, until: mpsc::Receiver<()>) {
        entered.send(()).unwrap();
        until.recv().unwrap_err();
    }

    #[handler]
    fn fail(&mut self, number: u32) -> Result<(), Down> {
        Err(self.shared.down(number))
    }

    #[handler]
    fn greet(&mut self) {}

    #[pre_restart]
    fn about_to_restart(&mut self) {}

    #[post_restart]
    fn restarted(&mut self, cause: &Failure) {
        self.shared.restarts.lock().unwrap().push(cause.to_string());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_parent_tells_a_blocked_child_is_bounded_and_the_child_restarts_once() {
    let (system, shared) = (ActorSystem::new("blocked"), Shared::default());
    let above = system.spawn("above", || Above).unwrap();
    let parent = above.parent(shared.clone()).await.unwrap();
    let child = parent.child().await.unwrap();
    let (entered, has_entered) = mpsc::channel();
    let (goes_on, until) = mpsc::channel();
    child.block(entered, until).tell().unwrap();
    has_entered.recv().unwrap();
    let held_before = shared.errors_held();
    for number in 0..FAILURES {
        parent.fail(number).await.unwrap_err();
    }
    parent.greet().await.unwrap();
    let held = shared.errors_held() - held_before;
    drop(goes_on);
    child.greet().await.unwrap();
    assert!(held <= BOUND, "{held} errors were held");
    assert_eq!(shared.take_restarts(), ["failure 0"], "once, for the first cause");
    assert_eq!(testkit::suspensions(&child), 0);
    // Its parent knows which restart it has done.
    child.fail(FAILURES).await.unwrap_err();
    child.greet().await.unwrap();
    parent.fail(FAILURES + 1).await.unwrap_err();
    parent.greet().await.unwrap();
    child.greet().await.unwrap();
    assert_eq!(shared.take_restarts(), ["failure 10000", "failure 10001"]);
    system.terminate().await;
}

/// Its child is declared, and survives its restarts.
#[actor]
#[supervise(all_for_one, on(Down) = Restart, on(_) = Escalate)]
struct Declaring {
    shared: Shared,
    #[child(|this| { let shared = this.shared.clone(); move || Blocked { shared: shared.clone() } })]
    child: Child<Blocked>,
    #[child(|this| { let shared = this.shared.clone(); move || Blocked { shared: shared.clone() } })]
    other: Child<Blocked>,
}

#[actor]
impl Declaring {
    #[handler]
    fn children(&mut self) -> (BlockedRef, BlockedRef) {
        (self.child.actor(), self.other.actor())
    }

    #[pre_restart]
    fn keep(&mut self) {}
}

/// Fails, and keeps its child.
#[actor]
#[supervise(on(Down) = Restart, on(_) = Escalate)]
struct Grandparent {
    shared: Shared,
}

#[actor]
impl Grandparent {
    #[handler]
    fn parent(&mut self, ctx: &mut Context<Self>) -> DeclaringRef {
        let shared = self.shared.clone();
        ctx.spawn("parent", move || Declaring {
            shared: shared.clone(),
            child: Child::default(),
            other: Child::default(),
        })
        .unwrap()
    }

    #[handler]
    fn fail(&mut self, number: u32) -> Result<(), Down> {
        Err(self.shared.down(number))
    }

    #[handler]
    fn greet(&mut self) {}

    #[pre_restart]
    fn keep(&mut self) {}
}

/// The child is told of its group's restart one message at a time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_declared_child_is_told_is_bounded_too() {
    for sibling_fails in [false, true] {
        let (system, shared) = (ActorSystem::new("declared"), Shared::default());
        let inner = shared.clone();
        let above = system.spawn("above", move || Grandparent { shared: inner.clone() }).unwrap();
        let (child, other) = above.parent().await.unwrap().children().await.unwrap();
        let (entered, has_entered) = mpsc::channel();
        let (goes_on, until) = mpsc::channel();
        child.block(entered, until).tell().unwrap();
        has_entered.recv().unwrap();
        if sibling_fails {
            other.fail(FAILURES).await.unwrap_err();
        }
        let held_before = shared.errors_held();
        for number in 0..FAILURES {
            above.fail(number).await.unwrap_err();
        }
        above.greet().await.unwrap();
        let held = shared.errors_held() - held_before;
        drop(goes_on);
        child.greet().await.unwrap();
        other.greet().await.unwrap();
        assert!(held <= BOUND, "{held} errors were held");
        assert_eq!((testkit::suspensions(&child), testkit::suspensions(&other)), (0, 0));
        system.terminate().await;
    }
}
