//! The run and its ledger.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::{Duration, Instant};

use supervise::prelude::*;
use supervise::{DeadLetterReason, Event};
use supervise_examples::service::{Ledger, Values, say};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::crawl::Crawl;
use crate::index::Found;
use crate::progress::{Display, Progress};
use crate::site::{Kind, PageId, Server, Site, kind};

/// How long the crawl may take without a new page.
const PATIENCE: Duration = Duration::from_secs(20);
const OUTAGE: Duration = Duration::from_secs(2);

/// The table of `/user`. A restart would not repair a failure of the crawl itself.
#[supervise(on(_) = Escalate)]
struct Top;

pub(crate) async fn run(values: Values) -> Result<Ledger, Box<dyn Error>> {
    let site = Site { pages: values.get("--pages"), faults: values.get("--faults"), seed: values.get("--seed") };
    let Site { pages, faults, seed } = site;
    let mut server = Server::start(site).await?;
    say(&format!("{pages} pages, {faults} % of the requests go wrong (seed {seed})"));

    let system = ActorSystem::builder("crawler").supervised_by::<Top>().start()?;
    let log = gather(&system);
    let (watchers, mut progress) = watch::channel(Progress::default());
    let address = server.address();
    let began = Instant::now();
    let crawl = system.spawn("crawl", move || Crawl::new(address, watchers.clone()))?;
    let mut display = Display::new();
    let mut outages = 0;
    loop {
        timeout(PATIENCE, progress.changed()).await.map_err(|_| "the crawl makes no progress")??;
        let now = *progress.borrow_and_update();
        display.show(now);
        if now.finished {
            break;
        }
        if outages == 0 && now.indexed > pages as usize / 2 {
            say(&format!("the site is down for {OUTAGE:?}"));
            server.outage(OUTAGE).await;
            outages += 1;
        }
    }
    let took = began.elapsed();
    let (found, aside) = (crawl.found().await?, crawl.aside().await?);
    system.terminate().await;
    system.when_terminated().await?;
    let log = log.await?;

    let mut expected = Found::default();
    let of_kind = |wanted| (0..pages).filter(move |page| kind(*page) == wanted);
    of_kind(Kind::Good).for_each(|page| expected.add(page, site.words(page)));
    let bad: Vec<PageId> = (0..pages).filter(|page| kind(*page) != Kind::Good).collect();
    let progress = *progress.borrow();

    let mut ledger = Ledger::default();
    ledger.note("pages", pages);
    ledger.note("indexed", found.pages.len());
    ledger.none("good pages that are not in the index", expected.pages.difference(&found.pages).count());
    ledger.none("bad pages that are in the index", found.pages.difference(&expected.pages).count());
    ledger.none("words with a wrong count", differences(&expected.words, &found.words));
    ledger.none("pages that reached the index twice", found.again);
    ledger.note("pages that always fail", of_kind(Kind::Poison).count());
    ledger.note("pages that the site does not have", of_kind(Kind::Gone).count());
    ledger.demand("pages set aside", aside.len(), "exactly the bad pages", aside.keys().copied().eq(bad));
    ledger.demand(
        "messages quarantined after their last delivery",
        log.quarantined,
        "at least one for each page set aside",
        log.quarantined >= aside.len(),
    );
    ledger.some("restarts of the parser", log.restarts_of("/user/crawl/parser"));
    ledger
        .some("restarts of the pool of fetchers, because of the parser", log.restarts_of("/user/crawl/fetchers"));
    ledger.note("restarts of single fetchers", log.restarts_below("/user/crawl/fetchers/"));
    ledger.none("restarts of the index", log.restarts_of("/user/crawl/index"));
    ledger.note("pages read again", progress.again);
    ledger.note("of these, because a mailbox was full", progress.full);
    ledger.note("outages of the site", outages);
    ledger.none("events missed", log.missed);
    ledger.note("took", format!("{:.1} s", took.as_secs_f64()));
    Ok(ledger)
}

fn differences(expected: &BTreeMap<String, u64>, found: &BTreeMap<String, u64>) -> usize {
    let words = expected.keys().chain(found.keys().filter(|word| !expected.contains_key(*word)));
    words.filter(|word| expected.get(*word) != found.get(*word)).count()
}

/// What supervision did.
#[derive(Debug, Default)]
struct Log {
    restarts: BTreeMap<String, usize>,
    quarantined: usize,
    missed: usize,
}

impl Log {
    fn restarts_of(&self, path: &str) -> usize {
        self.restarts.get(path).copied().unwrap_or(0)
    }

    fn restarts_below(&self, path: &str) -> usize {
        self.restarts.iter().filter(|(actor, _)| actor.starts_with(path)).map(|(_, times)| times).sum()
    }
}

fn gather(system: &ActorSystem) -> JoinHandle<Log> {
    let mut events = system.events().subscribe();
    tokio::spawn(async move {
        let mut log = Log::default();
        while let Some(event) = events.recv().await {
            match event {
                Event::Restarted { actor, .. } => *log.restarts.entry(actor.local().to_string()).or_default() += 1,
                Event::DeadLetter(letter) if letter.reason == DeadLetterReason::Quarantined => {
                    log.quarantined += 1;
                }
                Event::Missed(missed) => log.missed += usize::try_from(missed).unwrap_or(usize::MAX),
                _ => {}
            }
        }
        log
    })
}
