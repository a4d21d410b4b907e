//! A child is spawned without a name.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("{0} is not a number")]
struct NotANumber(String);

#[actor]
struct Parser;

#[actor]
impl Parser {
    #[handler]
    fn parse(&mut self, text: String) -> Result<i64, NotANumber> {
        text.parse().map_err(|_| NotANumber(text))
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3), on(NotANumber) = Resume)]
struct Calculator {
    parsers: Vec<ParserRef>,
}

#[actor]
impl Calculator {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        for _ in 0..4 {
            self.parsers.push(ctx.spawn(|| Parser)?);
        }
        Ok(())
    }

    #[handler]
    async fn sum(&mut self, numbers: Vec<String>) -> Result<i64, AskError> {
        let mut sum = 0;
        for (text, parser) in numbers.into_iter().zip(self.parsers.iter().cycle()) {
            sum += parser.parse(text).await?;
        }
        Ok(sum)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("sums");
    let calculator = system.spawn("calculator", || Calculator { parsers: Vec::new() })?;
    println!("{}", calculator.sum(vec!["1".to_owned(), "2".to_owned()]).await?);
    system.terminate().await;
    Ok(())
}
