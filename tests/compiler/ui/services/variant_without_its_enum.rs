//! Rules name an enum's variants alone.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
enum FtpError {
    #[error("the control connection was lost")]
    ControlLost,
    #[error("no such file: {0}")]
    NoSuchFile(String),
}

#[actor]
struct Ftp {
    connected: bool,
}

#[actor]
impl Ftp {
    #[handler]
    async fn fetch(&mut self, path: String) -> Result<Vec<u8>, FtpError> {
        tokio::task::yield_now().await;
        if !self.connected {
            return Err(FtpError::ControlLost);
        }
        if path.is_empty() { Err(FtpError::NoSuchFile(path)) } else { Ok(path.into_bytes()) }
    }
}

#[actor]
#[supervise(
    one_for_one(max_retries = 5, within = "1m"),
    on(ControlLost) = Restart(backoff(min = "200ms", max = "30s", jitter = 0.2)),
    on(NoSuchFile(_)) = Resume,
)]
struct Mirror {
    #[child(|_| || Ftp { connected: true })]
    ftp: Child<Ftp>,
}

#[actor]
impl Mirror {
    #[handler]
    async fn mirror(&self, paths: Vec<String>) -> usize {
        let mut bytes = 0;
        for path in paths {
            bytes += self.ftp.actor().fetch(path).await.map_or(0, |file| file.len());
        }
        bytes
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("mirror");
    let mirror = system.spawn("mirror", || Mirror { ftp: Child::default() })?;
    println!("{}", mirror.mirror(vec!["README".to_owned()]).await?);
    system.terminate().await;
    Ok(())
}
