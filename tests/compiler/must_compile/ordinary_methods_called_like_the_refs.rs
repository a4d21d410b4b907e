//! Methods of an actor that are not handlers, and methods of its ref under the same names: inherent ones and those of a trait.

use supervise::prelude::*;

#[actor]
pub struct Counter<T: Clone + Send + Sync + 'static> {
    count: u64,
    last: Option<T>,
}

#[actor]
impl<T: Clone + Send + Sync + 'static> Counter<T> {
    #[handler]
    fn add(&mut self, number: u64, last: T) -> u64 {
        self.count += number;
        self.last = Some(last);
        self.system().max(self.clone())
    }

    fn total(&self) -> u64 {
        self.count
    }

    #[cfg(unix)]
    fn system(&self) -> u64 {
        self.total()
    }

    #[cfg(not(unix))]
    fn system(&self) -> u64 {
        self.count
    }

    fn clone(&self) -> u64 {
        self.count
    }

    fn actor_ref(&mut self) {
        self.count = 0;
    }

    fn tell(&mut self, number: u64) -> u64 {
        self.actor_ref();
        number
    }

    #[handler]
    async fn reset(&mut self) -> u64 {
        let number = self.count;
        let told = self.tell(number);
        self.plus_one(told).await
    }

    async fn plus_one(&self, number: u64) -> u64 {
        number + 1
    }
}

impl<T: Clone + Send + Sync + 'static> CounterRef<T> {
    async fn total(&self, last: T) -> Result<u64, AskError> {
        self.add(0, last).await
    }
}

trait PlusOne {
    fn plus_one(&self) -> u64;
}

impl PlusOne for CounterRef<u8> {
    fn plus_one(&self) -> u64 {
        1
    }
}

#[tokio::main]
pub(super) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("count");
    let counter = system.spawn("counter", || Counter { count: 0, last: None::<u8> })?;
    let same = counter.clone();
    same.tell(CounterMessage::Reset)?;
    println!("{} {} {}", counter.total(1).await?, same.plus_one(), same.actor_ref().has_ended());
    system.terminate().await;
    Ok(())
}
