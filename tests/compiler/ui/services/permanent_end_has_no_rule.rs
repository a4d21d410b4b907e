//! A permanent child may end by itself, which nothing in the table decides.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the job failed")]
struct JobFailed;

#[actor]
struct Consumer;

#[actor]
impl Consumer {
    #[handler]
    fn consume(&mut self, job: u32, ctx: &mut Context<Self>) -> Result<(), JobFailed> {
        if job == 0 {
            ctx.stop_self();
        }
        if job == 13 { Err(JobFailed) } else { Ok(()) }
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3, within = "1m", on_limit = Escalate), on(JobFailed) = Restart)]
struct Queue {
    #[child(|_| || Consumer, restart = permanent)]
    consumer: Child<Consumer>,
}

#[actor]
impl Queue {}

#[actor]
#[supervise(one_for_one, on(JobFailed) = Stop, on(InitializationFailed) = Stop)]
struct Broker {
    #[child(|_| || Queue { consumer: Child::default() })]
    queue: Child<Queue>,
}

#[actor]
impl Broker {}

fn main() {}
