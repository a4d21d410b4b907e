//! A handler that borrows for a lifetime of its own.

use std::collections::HashMap;

use supervise::prelude::*;

#[actor]
struct Index {
    words: HashMap<String, usize>,
}

#[actor]
impl Index {
    #[handler]
    fn add<'a>(&mut self, words: Vec<&'a str>) -> usize {
        for word in words {
            *self.words.entry(word.to_owned()).or_default() += 1;
        }
        self.words.len()
    }

    #[handler]
    fn count(&self, word: String) -> usize {
        self.words.get(&word).copied().unwrap_or(0)
    }
}

#[actor]
#[supervise(one_for_one, on(Panic) = Restart)]
struct Crawler {
    #[child(|_| || Index { words: HashMap::new() })]
    index: Child<Index>,
}

#[actor]
impl Crawler {
    #[handler]
    async fn crawl(&self, page: String) -> Result<usize, AskError> {
        let words = page.split_whitespace().collect();
        self.index.actor().add(words).await
    }

    #[handler]
    async fn how_often(&self, word: String) -> Result<usize, AskError> {
        self.index.actor().count(word).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("search");
    let crawler = system.spawn("crawler", || Crawler { index: Child::default() })?;
    println!("{}", crawler.crawl("to be or not to be".to_owned()).await?);
    println!("{}", crawler.how_often("be".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
