//! The risky part: one question to the feed server over TCP, and everything that can go wrong with it.
//!
//! This module does not decide what to do about a failure; the table of [`Standings`](crate::standings::Standings) does.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufStream};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::protocol::Question;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_millis(250);

/// How often a feed asks one question before it gives up. These attempts together take longer than an outage of the server.
const ATTEMPTS: u32 = 15;

/// Why a feed has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FeedError {
    /// The connection is useless now: it may still deliver this answer, as the answer to a later question.
    #[error("no answer within {waited:?}")]
    Timeout { waited: Duration },
    /// The connection was closed, or could not be opened.
    #[error("no connection: {0}")]
    Io(#[from] io::Error),
    /// The connection ended in the middle of the answer.
    #[error("the answer was cut off after {received} bytes")]
    Cut { received: usize },
    /// The answer is one line, but makes no sense. The connection itself still works.
    #[error("the answer makes no sense: {0}")]
    Malformed(#[from] serde_json::Error),
    /// The answer belongs to another question.
    #[error("the answer is about something else than `{question}`")]
    OutOfStep { question: Question },
    /// The feed has tried often enough.
    #[error("given up after {attempts} attempts, the last one: {last}")]
    GivenUp { attempts: u32, last: Box<FeedError> },
}

impl FeedError {
    /// This failure at the given attempt, counted from 1.
    pub(crate) fn at_attempt(self, attempt: u32) -> Self {
        if attempt < ATTEMPTS { self } else { Self::GivenUp { attempts: attempt, last: Box::new(self) } }
    }

    /// The kind of failure in a few words, for counting.
    pub(crate) fn cause(&self) -> &'static str {
        match self {
            Self::Timeout { .. } => "no answer in time",
            Self::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => "connection refused",
            Self::Io(_) => "connection closed",
            Self::Cut { .. } => "answer cut off",
            Self::Malformed(_) => "answer is garbage",
            Self::OutOfStep { .. } => "answer to another question",
            Self::GivenUp { .. } => "feed gave up",
        }
    }
}

/// A connection to the feed server.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: BufStream<TcpStream>,
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    ///
    /// [`FeedError::Io`] and [`FeedError::Timeout`].
    pub(crate) async fn open(server: SocketAddr) -> Result<Self, FeedError> {
        let stream = in_time(async { Ok(TcpStream::connect(server).await?) }).await?;
        // While the server is down, the kernel may pick its free port for our end and connect us to ourselves.
        if stream.local_addr()? == server {
            return Err(io::Error::from(io::ErrorKind::ConnectionRefused).into());
        }
        Ok(Self { stream: BufStream::new(stream) })
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    ///
    /// After [`FeedError::Malformed`] the connection can still be used. After any other failure it cannot.
    pub(crate) async fn ask<T: DeserializeOwned>(&mut self, question: Question) -> Result<T, FeedError> {
        let line = in_time(async {
            self.stream.write_all(format!("{question}\n").as_bytes()).await?;
            self.stream.flush().await?;
            let mut line = Vec::new();
            let received = self.stream.read_until(b'\n', &mut line).await?;
            match line.last() {
                Some(b'\n') => Ok(line),
                Some(_) => Err(FeedError::Cut { received }),
                None => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server hung up").into()),
            }
        })
        .await?;
        Ok(serde_json::from_slice(&line)?)
    }
}

async fn in_time<T>(work: impl Future<Output = Result<T, FeedError>>) -> Result<T, FeedError> {
    timeout(PATIENCE, work).await.unwrap_or(Err(FeedError::Timeout { waited: PATIENCE }))
}
