//! The last stage: counts words. It takes no risks, and failures of other stages do not affect it.

use std::collections::{BTreeMap, BTreeSet};

use supervise::prelude::*;

use crate::parser::Parsed;
use crate::site::PageId;

/// The result of the crawl.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) pages: BTreeSet<PageId>,
    pub(crate) words: BTreeMap<String, u64>,
    /// How many pages came more than once. Each page is counted once.
    pub(crate) again: usize,
}

#[actor(mailbox = bounded(16))]
#[derive(Default)]
pub(crate) struct Index {
    found: Found,
}

#[actor]
impl Index {
    /// Returns the page's links.
    #[handler]
    fn add(&mut self, page: Parsed) -> Vec<PageId> {
        self.found.add(page.id, page.words);
        page.links
    }

    #[handler]
    fn found(&self) -> Found {
        self.found.clone()
    }
}

impl Found {
    pub(crate) fn add(&mut self, page: PageId, words: Vec<String>) {
        if !self.pages.insert(page) {
            self.again += 1;
            return;
        }
        for word in words {
            *self.words.entry(word).or_default() += 1;
        }
    }
}
