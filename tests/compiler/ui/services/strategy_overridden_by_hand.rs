//! The strategy is overridden in an impl of its own, as Akka's `supervisorStrategy`.

use std::time::Duration;

use supervise::Strategy;
use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("not a whole number: {0}")]
struct Fraction(f64);

#[actor]
struct Adder {
    sum: u64,
}

#[actor]
impl Adder {
    #[handler]
    fn add(&mut self, number: f64) -> Result<u64, Fraction> {
        if number.fract() != 0.0 {
            return Err(Fraction(number));
        }
        self.sum += number as u64;
        Ok(self.sum)
    }
}

#[actor]
struct Accountant {
    #[child(|_| || Adder { sum: 0 })]
    adder: Child<Adder>,
}

impl Supervisor for Accountant {
    const STRATEGY: Strategy = Strategy::one_for_one().max_retries(10).within(Duration::from_secs(60));

    fn decide(failure: &Failure, _child: &ChildInfo) -> Result<Directive, Failure> {
        match failure.downcast_ref::<Fraction>() {
            Some(_) => Ok(Directive::Resume),
            None => Ok(Directive::Escalate),
        }
    }
}

#[actor]
impl Accountant {
    #[handler]
    async fn total(&self, numbers: Vec<f64>) -> Result<u64, AskError> {
        let mut total = 0;
        for number in numbers {
            total = self.adder.actor().add(number).await?;
        }
        Ok(total)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("office");
    let accountant = system.spawn("accountant", || Accountant { adder: Child::default() })?;
    println!("{}", accountant.total(vec![1.0, 2.0]).timeout(Duration::from_secs(1)).await?);
    system.terminate().await;
    Ok(())
}
