//! The first example of the documentation.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use supervise::prelude::*;

type MatchId = u64;
type Team = String;

#[derive(Debug)]
pub struct Match;

#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    #[error("feed timed out")]
    Timeout,
    #[error("feed unreachable")]
    Io(#[from] std::io::Error),
    #[error("bad record, line {line}")]
    Malformed { line: usize },
}

/// Does the risky part: one remote read per message. Owns nothing worth keeping.
#[actor]
struct Feed {
    address: SocketAddr,
}

#[actor]
impl Feed {
    #[handler]
    async fn fetch(&mut self, id: MatchId) -> Result<Match, FeedError> {
        tokio::net::TcpStream::connect(self.address).await?;
        if id == 0 { Err(FeedError::Malformed { line: 1 }) } else { Err(FeedError::Timeout) }
    }
}

/// Keeps the table. Its feeds may fail; the table stands.
#[actor]
#[supervise(
    one_for_one(max_retries = 10, within = "60s"),
    on(FeedError::Malformed { .. }) = Resume,
    on(FeedError::Timeout) = Restart(backoff(min = "100ms", max = "10s", jitter = 0.2)),
    on(FeedError) = Restart,
    on(Panic) = Restart,
    on(_) = Stop,
)]
struct Standings {
    source: SocketAddr,
    points: BTreeMap<Team, u32>,
}

#[actor]
impl Standings {
    #[pre_start]
    async fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), SpawnError> {
        let address = self.source;
        let feed = ctx.spawn("feed-1", move || Feed { address })?;
        ctx.watch(&feed);
        Ok(())
    }

    #[handler]
    fn record(&mut self, _game: Match) {
        self.points.clear();
    }

    /// The table, best team first.
    #[handler]
    fn table(&self) -> Vec<(Team, u32)> {
        self.points.clone().into_iter().collect()
    }

    #[watch]
    fn feed_gone(&mut self, gone: Terminated<Feed>) {
        let _ = gone;
    }
}

async fn talk(standings: &StandingsRef, feed: &FeedRef) -> Result<Vec<(Team, u32)>, AskError> {
    feed.fetch(1).await?;
    let _ = standings.record(Match).tell();
    standings.table().await
}

pub(super) fn main() {
    let _ = |standings, feed| async move { talk(&standings, &feed).await };
}
