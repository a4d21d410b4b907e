//! Timers carry requests to oneself.

use supervise::prelude::*;

use std::time::Duration;

#[actor(mailbox = unbounded)]
struct Poller;

#[actor]
impl Poller {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) {
        let me = ctx.me();
        ctx.start_timer("once", Duration::from_secs(1), me.poll(1));
        ctx.start_timer(String::from("owned"), Duration::from_secs(1), me.poll(2));
        let every = me.clone();
        ctx.start_periodic_timer("often", Duration::from_secs(1), move || every.poll(3).into_message());
        ctx.set_receive_timeout(Duration::from_secs(60), move || me.poll(4).into_message());
    }

    #[handler(not_influencing)]
    fn poll(&mut self, number: u8, ctx: &mut Context<Self>) -> bool {
        ctx.cancel_timer("once");
        ctx.cancel_receive_timeout();
        ctx.is_timer_active("often") && number > 0
    }
}

pub(super) fn main() {}
