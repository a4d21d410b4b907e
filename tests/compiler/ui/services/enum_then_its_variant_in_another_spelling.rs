//! A rule for all of an enum, and later one for a variant of it through an alias: the second is dead.

use supervise::prelude::*;

#[derive(Debug, thiserror::Error)]
enum FtpError {
    #[error("the control connection was lost")]
    ControlLost,
    #[error("no such file: {0}")]
    NoSuchFile(String),
}

use FtpError as Error;

#[actor]
struct Ftp;

#[actor]
impl Ftp {
    #[handler]
    fn fetch(&mut self, path: String) -> Result<Vec<u8>, FtpError> {
        if path.is_empty() { Err(FtpError::ControlLost) } else { Err(FtpError::NoSuchFile(path)) }
    }
}

#[actor]
#[supervise(one_for_one, on(FtpError) = Restart, on(Error::NoSuchFile(_)) = Resume, on(_) = Stop)]
struct Mirror {
    #[child(|_| || Ftp)]
    ftp: Child<Ftp>,
}

#[actor]
impl Mirror {
    #[handler]
    async fn mirror(&self, path: String) -> bool {
        self.ftp.actor().fetch(path).await.is_ok()
    }
}

fn main() {}
