//! A handler replies with a boxed future, as desugared `async_trait` code does.

use std::future::Future;
use std::pin::Pin;

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("no geocode for {0}")]
struct Unknown(String);

#[actor]
struct Geocoder;

#[actor]
impl Geocoder {
    #[handler]
    fn locate(&mut self, town: String) -> Pin<Box<dyn Future<Output = Result<(f64, f64), Unknown>> + Send>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            if town == "Ulm" { Ok((48.4, 9.99)) } else { Err(Unknown(town)) }
        })
    }
}

#[actor]
#[supervise(one_for_one, on(Unknown) = Restart)]
struct Maps {
    #[child(|_| || Geocoder)]
    geocoder: Child<Geocoder>,
}

#[actor]
impl Maps {
    #[handler]
    async fn locate(&self, town: String) -> Result<Option<f64>, AskError> {
        Ok(self.geocoder.actor().locate(town).await?.await.ok().map(|(latitude, _)| latitude))
    }
}

fn main() {}
