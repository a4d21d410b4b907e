//! Timers and a watch get a closure in place of a message.

use std::time::Duration;

use supervise::prelude::*;

#[actor]
struct Sensor;

#[actor]
impl Sensor {}

#[actor]
struct Heating {
    is_on: bool,
}

#[actor]
impl Heating {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        let me = ctx.me();
        ctx.start_timer("again", Duration::from_secs(60), move || me.check());
        ctx.start_timer("off", Duration::from_secs(3600), |heating| heating.is_on = false);
        let (sensor, me) = (ctx.spawn("sensor", || Sensor)?, ctx.me());
        let _ = ctx.watch_with(&sensor, move || me.check());
        Ok(())
    }

    #[handler]
    fn check(&mut self) {
        self.is_on = !self.is_on;
    }
}

fn main() {}
