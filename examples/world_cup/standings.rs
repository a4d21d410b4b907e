//! The parent that keeps the table and takes no risk. This is the containment pattern: the feeds do everything that can fail. The
//! rules above the struct are the only place that says what happens when a feed fails.
//!
//! No match is lost: a failed message is not delivered again, so the standings keep a list of the matches that are still to
//! be fetched. Every errand gets exactly one answer: a match, or the reason for its failure. No match is counted twice:
//! the table accepts each number once.

use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddr;

use supervise::SendErrorReason;
use supervise::prelude::*;
use tokio::sync::watch;

use crate::connection::FeedError;
use crate::feed::{Feed, FeedRef};
use crate::progress::Progress;
use crate::table::Table;
use crate::tournament::{Match, MatchId};

/// Keeps the table. Its feeds may fail; the table stands.
#[actor]
#[supervise(
    one_for_one(max_retries = 1000, within = "60s"),
    // The answer is garbage but a complete line: the connection still works, so the feed keeps it.
    on(FeedError::Malformed { .. }) = Resume,
    // The feed has asked many times without an answer: stop it.
    on(FeedError::GivenUp { .. }) = Stop,
    // The server may be busy: open a new connection soon.
    on(FeedError::Timeout { .. }) = Restart(backoff(min = "10ms", max = "100ms", jitter = 0.2)),
    // The connection is closed or out of step. If the server is down, it needs time to come back.
    on(FeedError) = Restart(backoff(min = "20ms", max = "250ms", jitter = 0.2)),
    on(Panic) = Restart,
)]
#[derive(Debug)]
pub(crate) struct Standings {
    server: SocketAddr,
    /// How many feeds to start.
    feeds: usize,
    table: Table,
    counted: BTreeSet<MatchId>,
    waiting: VecDeque<Errand>,
    /// Feeds without an errand.
    idle: VecDeque<FeedRef>,
    /// Errands that have not come back.
    under_way: usize,
    progress: Progress,
    watchers: watch::Sender<Progress>,
}

/// A match to be fetched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Errand {
    id: MatchId,
    /// How often the same feed has tried, including this time.
    attempt: u32,
}

/// Why the standings cannot start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error("a feed cannot be started: {0}")]
    Feed(#[from] SpawnError),
    #[error("the standings cannot write to themselves: {0}")]
    Begin(SendErrorReason),
}

#[actor]
impl Standings {
    pub(crate) fn new(server: SocketAddr, feeds: usize, watchers: watch::Sender<Progress>) -> Self {
        Self {
            server,
            feeds,
            table: Table::default(),
            counted: BTreeSet::new(),
            waiting: VecDeque::new(),
            idle: VecDeque::new(),
            under_way: 0,
            progress: Progress::default(),
            watchers,
        }
    }

    #[pre_start]
    fn open(&mut self, ctx: &mut Context<Self>) -> Result<(), OpenError> {
        let server = self.server;
        for number in 1..=self.feeds {
            let feed = ctx.spawn(format!("feed-{number}"), move || Feed::new(server))?;
            ctx.watch(&feed);
            self.idle.push_back(feed);
            self.progress.feeds += 1;
        }
        ctx.me().begin().tell().map_err(|refused| OpenError::Begin(refused.reason()))
    }

    /// Asks the feeds which matches exist, and sends feeds to fetch the first ones.
    ///
    /// Here a parent awaits its own child. If the child fails, the rules above apply while this handler waits.
    #[handler]
    async fn begin(&mut self, ctx: &mut Context<Self>) {
        if let Some(index) = self.index().await {
            self.progress.matches = Some(index.len());
            self.waiting = index.into_iter().map(Errand::first).collect();
        }
        self.send_for_more(ctx);
    }

    /// A feed returns from an errand.
    #[handler]
    fn fetched(
        &mut self,
        feed: FeedRef,
        errand: Errand,
        answer: Result<Match, AskError>,
        ctx: &mut Context<Self>,
    ) {
        self.under_way -= 1;
        match answer {
            Ok(game) => {
                self.count(game);
                self.idle.push_back(feed);
            }
            // The feed has ended, so another feed gets this errand as a new one.
            Err(error) if error.has_stopped() => self.waiting.push_front(Errand::first(errand.id)),
            // The errand waits in the feed's mailbox until the feed continues. If the feed is stopped, the errand comes back again.
            Err(_) => {
                self.progress.failed += 1;
                self.send(feed, errand.again(), ctx);
            }
        }
        self.send_for_more(ctx);
    }

    /// Returns the current table.
    #[handler]
    fn table(&self) -> Table {
        self.table.clone()
    }

    #[watch]
    fn feed_gone(&mut self, gone: Terminated<Feed>) {
        self.idle.retain(|feed| !gone.is(feed.actor_ref()));
        self.progress.feeds -= 1;
        self.publish();
    }

    /// The index, or `None` when no feed can get it.
    async fn index(&mut self) -> Option<Vec<MatchId>> {
        let mut attempt = 1;
        loop {
            let feed = self.idle.front()?.clone();
            match feed.index(attempt).await {
                Ok(index) => return Some(index),
                Err(error) if error.has_stopped() => {
                    self.idle.pop_front();
                    attempt = 1;
                }
                Err(_) => {
                    self.progress.failed += 1;
                    attempt += 1;
                }
            }
        }
    }

    /// Gives each idle feed an errand while there are any.
    fn send_for_more(&mut self, ctx: &mut Context<Self>) {
        while !self.idle.is_empty() {
            let Some(errand) = self.waiting.pop_front() else { break };
            let Some(feed) = self.idle.pop_front() else { break };
            self.send(feed, errand, ctx);
        }
        self.publish();
    }

    /// Sends a feed on an errand. Its answer comes as [`fetched`](StandingsRef::fetched), whatever happens. The standings do
    /// not wait for it, because they have other feeds to serve.
    fn send(&mut self, feed: FeedRef, errand: Errand, ctx: &mut Context<Self>) {
        self.under_way += 1;
        let asked = feed.clone();
        let answer = async move { asked.fetch(errand.id, errand.attempt).await };
        ctx.pipe(answer, move |me, answer| me.fetched(feed, errand, answer));
    }

    fn count(&mut self, game: Match) {
        if self.counted.insert(game.id) {
            self.table.record(game);
        }
    }

    fn publish(&mut self) {
        self.progress.counted = self.counted.len();
        let complete = self.progress.matches == Some(self.progress.counted);
        let stranded = self.progress.feeds == 0 && self.under_way == 0;
        self.progress.finished = complete || stranded;
        self.watchers.send_replace(self.progress);
    }
}

impl Errand {
    fn first(id: MatchId) -> Self {
        Self { id, attempt: 1 }
    }

    fn again(self) -> Self {
        Self { attempt: self.attempt + 1, ..self }
    }
}
