//! The second stage: finds the words and the links of a page.

use supervise::prelude::*;

use crate::index::IndexRef;
use crate::site::PageId;

#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) id: PageId,
    pub(crate) text: String,
}

/// What is on a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parsed {
    pub(crate) id: PageId,
    pub(crate) words: Vec<String>,
    pub(crate) links: Vec<PageId>,
}

#[derive(Debug, thiserror::Error)]
#[error("page {page} has a bracket that nothing closes")]
pub(crate) struct ParseError {
    pub(crate) page: PageId,
}

#[actor(mailbox = bounded(16))]
pub(crate) struct Parser {
    index: IndexRef,
}

impl Parser {
    pub(crate) fn new(index: IndexRef) -> Self {
        Self { index }
    }
}

#[actor]
impl Parser {
    /// A page on which it fails is delivered twice more, each time to a new instance. Then the page is set aside.
    #[handler(redeliver = 2)]
    fn parse(&mut self, page: Page, reply: ReplyTo<Vec<PageId>>) -> Result<(), ParseError> {
        self.index.add(parsed(&page)?).reply_to(reply);
        Ok(())
    }
}

fn parsed(page: &Page) -> Result<Parsed, ParseError> {
    let mut parsed = Parsed { id: page.id, words: Vec::new(), links: Vec::new() };
    for token in page.text.split_whitespace() {
        match token.strip_prefix('[').map(|rest| rest.strip_suffix(']').and_then(|link| link.parse().ok())) {
            Some(Some(link)) => parsed.links.push(link),
            None if !token.starts_with('(') => parsed.words.push(token.to_owned()),
            _ => return Err(ParseError { page: page.id }),
        }
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_links_are_told_apart() {
        let page = |text: &str| Page { id: 7, text: text.to_owned() };
        let words = vec!["one".to_owned(), "two".to_owned()];
        assert_eq!(parsed(&page("one two [3] [4]")).unwrap(), Parsed { id: 7, words, links: vec![3, 4] });
        for poison in ["one ((", "[3", "[x]"] {
            assert_eq!(parsed(&page(poison)).unwrap_err().to_string(), "page 7 has a bracket that nothing closes");
        }
    }
}
