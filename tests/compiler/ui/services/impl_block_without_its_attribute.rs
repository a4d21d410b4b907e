//! The impl block that holds the handlers has no `#[actor]`.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("{0} was asked twice")]
struct AskedTwice(u32);

#[actor]
struct Quiz {
    asked: Vec<u32>,
}

impl Quiz {
    #[handler]
    fn question(&mut self, number: u32) -> Result<String, AskedTwice> {
        if self.asked.contains(&number) {
            return Err(AskedTwice(number));
        }
        self.asked.push(number);
        Ok(format!("question {number}"))
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 1), on(AskedTwice) = Resume)]
struct Show;

#[actor]
impl Show {
    #[handler]
    async fn begin(&mut self, ctx: &mut Context<Self>) -> Result<QuizRef, SpawnError> {
        ctx.spawn("quiz", || Quiz { asked: Vec::new() })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("tv");
    let quiz = system.spawn("show", || Show)?.begin().await?;
    println!("{}", quiz.question(1).await?);
    system.terminate().await;
    Ok(())
}
