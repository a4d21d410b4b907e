//! Messages, replies and errors may be private, whatever the visibility of the actor.

use supervise::prelude::*;

mod store {
    use supervise::prelude::*;

    #[derive(Debug, thiserror::Error)]
    #[error("full")]
    struct Full;

    struct Row;

    #[actor]
    pub struct Store;

    #[actor]
    impl Store {
        #[handler]
        fn insert(&mut self, row: Row) -> Result<usize, Full> {
            drop(row);
            Err(Full)
        }

        /// The one thing that others can ask for.
        #[handler]
        fn len(&self) -> usize {
            0
        }
    }

    #[actor]
    #[supervise(on(Full) = Stop)]
    pub(crate) struct Owner;

    #[actor]
    impl Owner {
        #[handler]
        async fn run(&mut self, ctx: &mut Context<Self>) {
            if let Ok(store) = ctx.spawn("store", || Store) {
                let _ = store.insert(Row).await;
            }
        }
    }
}

pub async fn talk(store: store::StoreRef) -> Result<usize, AskError> {
    store.len().await
}

pub fn start(system: &ActorSystem) {
    let _ = system.spawn("owner", || store::Owner).map(|owner| owner.run().tell());
}

pub(super) fn main() {}
