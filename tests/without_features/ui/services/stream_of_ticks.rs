//! An actor attaches streams, whose feature is off.

use supervise::prelude::*;

#[derive(Debug)]
struct Broken;

#[actor]
struct Meter {
    sum: u64,
}

#[actor]
impl Meter {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) {
        let numbers = ctx.attach(tokio_stream::iter([1, 2, 3]), |me, number| me.add(number));
        ctx.at_end(numbers, |me| me.add(100));
        ctx.try_attach(tokio_stream::iter([Ok(1), Err(Broken)]), |me, number| me.add(number));
    }

    #[handler]
    fn add(&mut self, number: u64) -> u64 {
        self.sum += number;
        self.sum
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("meter");
    println!("{}", system.spawn("meter", || Meter { sum: 0 })?.add(1).await?);
    system.terminate().await;
    Ok(())
}
