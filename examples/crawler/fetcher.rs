//! The first stage: reads a page from the site and hands it to the parser. A restart is a new connection.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use supervise::prelude::*;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufStream};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::parser::{Page, ParserRef};
use crate::site::PageId;

const PATIENCE: Duration = Duration::from_millis(200);
const LONGEST: usize = 100_000;

/// Why a page was not read. It names the page, so that everybody who gets the failure knows which page it is about.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("page {0} is gone")]
    Gone(PageId),
    #[error("page {page}: {source}")]
    Io { page: PageId, source: io::Error },
}

#[actor(mailbox = bounded(16))]
pub(crate) struct Fetcher {
    site: SocketAddr,
    parser: ParserRef,
    /// The first page opens it.
    connection: Option<BufStream<TcpStream>>,
}

impl Fetcher {
    pub(crate) fn new(site: SocketAddr, parser: ParserRef) -> Self {
        Self { site, parser, connection: None }
    }

    /// Reads the text of a page. `None`: the site does not have the page.
    async fn read(&mut self, page: PageId) -> io::Result<Option<String>> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(BufStream::new(TcpStream::connect(self.site).await?)),
        };
        connection.write_all(format!("{page}\n").as_bytes()).await?;
        connection.flush().await?;
        let mut line = String::new();
        if connection.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if line == "gone\n" {
            return Ok(None);
        }
        let length: usize = line.trim().parse().map_err(io::Error::other)?;
        if length > LONGEST {
            return Err(io::Error::other("too long"));
        }
        let mut text = vec![0; length];
        connection.read_exact(&mut text).await?;
        String::from_utf8(text).map(Some).map_err(io::Error::other)
    }
}

#[actor]
impl Fetcher {
    /// The index answers, because each stage passes the asker's reply slot on.
    #[handler(redeliver = 3)]
    async fn fetch(&mut self, page: PageId, reply: ReplyTo<Vec<PageId>>) -> Result<(), FetchError> {
        let read =
            timeout(PATIENCE, self.read(page)).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let text = read.map_err(|source| FetchError::Io { page, source })?.ok_or(FetchError::Gone(page))?;
        self.parser.parse(Page { id: page, text }).reply_to(reply);
        Ok(())
    }
}
