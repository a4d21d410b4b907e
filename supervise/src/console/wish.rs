//! What one reader asks for in addition to what all readers see:
//! `?by=type&search=gate&focus=/user/a&open=/user/b&shut=/user/c`.
//!
//! Rule 22.8.

use std::fmt::Write;

use crate::percent::decoded;

/// A reader's wish. Readers with the same wish share one list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Wish {
    /// Actors as lines by type instead of as a tree.
    pub(super) by_type: bool,
    /// In lower case. Empty: everything.
    pub(super) search: String,
    /// The path of the actor whose details are shown.
    pub(super) focus: Option<String>,
    /// The system or the chosen actor as text, instead of the view as JSON.
    pub(super) as_text: bool,
    /// Groups of alike actors that are shown, and actors whose children are shown although they are within such a group.
    open: Vec<Open>,
    /// Paths of actors whose children are not shown.
    shut: Vec<String>,
}

/// `/user/storefront//Session#2`: the third page of the children of that type. Without a page it is the first
/// page, and without a type an actor.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Open {
    what: String,
    page: usize,
}

/// How many paths a reader may ask for.
const MOST_OPEN: usize = 32;
const MOST_PAGES: usize = 100;
const LONGEST: usize = 2_048;

impl Wish {
    /// Parts that are not understood are left out.
    pub(super) fn of(query: &str) -> Self {
        let mut wish = Self::default();
        for (key, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            // A value that is badly encoded is left out.
            let value = decoded(&value.replace('+', " ")).unwrap_or_default();
            if value.is_empty() || value.len() > LONGEST {
                continue;
            }
            match key {
                "by" => wish.by_type = value == "type",
                "search" => wish.search = value.to_lowercase(),
                "focus" => wish.focus = Some(value),
                "open" if wish.open.len() < MOST_OPEN => {
                    let (what, page) = value.rsplit_once('#').unwrap_or((&value, "0"));
                    let page = page.parse().unwrap_or(0).min(MOST_PAGES - 1);
                    wish.open.push(Open { what: what.to_owned(), page });
                }
                "shut" if wish.shut.len() < MOST_OPEN => wish.shut.push(value),
                _ => {}
            }
        }
        wish
    }

    /// Asks for the text of the system or, if `path` is not empty, of the actor at this percent-encoded path. `None`: it does not begin with `/`,
    /// is badly encoded, not UTF-8, or too long.
    pub(super) fn of_text(path: &str) -> Option<Self> {
        let text = Self { as_text: true, ..Self::default() };
        if path.is_empty() {
            return Some(text);
        }
        let path = decoded(path)?;
        let is_one = path.starts_with('/') && path.len() <= LONGEST;
        let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        is_one.then(|| Self { focus: Some(format!("/{}", names.join("/"))), ..text })
    }

    /// The page of a group that is to be shown.
    pub(super) fn page(&self, parent: &str, short_type: &str) -> Option<usize> {
        let is_it = |what: &str| {
            what.strip_prefix(parent)
                .and_then(|rest| rest.strip_prefix("//"))
                .is_some_and(|wanted| wanted == short_type)
        };
        self.open.iter().find(|open| is_it(&open.what)).map(|open| open.page)
    }

    /// Whether nothing is opened, so that no actor needs a check.
    pub(super) fn opens_nothing(&self) -> bool {
        self.open.is_empty() && self.focus.is_none()
    }

    /// Whether an actor is shown although it is one of many: it is opened, or chosen, or above the chosen one.
    pub(super) fn opens(&self, path: &str) -> bool {
        let is_above =
            |below: &str| below.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        self.open.iter().any(|open| open.what == path) || self.focus.as_deref().is_some_and(is_above)
    }

    pub(super) fn shuts(&self, path: &str) -> bool {
        self.shut.iter().any(|shut| shut == path)
    }
}

/// A path as it is written in an address.
pub(super) fn encoded(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_read_from_a_query() {
        let wish = Wish::of(
            "by=type&search=GATE%20way&focus=%2Fuser%2Fa%2Fb&open=%2Fuser%2Fc%2F%2FPool%3CConn%3E%232&shut=/user/d&x=1",
        );
        assert!(wish.by_type && wish.search == "gate way" && wish.shuts("/user/d"));
        assert_eq!(wish.page("/user/c", "Pool<Conn>"), Some(2));
        assert_eq!((wish.page("/user/c", "Pool"), wish.page("/user", "c//Pool<Conn>")), (None, None));
        assert!(wish.opens("/user/a") && wish.opens("/user/a/b") && wish.opens("/user"));
        assert!(!wish.opens("/user/a/b/c") && !wish.opens("/user/ab"));
        assert_eq!(Wish::of(""), Wish::default());
    }

    #[test]
    fn a_path_survives_an_address() {
        for path in ["/user/gateway", "/", "/user/$a/b c", "/user/+%2F", "/user/\u{1b}[31mö"] {
            let encoded = encoded(path);
            assert!(encoded.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'+'), "{encoded}");
            assert_eq!(Wish::of_text(&encoded).and_then(|wish| wish.focus).as_deref(), Some(path));
        }
        assert_eq!(encoded("/user/a b"), "/user/a%20b");
        for same in ["//user/a", "/user/a/", "/user//a", "%2Fuser/a"] {
            assert_eq!(Wish::of_text(same).and_then(|wish| wish.focus).as_deref(), Some("/user/a"), "{same}");
        }
        assert!(Wish::of_text("").is_some_and(|wish| wish.as_text && wish.focus.is_none()));
        assert_eq!(Wish::of_text("/a+b").and_then(|wish| wish.focus).as_deref(), Some("/a+b"));
        for nonsense in ["user", "%ff", "/%2", &format!("/{}", "a".repeat(LONGEST))] {
            assert_eq!(Wish::of_text(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn nonsense_and_too_much_is_left_out() {
        assert_eq!(Wish::of("search=%f&focus=%ff%fe&by=&&=&open"), Wish::default());
        let many = "open=/a&".repeat(1_000);
        assert_eq!(Wish::of(&many).open.len(), MOST_OPEN);
        assert_eq!(Wish::of("open=/a%2399999999").open[0].page, MOST_PAGES - 1);
        assert_eq!(Wish::of(&format!("search={}", "a".repeat(LONGEST + 1))), Wish::default());
    }
}
