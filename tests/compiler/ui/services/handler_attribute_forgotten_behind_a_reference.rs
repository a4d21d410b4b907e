//! A method without `#[handler]` is called through a borrowed ref, and one of the methods waits for nothing.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("{0} is too long")]
pub struct TooLong(String);

#[actor]
pub struct Journal {
    lines: Vec<String>,
}

#[actor]
impl Journal {
    #[handler]
    fn append(&mut self, line: String) -> Result<usize, TooLong> {
        if line.len() > 80 {
            return Err(TooLong(line));
        }
        self.lines.push(line);
        Ok(self.lines.len())
    }

    pub fn len(&self) -> usize {
        self.lines.len()
    }
}

#[actor]
#[supervise(one_for_one, on(TooLong) = Resume)]
struct Desk {
    #[child(|_| || Journal { lines: Vec::new() })]
    journal: Child<Journal>,
}

#[actor]
impl Desk {
    #[handler]
    async fn note(&mut self, line: String) -> Result<usize, AskError> {
        write(&self.journal.actor(), line).await
    }
}

async fn write(journal: &JournalRef, line: String) -> Result<usize, AskError> {
    journal.append(line).await?;
    journal.len().await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("desk");
    println!("{}", system.spawn("desk", || Desk { journal: Child::default() })?.note("a".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
