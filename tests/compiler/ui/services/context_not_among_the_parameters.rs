//! A handler uses the context without taking it.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
#[error("the upload is too large")]
struct TooLarge;

#[actor]
struct Upload {
    bytes: usize,
}

#[actor]
impl Upload {
    #[handler]
    fn chunk(&mut self, bytes: Vec<u8>) -> Result<usize, TooLarge> {
        self.bytes += bytes.len();
        if self.bytes > 1_000_000 { Err(TooLarge) } else { Ok(self.bytes) }
    }
}

#[actor]
#[supervise(one_for_one, on(TooLarge) = Stop)]
struct Uploads {
    begun: u64,
}

#[actor]
impl Uploads {
    #[handler]
    fn begin(&mut self) -> Result<UploadRef, SpawnError> {
        self.begun += 1;
        let upload = ctx.spawn(format!("upload-{}", self.begun), || Upload { bytes: 0 })?;
        ctx.watch(&upload);
        Ok(upload)
    }

    #[watch]
    fn ended(&mut self, gone: Terminated<Upload>) {
        println!("{} ended", gone.path());
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("cloud");
    let upload = system.spawn("uploads", || Uploads { begun: 0 })?.begin().await?;
    println!("{}", upload.chunk(vec![0; 100]).await?);
    system.terminate().await;
    Ok(())
}
