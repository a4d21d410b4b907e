//! Two actors of one name in different modules; private types; refs with the visibility of their actor.

mod one {
    use supervise::{actor, supervise};

    #[derive(Debug)]
    pub(super) struct Secret;

    #[actor]
    #[supervise(on(_) = Stop)]
    pub(super) struct Worker;

    #[actor]
    impl Worker {
        #[handler]
        fn work(&mut self, secret: Secret) -> Secret {
            secret
        }
    }
}

mod two {
    use supervise::actor;

    struct Secret;

    #[actor]
    pub struct Worker;

    #[actor]
    impl Worker {
        #[handler]
        fn work(&mut self, ctx: &mut supervise::Context<Self>) {
            let _ = ctx.me().actor_ref().path();
        }
    }

    pub(crate) mod three {
        #[supervise::actor]
        impl super::super::Elsewhere {
            #[handler]
            fn work(&mut self) {
                let _ = super::Secret;
            }
        }
    }
}

#[supervise::actor]
struct Elsewhere;

async fn talk(one: one::WorkerRef, two: two::WorkerRef, elsewhere: ElsewhereRef) {
    let _ = one.work(one::Secret).await;
    let _ = two.work().await;
    let _ = elsewhere.work().await;
}

pub(super) fn main() {}
