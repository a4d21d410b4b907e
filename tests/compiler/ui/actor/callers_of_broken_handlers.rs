//! Mistakes in handlers are not reported at the code that uses the actor.

use std::fmt::Display;

use supervise::prelude::*;

#[actor]
struct Feed {
    name: String,
}

#[actor]
impl Feed {
    #[handler]
    fn name(&self) -> &str {
        &self.name
    }

    #[handler]
    fn find(&self, pattern: &str) -> Option<&str> {
        self.name.matches(pattern).next()
    }

    #[handler]
    fn rename(&mut self, name: impl Into<String>) -> Result<&str, std::num::ParseIntError> {
        self.name = name.into();
        Ok(&self.name)
    }

    #[handler]
    fn letters(&self) -> impl Iterator<Item = char> {
        self.name.chars()
    }

    #[handler]
    fn print<T: Display>(&mut self, value: T) -> T {
        value
    }

    #[handler]
    fn add(&mut self, (a, b): (u64, u64), _: u64) -> u64 {
        a + b
    }

    #[handler]
    fn close(self) -> String {
        self.name
    }

    #[watch]
    fn gone(&mut self, other: &Terminated<Other>) {
        let _ = other;
    }
}

#[actor]
struct Other;

#[actor]
impl Other {
    #[handler]
    fn length(&self) -> usize {
        0
    }
}

/// Decides what the handlers fail with once they are mended.
#[actor]
#[supervise(on(std::num::ParseIntError) = Stop)]
struct Parent {
    #[child(|_| || Feed { name: String::new() })]
    feed: Child<Feed>,
}

#[actor]
impl Parent {
    #[handler]
    async fn length(&self) -> Result<usize, std::io::Error> {
        let feed = self.feed.actor();
        let name = feed.name().await.unwrap_or_default();
        let found: Option<String> = feed.find("a").await.unwrap_or_default();
        Ok(name.len() + found.map_or(0, |found| found.len()))
    }
}

async fn callers(feed: FeedRef) -> Result<(), AskError> {
    let name: String = feed.name().await?;
    println!("{}", name.to_uppercase());
    if let Some(found) = feed.find(&name).await? {
        println!("{found}");
    }
    let renamed = feed.rename("world cup".to_owned()).await?;
    println!("{}", renamed.trim());
    for letter in feed.letters().await? {
        println!("{}", letter.is_alphabetic());
    }
    let printed: u8 = feed.print(1_u8).await?;
    let sum = feed.add((1, 2), 3).await? + u64::from(printed);
    println!("{sum} {}", feed.close().await?.len());
    Ok(())
}

fn main() {}
