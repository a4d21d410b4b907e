//! Code that would be refused without an explicit statement: ordinary methods named like hooks, children from elsewhere, results and
//! futures as replies, rules for what the runtime raises.

use std::future::Future;
use std::pin::Pin;

use supervise::prelude::*;
use supervise::{PermanentEnded, StashOverflow};

#[derive(Debug, thiserror::Error)]
#[error("broken")]
struct Broken;

#[actor(stash = 3)]
struct Router {
    ready: bool,
}

// Without `#[actor]`: ordinary methods.
impl Router {
    fn pre_start(&mut self) {
        self.ready = true;
    }

    fn started(&self) -> bool {
        self.ready
    }
}

#[actor]
impl Router {
    #[pre_start]
    fn begin(&mut self) {
        self.pre_start();
        self.init();
    }

    // Beside a hook of its own moment, and without the context.
    fn init(&mut self) {
        self.ready = self.started();
    }

    #[handler]
    fn route(&self) -> Reply<Option<Result<u32, Broken>>> {
        Reply(Some(if self.ready { Ok(1) } else { Err(Broken) }))
    }

    #[handler]
    fn later(&self) -> Reply<Pin<Box<dyn Future<Output = Result<u32, Broken>> + Send>>> {
        Reply(Box::pin(async { Err(Broken) }))
    }

    #[stash_while]
    fn until_ready(&self, _message: &RouterMessage) -> bool {
        !self.ready
    }
}

#[actor]
struct Cell<T: Clone + Send + 'static> {
    value: T,
}

#[actor]
impl<T: Clone + Send + 'static> Cell<T> {
    #[handler]
    fn get(&self) -> Reply<T> {
        Reply(self.value.clone())
    }

    #[handler]
    fn list(&self) -> Vec<T> {
        vec![self.value.clone()]
    }
}

#[actor]
struct Driver {
    #[child(given)]
    router: Child<Router>,
}

#[actor]
impl Driver {
    #[handler]
    async fn drive(&self) -> Option<u32> {
        self.router.actor().route().await.ok()??.ok()
    }
}

#[actor]
struct Tuple(#[child(given)] Child<Router>);

#[actor]
impl Tuple {
    #[handler]
    fn router(&self) -> RouterRef {
        self.0.actor()
    }
}

#[actor]
#[supervise(
    rest_for_one(max_retries = 3, on_limit = Escalate, auto_shutdown = any_significant),
    on(InitializationFailed) = Restart,
    on(StashOverflow) = Resume,
)]
struct Fleet {
    #[child(|_| || Router { ready: false }, restart = permanent)]
    router: Child<Router>,
    #[child(|this| { let router = this.router.clone(); move || Driver { router: router.clone() } }, significant)]
    driver: Child<Driver>,
}

#[actor]
impl Fleet {
    #[handler]
    async fn drive(&self) -> Result<Option<u32>, AskError> {
        self.driver.actor().drive().await
    }
}

#[actor]
#[supervise(on(InitializationFailed | PermanentEnded) = Stop, on(StashOverflow | AskError) = Restart)]
struct Company {
    #[child(|_| || Fleet { router: Child::default(), driver: Child::default() })]
    fleet: Child<Fleet>,
}

#[actor]
impl Company {
    #[handler]
    fn fleet(&self) -> FleetRef {
        self.fleet.actor()
    }
}

pub(super) fn main() {}
