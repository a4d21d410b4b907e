//! The parent of the stages. It knows which pages are to be read, and sends them on their way.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use supervise::pattern::Pool;
use supervise::prelude::*;
use tokio::sync::watch;

use crate::fetcher::{FetchError, Fetcher};
use crate::index::{Found, Index};
use crate::parser::{ParseError, Parser};
use crate::progress::Progress;
use crate::site::PageId;

const FETCHERS: usize = 8;
/// How many pages are under way at a time. A mailbox holds fewer: a page that finds no room comes back and is read
/// again.
const UNDER_WAY: usize = 24;
/// How long a page that came back waits.
const PAUSE: Duration = Duration::from_millis(50);

/// The table of the fetchers, one-for-one: a broken connection does not affect the others.
#[supervise(one_for_one(backoff(min = "10ms", max = "200ms", jitter = 0.2)), on(_) = Restart)]
struct Fetching;

/// If a stage fails, those that started after it restart too: the stages before it in the flow, which hold work for it.
#[actor]
#[supervise(rest_for_one, on(ParseError) = Restart, on(_) = Escalate)]
pub(crate) struct Crawl {
    site: SocketAddr,
    #[child(|_| Index::default)]
    index: Child<Index>,
    #[child(|this| {
        let index = this.index.actor();
        move || Parser::new(index.clone())
    })]
    parser: Child<Parser>,
    #[child(|this| {
        let (site, parser) = (this.site, this.parser.actor());
        let fetcher = move || Fetcher::new(site, parser.clone());
        Pool::smallest_mailbox(FETCHERS, fetcher).supervised_by::<Fetching>().props()
    })]
    fetchers: Child<Pool<Fetcher>>,
    waiting: VecDeque<PageId>,
    known: BTreeSet<PageId>,
    aside: Aside,
    progress: Progress,
    watchers: watch::Sender<Progress>,
}

/// The pages that were set aside, each with the reason.
pub(crate) type Aside = BTreeMap<PageId, String>;

impl Crawl {
    pub(crate) fn new(site: SocketAddr, watchers: watch::Sender<Progress>) -> Self {
        Self {
            site,
            index: Child::default(),
            parser: Child::default(),
            fetchers: Child::default(),
            waiting: VecDeque::new(),
            known: BTreeSet::new(),
            aside: Aside::new(),
            progress: Progress::default(),
            watchers,
        }
    }

    fn learn(&mut self, links: impl IntoIterator<Item = PageId>) {
        self.waiting.extend(links.into_iter().filter(|link| self.known.insert(*link)));
    }

    /// Sends for more pages while there are any, and shows how far the crawl is.
    fn go_on(&mut self, ctx: &mut Context<Self>) {
        while self.progress.under_way < UNDER_WAY {
            let Some(page) = self.waiting.pop_front() else { break };
            self.progress.under_way += 1;
            let fetchers = self.fetchers.actor();
            // `retried` waits for the deliveries after a failure. Its error is the last one.
            ctx.pipe(async move { fetchers.fetch(page).retried().await }, move |me, links| {
                me.returned(page, links)
            });
        }
        self.progress.known = self.known.len();
        self.progress.aside = self.aside.len();
        self.progress.finished = self.progress.indexed + self.aside.len() == self.known.len();
        self.watchers.send_replace(self.progress);
    }
}

#[actor]
impl Crawl {
    #[pre_start]
    fn begin(&mut self, ctx: &mut Context<Self>) {
        self.learn([0]);
        self.go_on(ctx);
    }

    /// A page comes back: with its links, or with what went wrong.
    #[handler]
    fn returned(&mut self, page: PageId, links: Result<Vec<PageId>, AskError>, ctx: &mut Context<Self>) {
        match links {
            Ok(links) => {
                self.progress.under_way -= 1;
                self.progress.indexed += 1;
                self.learn(links);
            }
            Err(error) => {
                if let Some(failure) = error.failure().filter(|failure| is_fault_of(page, failure)) {
                    self.progress.under_way -= 1;
                    self.aside.insert(page, failure.to_string());
                } else {
                    // The site was down, a stage had no room, or restarted because of another page. The page stays
                    // under way. Otherwise another page would take its place and find no room either.
                    self.progress.again += 1;
                    self.progress.full += usize::from(matches!(error, AskError::MailboxFull));
                    ctx.pipe(tokio::time::sleep(PAUSE), move |me, ()| me.again(page));
                }
            }
        }
        self.go_on(ctx);
    }

    #[handler]
    fn again(&mut self, page: PageId, ctx: &mut Context<Self>) {
        self.progress.under_way -= 1;
        self.waiting.push_front(page);
        self.go_on(ctx);
    }

    #[handler]
    fn aside(&self) -> Aside {
        self.aside.clone()
    }

    /// The index answers.
    #[handler]
    fn found(&self, reply: ReplyTo<Found>) {
        self.index.actor().found().reply_to(reply);
    }
}

/// Whether the page itself caused the failure. A page that was with a fetcher when the parser failed gets the
/// parser's failure too, which names another page.
fn is_fault_of(page: PageId, failure: &Failure) -> bool {
    let poison = failure.downcast_ref().is_some_and(|error: &ParseError| error.page == page);
    poison || failure.downcast_ref().is_some_and(|error| matches!(error, FetchError::Gone(gone) if *gone == page))
}
