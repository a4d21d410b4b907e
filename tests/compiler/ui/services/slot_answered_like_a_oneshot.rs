//! A deferred reply is sent as through a channel of tokio's.

use std::collections::VecDeque;

use supervise::prelude::*;

#[actor]
struct Permits {
    free: u32,
    waiting: VecDeque<ReplyTo<u32>>,
}

#[actor]
impl Permits {
    #[handler]
    fn acquire(&mut self, reply: ReplyTo<u32>) {
        if self.free == 0 {
            self.waiting.push_back(reply);
            return;
        }
        self.free -= 1;
        let _ = reply.send(self.free);
    }

    #[handler]
    fn release(&mut self) {
        self.free += 1;
        if let Some(next) = self.waiting.pop_front() {
            self.free -= 1;
            next.answer(self.free);
        }
    }
}

#[actor]
struct Downloads {
    #[child(|_| || Permits { free: 2, waiting: VecDeque::new() })]
    permits: Child<Permits>,
}

#[actor]
impl Downloads {
    #[handler]
    async fn begin(&self) -> Result<u32, AskError> {
        self.permits.actor().acquire().await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("downloads");
    println!("{}", system.spawn("downloads", || Downloads { permits: Child::default() })?.begin().await?);
    system.terminate().await;
    Ok(())
}
