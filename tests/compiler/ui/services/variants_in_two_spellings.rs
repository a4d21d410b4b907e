//! Each variant has a rule, but the enum is spelled in two ways.

use supervise::prelude::*;

mod ftp {
    #[derive(Debug, thiserror::Error)]
    pub enum FtpError {
        #[error("the control connection was lost")]
        ControlLost,
        #[error("no such file: {0}")]
        NoSuchFile(String),
    }
}

use ftp::FtpError;

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
    on(ftp::FtpError::ControlLost) = Restart(backoff(min = "200ms", max = "30s", jitter = 0.2)),
    on(FtpError::NoSuchFile(_)) = Resume,
)]
struct Mirror {
    #[child(|_| || Ftp { connected: true })]
    ftp: Child<Ftp>,
}

#[actor]
impl Mirror {
    #[handler]
    async fn mirror(&self, path: String) -> Option<usize> {
        self.ftp.actor().fetch(path).await.ok().map(|file| file.len())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = ActorSystem::new("mirror");
    let mirror = system.spawn("mirror", || Mirror { ftp: Child::default() })?;
    println!("{:?}", mirror.mirror("README".to_owned()).await?);
    system.terminate().await;
    Ok(())
}
