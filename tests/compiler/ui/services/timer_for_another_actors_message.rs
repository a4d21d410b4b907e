//! A timer is given the message of another actor.

use std::time::Duration;

use supervise::prelude::*;

#[actor]
struct Lamp;

#[actor]
impl Lamp {
    #[handler]
    fn blink(&mut self) {}
}

#[actor]
struct Switch {
    lamp: LampRef,
}

#[actor]
impl Switch {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) {
        ctx.start_timer("once", Duration::from_secs(1), self.lamp.blink());
        ctx.start_periodic_timer("often", Duration::from_secs(1), || LampMessage::Blink);
    }
}

fn main() {}
