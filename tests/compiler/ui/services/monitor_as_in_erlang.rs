//! `monitor`, from `Process.monitor`, and a hook of `GenServer`.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the journal is full")]
struct Full;

#[actor]
struct Journal {
    lines: Vec<String>,
}

#[actor]
impl Journal {
    #[handler]
    fn write(&mut self, line: String) -> Result<(), Full> {
        if self.lines.len() == 1000 {
            return Err(Full);
        }
        self.lines.push(line);
        Ok(())
    }
}

#[actor]
struct Auditor {
    journal: JournalRef,
    lost: u32,
}

#[actor]
impl Auditor {
    fn handle_continue(&mut self, ctx: &mut Context<Self>) {
        ctx.monitor(&self.journal);
    }

    #[watch]
    fn down(&mut self, _gone: Terminated<Journal>) {
        self.lost += 1;
    }
}

#[actor]
#[supervise(rest_for_one, max_restarts = 3, on(Full) = Restart)]
struct Records {
    #[child(|_| || Journal { lines: Vec::new() })]
    journal: Child<Journal>,
}

#[actor]
impl Records {}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("records");
    system.spawn("records", || Records { journal: Child::default() })?;
    system.terminate().await;
    Ok(())
}
