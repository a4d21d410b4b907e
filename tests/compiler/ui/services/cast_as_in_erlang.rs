//! A ref is sent something with `cast`, as in `gen_server` and ractor.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the metric {0} is unknown")]
struct UnknownMetric(String);

#[actor]
struct Metrics {
    requests: u64,
}

#[actor]
impl Metrics {
    #[handler]
    fn count(&mut self, metric: String) -> Result<u64, UnknownMetric> {
        if metric != "requests" {
            return Err(UnknownMetric(metric));
        }
        self.requests += 1;
        Ok(self.requests)
    }
}

#[actor]
#[supervise(one_for_one, on(UnknownMetric) = Resume)]
struct Web {
    #[child(|_| || Metrics { requests: 0 })]
    metrics: Child<Metrics>,
}

#[actor]
impl Web {
    #[handler]
    fn serve(&mut self, path: String) -> String {
        if self.metrics.actor().cast("requests".to_owned()).is_err() {
            return "503".to_owned();
        }
        format!("200 {path}")
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("web");
    let web = system.spawn("web", || Web { metrics: Child::default() })?;
    println!("{}", web.serve("/".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
