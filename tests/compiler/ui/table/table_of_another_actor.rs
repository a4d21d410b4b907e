//! A queue uses the table of another actor, which has no permanent children. Nobody would decide what the table escalates when a permanent child of the queue ends.

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
#[supervise(one_for_one(max_retries = 3, on_limit = Escalate), on(JobFailed) = Restart)]
struct Mail;

#[actor]
impl Mail {}

#[actor]
#[supervise(table = Mail)]
struct Queue {
    #[child(|_| || Consumer, restart = permanent)]
    consumer: Child<Consumer>,
}

#[actor]
impl Queue {}

#[actor]
#[supervise(one_for_one, on(JobFailed | PermanentEnded) = Stop, on(InitializationFailed) = Stop)]
struct Broker {
    #[child(|_| || Queue { consumer: Child::default() })]
    queue: Child<Queue>,
}

#[actor]
impl Broker {}

fn main() {}
