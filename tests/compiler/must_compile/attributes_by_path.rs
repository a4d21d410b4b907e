//! The attributes work by their full path, without any import.

#[supervise::actor]
#[supervise::supervise(on(_) = Stop)]
struct First;

#[supervise::actor]
impl First {
    #[handler]
    fn run(&mut self, ctx: &mut supervise::Context<Self>) {
        ctx.stop_self();
    }
}

#[::supervise::supervise(on(_) = Stop)]
#[::supervise::actor]
struct Second;

#[::supervise::actor]
impl Second {
    #[watch]
    fn gone(&mut self, gone: supervise::Terminated<First>) {
        let _ = gone.path();
    }
}

pub(super) fn main() {}
