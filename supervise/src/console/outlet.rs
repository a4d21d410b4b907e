//! Hands the last view to the readers. It is written once for all readers with the same wish.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::cards::{Card, Kind};
use super::collector::View;
use super::json::json;
use super::rows::Listing;
use super::text::{COLUMNS, actor, text};
use super::watch::Watch;
use super::wish::{Wish, encoded};

/// What readers with the same wish get: a view as JSON, or the system or one of its actors as text.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) content: String,
    pub(super) made: Instant,
    /// Whether the actor that the readers chose was there, if they chose one.
    pub(super) is_found: bool,
    /// Whether the system has ended, so that this is the last page.
    pub(super) is_last: bool,
}

impl Page {
    fn new(system: &str, view: &View, listing: &Listing) -> Self {
        let Listing { wish, detail, .. } = listing;
        let content = match &wish.focus {
            _ if !wish.as_text => json(system, view, listing),
            Some(path) => actor(system, view, view.age(), path, detail.as_ref()),
            None => text(system, view, view.age()) + &one_actor(view),
        };
        let is_found = detail.is_some() || wish.focus.is_none();
        let is_last = view.ended.is_some();
        Self { content, made: Instant::now(), is_found, is_last }
    }
}

/// Where to read about one actor: the one that needs attention most, of those that have not ended. An address that is longer than a line is left
/// out.
fn one_actor(view: &View) -> String {
    let runs = |card: &&Card| !matches!(card.kind, Kind::BranchDown | Kind::MessagesLost | Kind::ShortOfThreads);
    let worst = view.cards.iter().find(runs).map_or("/user", |card| &*card.path);
    let line = format!("For one actor, add its path: …/text{}", encoded(worst));
    if line.chars().count() > COLUMNS { String::new() } else { format!("\n{line}\n") }
}

/// What an outlet has for its readers.
#[derive(Debug, Clone)]
pub(super) enum Latest {
    /// The first page is not made yet.
    Nothing,
    Page(Arc<Page>),
    /// The console was stopped. No page will come.
    Stopped,
}

/// Why a reader gets no outlet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    TooManyTexts,
    Stopped,
}

/// How many different texts are made at a time. The streams have a bound of their own.
pub(super) const MOST_TEXTS: usize = 16;

/// The last page for the readers with the same wish. It is dropped with the last of these readers.
#[derive(Debug)]
pub(super) struct Outlet {
    wish: Wish,
    pub(super) latest: watch::Sender<Latest>,
}

impl Outlet {
    fn tell(&self, system: &str, view: &View, listing: &Listing) {
        self.latest.send_replace(Latest::Page(Arc::new(Page::new(system, view, listing))));
    }
}

/// All outlets.
#[derive(Debug, Default)]
pub(super) struct Outlets(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    outlets: Vec<Weak<Outlet>>,
    /// The last view, which says how the system ended. There are no further looks.
    last: Option<Last>,
    is_stopped: bool,
}

#[derive(Debug)]
struct Last {
    system: String,
    view: View,
}

impl Last {
    fn page(&self, wish: &Wish) -> Arc<Page> {
        Arc::new(Page::new(&self.system, &self.view, &Listing::of(wish.clone())))
    }
}

impl Outlets {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The outlet for a wish.
    pub(super) fn of(&self, wish: Wish) -> Result<Arc<Outlet>, Refused> {
        let mut kept = self.kept();
        if kept.is_stopped {
            return Err(Refused::Stopped);
        }
        kept.outlets.retain(|outlet| outlet.strong_count() > 0);
        let all: Vec<Arc<Outlet>> = kept.outlets.iter().filter_map(Weak::upgrade).collect();
        if let Some(known) = all.iter().find(|outlet| outlet.wish == wish) {
            return Ok(Arc::clone(known));
        }
        if wish.as_text && all.iter().filter(|outlet| outlet.wish.as_text).count() >= MOST_TEXTS {
            return Err(Refused::TooManyTexts);
        }
        let page = kept.last.as_ref().map_or(Latest::Nothing, |last| Latest::Page(last.page(&wish)));
        let outlet = Arc::new(Outlet { wish, latest: watch::Sender::new(page) });
        kept.outlets.push(Arc::downgrade(&outlet));
        Ok(outlet)
    }

