//! A handler answers `ctx.sender()`.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("no translation of {0}")]
struct NoTranslation(String);

#[actor]
struct Dictionary;

#[actor]
impl Dictionary {
    #[handler]
    fn translate(&mut self, word: String, ctx: &mut Context<Self>) -> Result<(), NoTranslation> {
        match word.as_str() {
            "Hund" => ctx.sender().tell("dog".to_owned()),
            "Katze" => ctx.sender().tell("cat".to_owned()),
            _ => return Err(NoTranslation(word)),
        }
        Ok(())
    }
}

#[actor]
#[supervise(one_for_one, on(NoTranslation) = Resume)]
struct Library {
    #[child(|_| || Dictionary)]
    dictionary: Child<Dictionary>,
}

#[actor]
impl Library {
    #[handler]
    async fn look_up(&self, word: String) -> Option<()> {
        self.dictionary.actor().translate(word).await.ok()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("library");
    let library = system.spawn("library", || Library { dictionary: Child::default() })?;
    println!("{:?}", library.look_up("Hund".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
