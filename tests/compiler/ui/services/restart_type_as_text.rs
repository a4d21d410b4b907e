//! A child's restart type is a text, as in a child specification of Elixir.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("cannot parse {0}")]
struct Unparsable(String);

#[actor]
struct Listener {
    seen: usize,
}

#[actor]
impl Listener {
    #[handler]
    fn hear(&mut self, line: String) -> Result<usize, Unparsable> {
        if line.is_empty() {
            return Err(Unparsable(line));
        }
        self.seen += 1;
        Ok(self.seen)
    }
}

#[actor]
struct Archive {
    lines: Vec<String>,
}

#[actor]
impl Archive {
    #[handler]
    fn keep(&mut self, line: String) {
        self.lines.push(line);
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 3, within = "5s"), on(Unparsable) = Restart)]
struct Bot {
    #[child(|_| || Archive { lines: Vec::new() }, restart = "permanent")]
    archive: Child<Archive>,
    #[child(|_| || Listener { seen: 0 }, stop_timeout = "2s")]
    listener: Child<Listener>,
}

#[actor]
impl Bot {
    #[handler]
    async fn hear(&self, line: String) -> Result<usize, AskError> {
        self.archive.actor().keep(line.clone()).await?;
        self.listener.actor().hear(line).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("irc");
    let bot = system.spawn("bot", || Bot { archive: Child::default(), listener: Child::default() })?;
    println!("{}", bot.hear("hello".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
