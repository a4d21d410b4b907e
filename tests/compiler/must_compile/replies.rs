//! What a handler may return.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("no")]
struct No;

#[actor]
struct Answers;

#[actor]
impl Answers {
    #[handler]
    fn nothing(&mut self) {}

    #[handler]
    fn unit(&mut self) -> () {}

    #[handler]
    fn tuple(&mut self) -> (u8, [u8; 2]) {
        (1, [2, 3])
    }

    #[handler]
    fn error_as_answer(&mut self) -> Reply<Result<u8, No>> {
        Reply(Err(No))
    }

    #[handler]
    async fn fails(&mut self) -> std::result::Result<Option<u8>, No> {
        Err(No)
    }

    #[handler]
    fn another(&mut self, other: AnswersRef) -> AnswersRef {
        other
    }

    #[handler]
    fn successor(&mut self, next: Self) -> Option<Self> {
        Some(std::mem::replace(self, next))
    }

    #[handler]
    fn text(&mut self, name: &'static str) -> &'static str {
        name
    }

    #[handler]
    fn dynamic(&mut self, job: Box<dyn FnOnce(&u8) -> u8 + Send>) -> u8 {
        job(&1)
    }
}

async fn talk(answers: AnswersRef) -> Result<(), AskError> {
    answers.nothing().await?;
    answers.unit().await?;
    let (_, _): (u8, [u8; 2]) = answers.tuple().await?;
    let _: Result<u8, No> = answers.error_as_answer().await?;
    let _: Option<u8> = answers.fails().await?;
    let again: AnswersRef = answers.another(answers.clone()).await?;
    let _: &'static str = again.text("x").await?;
    Ok(())
}

pub(super) fn main() {}
