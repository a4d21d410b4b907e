//! A rule for panics names the payload's type rather than `Panic`.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("no more samples")]
struct NoSamples;

#[actor]
struct Model {
    weights: Vec<f64>,
}

#[actor]
impl Model {
    #[handler]
    fn predict(&mut self, sample: usize) -> Result<f64, NoSamples> {
        if self.weights.is_empty() { Err(NoSamples) } else { Ok(self.weights[sample]) }
    }
}

#[actor]
#[supervise(
    one_for_one(max_retries = 2, within = "10s"),
    on(NoSamples) = Stop,
    on(Box<dyn std::any::Any + Send>) = Restart,
)]
struct Lab {
    #[child(|_| || Model { weights: vec![0.5, 0.25] })]
    model: Child<Model>,
}

#[actor]
impl Lab {
    #[handler]
    async fn predict(&self, sample: usize) -> Result<f64, AskError> {
        self.model.actor().predict(sample).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("lab");
    let lab = system.spawn("lab", || Lab { model: Child::default() })?;
    println!("{}", lab.predict(1).await?);
    system.terminate().await;
    Ok(())
}