    /// Ends the looks without a last view: all readers are told that the console was stopped.
    pub(super) fn stop(&self) {
        let mut kept = self.kept();
        kept.is_stopped = true;
        for outlet in kept.outlets.iter().filter_map(Weak::upgrade) {
            outlet.latest.send_replace(Latest::Stopped);
        }
    }

    /// Ends the looks: all readers get the last view from now on.
    pub(super) fn end(&self, system: &str, view: &View) {
        let last = Last { system: system.to_owned(), view: view.clone() };
        let mut kept = self.kept();
        for outlet in kept.outlets.iter().filter_map(Weak::upgrade) {
            outlet.latest.send_if_modified(|latest| {
                let is_new = matches!(latest, Latest::Nothing);
                if is_new {
                    *latest = Latest::Page(last.page(&outlet.wish));
                }
                is_new
            });
        }
        kept.last = Some(last);
    }
}

/// What the console's thread knows about the readers.
#[derive(Debug, Default)]
pub(super) struct Readers {
    outlets: Vec<Weak<Outlet>>,
    /// One for each outlet.
    listings: Vec<Listing>,
    has_new: bool,
}

impl Readers {
    /// Adds new readers, and removes those that have gone.
    pub(super) fn update(&mut self, outlets: &Outlets) {
        let known = self.outlets.drain(..).zip(self.listings.drain(..));
        (self.outlets, self.listings) = known.filter(|(outlet, _)| outlet.strong_count() > 0).collect();
        let now: Vec<Arc<Outlet>> = outlets.kept().outlets.iter().filter_map(Weak::upgrade).collect();
        for outlet in now {
            if !self.outlets.iter().any(|known| known.as_ptr() == Arc::as_ptr(&outlet)) {
                self.listings.push(Listing::of(outlet.wish.clone()));
                self.outlets.push(Arc::downgrade(&outlet));
                self.has_new = true;
            }
        }
    }

    /// Whether a reader has not had a view yet.
    pub(super) fn has_new(&self) -> bool {
        self.has_new
    }

    pub(super) fn listings(&mut self) -> &mut [Listing] {
        &mut self.listings
    }

    /// Shows the system to readers that wait for their first view.
    pub(super) fn glance(&mut self, watch: &mut Watch, system: &str, interval: Duration) {
        let view = watch.glance_for(&mut self.listings);
        self.tell(system, &View { interval, ..view });
    }

    /// Gives each reader what it sees of a view.
    pub(super) fn tell(&mut self, system: &str, view: &View) {
        self.has_new = false;
        for (outlet, listing) in self.outlets.iter().zip(&self.listings) {
            if let Some(outlet) = outlet.upgrade() {
                outlet.tell(system, view, listing);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rule 22.4: no line has more than 80 columns, and an address cannot be wrapped.
    #[test]
    fn con_27_an_address_that_is_longer_than_a_line_is_left_out() {
        let card = |kind, path: &str| Card {
            kind,
            actors: 1,
            path: path.to_owned(),
            actor_type: String::new(),
            subject: String::new(),
            since: None,
            says: String::new(),
            moments: Vec::new(),
            cause: None,
            weight: 0,
            near_limit: false,
            at_least: false,
            goes: None,
        };
        let said = |path: &str| {
            // The first one has ended.
            let cards = vec![card(Kind::BranchDown, "/user/reports"), card(Kind::Stuck, path)];
            one_actor(&View { cards, ..View::default() })
        };
        assert_eq!(said("/user/ä"), "\nFor one actor, add its path: …/text/user/%C3%A4\n");
        assert_eq!(said(&format!("/user/{}", "ä".repeat(10))), "");
    }
}
