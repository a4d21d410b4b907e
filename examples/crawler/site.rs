//! The site. The seed decides what is on a page, and whether a request goes wrong.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// How long an answer takes.
const LATENCY: Duration = Duration::from_millis(10);

/// The number of a page. Page 0 is the first one.
pub(crate) type PageId = u32;

/// What a page is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Good,
    /// The parser fails on it.
    Poison,
    /// The server never serves it.
    Gone,
}

/// Bad pages are spread evenly.
pub(crate) fn kind(page: PageId) -> Kind {
    match page % 100 {
        37 => Kind::Poison,
        83 => Kind::Gone,
        _ => Kind::Good,
    }
}

/// The pages of a site.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site {
    pub(crate) pages: PageId,
    pub(crate) faults: u8,
    pub(crate) seed: u64,
}

impl Site {
    /// Every page is linked from page 0 over good pages only.
    fn links(self, page: PageId) -> Vec<PageId> {
        let mut random = self.random(page, 0);
        let onward = (1..=100).map(|step| page + step).find(|next| kind(*next) == Kind::Good);
        let beside = [page + 1, page + 2];
        let anywhere = random.u32(0..self.pages);
        onward.into_iter().chain(beside).chain([anywhere]).filter(|next| *next < self.pages).collect()
    }

    pub(crate) fn words(self, page: PageId) -> Vec<String> {
        let mut random = self.random(page, 1);
        (0..random.u32(20..60)).map(|_| format!("word{}", random.u32(0..500))).collect()
    }

    /// The text that the server sends: words, links, and one bracket too many on poison pages.
    fn text(self, page: PageId) -> String {
        let bracket = if kind(page) == Kind::Poison { " ((" } else { "" };
        let links: Vec<_> = self.links(page).into_iter().map(|link| format!("[{link}]")).collect();
        format!("{}{bracket} {}", self.words(page).join(" "), links.join(" "))
    }

    fn random(self, page: PageId, salt: u64) -> fastrand::Rng {
        let mut mixed =
            fastrand::Rng::with_seed(self.seed ^ u64::from(page).rotate_left(20) ^ salt.rotate_left(52));
        fastrand::Rng::with_seed(mixed.u64(..))
    }
}

/// A server of a site. Dropping this value ends the server.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    running: JoinSet<()>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    site: Site,
    /// How often each page was asked for.
    asked: Mutex<HashMap<PageId, u64>>,
}

impl Server {
    pub(crate) async fn start(site: Site) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let shared = Arc::new(Shared { site, asked: Mutex::default() });
        let mut server = Self { address: listener.local_addr()?, running: JoinSet::new(), shared };
        server.listen(listener);
        Ok(server)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    fn listen(&mut self, listener: TcpListener) {
        let shared = self.shared.clone();
        self.running.spawn(async move {
            let mut clients = JoinSet::new();
            loop {
                tokio::select! {
                    Ok((stream, _)) = listener.accept() => {
                        let shared = shared.clone();
                        clients.spawn(async move { shared.attend(stream).await });
                    }
                    Some(_ended) = clients.join_next() => {}
                    else => sleep(LATENCY).await,
                }
            }
        });
    }

    /// Closes the listener and all connections for a while.
    pub(crate) async fn outage(&mut self, time: Duration) {
        self.running.shutdown().await;
        sleep(time).await;
        loop {
            match TcpListener::bind(self.address).await {
                Ok(listener) => return self.listen(listener),
                Err(_) => sleep(LATENCY).await,
            }
        }
    }
}

impl Shared {
    /// Answers the requests of one connection: a line with the page's number each. An answer is a line with the length, and the text.
    async fn attend(&self, stream: TcpStream) -> io::Result<()> {
        let mut stream = BufStream::new(stream);
        let mut line = String::new();
        while stream.read_line(&mut line).await? > 0 {
            let page: PageId = line.trim().parse().map_err(io::Error::other)?;
            line.clear();
            sleep(LATENCY).await;
            let asked = {
                let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
                let asked = asked.entry(page).or_default();
                *asked += 1;
                *asked
            };
            let mut random = self.site.random(page, 1 + asked);
            if kind(page) == Kind::Gone {
                stream.write_all(b"gone\n").await?;
            } else if random.u8(0..100) < self.site.faults {
                match random.u8(0..3) {
                    // The server neither answers nor closes the connection.
                    0 => sleep(Duration::from_secs(5)).await,
                    1 => stream.write_all(b"500\nhalf").await?,
                    _ => {}
                }
                stream.flush().await?;
                return Ok(());
            } else {
                let text = self.site.text(page);
                stream.write_all(format!("{}\n{text}", text.len()).as_bytes()).await?;
            }
            stream.flush().await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_page_can_be_reached_over_good_pages() {
        let site = Site { pages: 2_000, faults: 0, seed: 3 };
        let mut reached: HashSet<PageId> = HashSet::from([0]);
        let mut waiting = vec![0];
        while let Some(page) = waiting.pop() {
            if kind(page) == Kind::Good {
                waiting.extend(site.links(page).into_iter().filter(|link| reached.insert(*link)));
            }
        }
        assert_eq!(reached.len(), 2_000);
    }
}
