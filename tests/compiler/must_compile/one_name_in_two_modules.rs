//! Two actors of one name, in modules of their own and in a function.

use supervise::prelude::*;

mod north {
    use supervise::prelude::*;

    #[actor]
    pub struct Gate;

    #[actor]
    impl Gate {
        #[handler]
        fn open(&mut self) -> u8 {
            1
        }
    }
}

mod south {
    use supervise::prelude::*;

    #[actor]
    #[supervise(on(_) = Restart)]
    pub struct Gate;

    #[actor]
    impl Gate {
        #[handler]
        fn open(&mut self, north: super::north::GateRef, ctx: &mut Context<Self>) {
            ctx.watch(&north);
        }

        #[watch]
        fn north_gone(&mut self, _gone: Terminated<super::north::Gate>) {}

        #[watch]
        fn south_gone(&mut self, _gone: Terminated<Gate>) {}
    }
}

fn inside_a_function() {
    #[actor]
    struct Gate;

    #[actor]
    impl Gate {
        #[handler]
        fn close(&mut self) {}
    }

    let system = ActorSystem::builder("gates");
    let _ = (system, |gate: GateRef| gate.close().tell());
}

async fn talk(north: north::GateRef, south: south::GateRef) {
    let _ = south.open(north).await;
}

pub(super) fn main() {
    let _ = inside_a_function;
    let _ = talk;
}
