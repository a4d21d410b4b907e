//! Systems that have joined one network, and the actors of the tests.

use std::future::IntoFuture;
use std::time::Duration;

use supervise::remote::memory::Network;
use supervise::remote::{Node, NodeBuilder};
use supervise::{ActorSystem, actor};

/// A system and its node.
pub(crate) struct Place {
    pub(crate) system: ActorSystem,
    pub(crate) node: Node,
}

impl Place {
    /// A system `name` at the address `name:1`, which serves the actors of the tests.
    pub(crate) async fn new(network: &Network, name: &str) -> Self {
        Self::with(network, name, |builder| builder).await
    }

    pub(crate) async fn with(
        network: &Network,
        name: &str,
        settings: impl FnOnce(NodeBuilder) -> NodeBuilder,
    ) -> Self {
        let system = ActorSystem::new(name);
        let builder = Node::builder(&system).serve::<Echo>();
        let node = settings(builder).join(network.transport(&format!("{name}:1"))).await.expect("it joins");
        Self { system, node }
    }

    /// The path of an actor at this place.
    pub(crate) fn path(&self, name: &str) -> String {
        format!("supervise://{}/user/{name}", self.node.id())
    }
}

/// What must happen within a minute of the paused clock.
pub(crate) async fn soon<T>(what: impl IntoFuture<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), what.into_future()).await.expect("it happens within a minute")
}

/// Gives back what it gets, and keeps what it is told.
#[derive(Default)]
#[actor]
pub(crate) struct Echo {
    told: Vec<u64>,
}

#[actor(remote)]
impl Echo {
    #[handler]
    fn echo(&mut self, text: String) -> String {
        text
    }

    #[handler]
    fn note(&mut self, number: u64) {
        self.told.push(number);
    }

    #[handler]
    fn noted(&mut self) -> Vec<u64> {
        self.told.clone()
    }
}
