//! A child fails, and its parent restarts it as its table says. The README begins with the same program.

use std::io::Error as IoError;

use supervise::prelude::*;

#[actor]
struct Reader {
    lines: u32,
}

#[actor]
impl Reader {
    /// Reads the next line. The disk fails at the third one.
    #[handler]
    fn next_line(&mut self) -> Result<u32, IoError> {
        self.lines += 1;
        if self.lines == 3 { Err(IoError::other("the disk is gone")) } else { Ok(self.lines) }
    }
}

#[actor]
#[supervise(one_for_one(max_retries = 10, within = "60s"), on(IoError) = Restart, on(_) = Escalate)]
struct Library {
    #[child(|_| || Reader { lines: 0 })]
    reader: Child<Reader>,
}

#[actor]
impl Library {
    #[handler]
    async fn read(&self) {
        for _ in 0..5 {
            println!("{:?}", self.reader.actor().next_line().await.map_err(|error| error.to_string()));
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("demo");
    let library = system.spawn("library", || Library { reader: Child::default() })?;
    library.read().await?;
    system.terminate().await;
    Ok(system.when_terminated().await?)
}
