//! An actor may spawn actors of its own type, and two actors may hold each other's refs.

use supervise::prelude::*;

#[actor]
struct Directory {
    depth: u8,
}

#[actor]
impl Directory {
    #[handler]
    fn descend(&mut self, ctx: &mut Context<Self>) -> Result<DirectoryRef, SpawnError> {
        let depth = self.depth + 1;
        ctx.spawn(format!("level-{depth}"), move || Directory { depth })
    }

    #[watch]
    fn below_gone(&mut self, _gone: Terminated<Self>) {}
}

#[actor]
struct Ping {
    other: Option<PongRef>,
}

#[actor]
impl Ping {
    #[handler]
    fn meet(&mut self, other: PongRef, ctx: &mut Context<Self>) {
        ctx.watch(&other);
        self.other = Some(other);
    }

    #[watch]
    fn gone(&mut self, _gone: Terminated<Pong>) {}
}

#[actor]
struct Pong(Vec<PingRef>);

#[actor]
impl Pong {
    #[handler]
    fn meet(&mut self, others: Vec<PingRef>, ctx: &mut Context<Self>) {
        for other in &others {
            ctx.death_pact(other);
            let _ = other.meet(ctx.me()).tell();
        }
        self.0 = others;
    }
}

pub(super) fn main() {}
