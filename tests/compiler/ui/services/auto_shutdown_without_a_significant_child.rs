//! `auto_shutdown` where no child is significant: a dead setting.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the step failed")]
struct StepFailed;

#[actor]
struct Step;

#[actor]
impl Step {
    #[handler]
    fn run(&mut self, ctx: &mut Context<Self>) -> Result<(), StepFailed> {
        ctx.stop_self();
        Ok(())
    }
}

#[actor]
#[supervise(one_for_one(auto_shutdown = all_significant), on(StepFailed) = Restart)]
struct Workflow {
    #[child(|_| || Step, restart = temporary)]
    first: Child<Step>,
    #[child(|_| || Step, restart = temporary)]
    second: Child<Step>,
}

#[actor]
impl Workflow {
    #[handler]
    async fn run(&self) -> Result<(), AskError> {
        self.first.actor().run().await?;
        self.second.actor().run().await
    }
}

fn main() {}
