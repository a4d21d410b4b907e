//! The syntax of the texts by which actors are found, and what a wildcard matches. This module does not know
//! actors.
//!
//! ```text
//!   supervise://system/user/a/b#17     one actor of one system, and only this incarnation
//!   /user/a/b/                         from the root; a slash at the end means nothing
//!   ../b                               from where one stands; `..` is the parent, the root's is the root
//!   /user/*/worker-?                   in a selection: `*` is any text within an element, `?` one character
//! ```

use std::error::Error;
use std::fmt;

use crate::base::{InvalidName, SCHEME, Uid, check_system_name, is_name_character};

/// A text, split but not checked. An element that is not a valid name finds no actor.
#[derive(Debug)]
pub(super) struct Address<'a> {
    pub(super) origin: Origin<&'a str>,
    elements: &'a str,
    /// Which incarnation the text asks for.
    uid: Option<&'a str>,
}

/// Where a search begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin<S> {
    Here,
    Root,
    /// The root of the system of this name.
    RootOf(S),
}

impl<'a> Address<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let (text, uid) = match text.rsplit_once('#') {
            Some((text, uid)) => (text, Some(uid)),
            None => (text, None),
        };
        let (origin, elements) = match text.strip_prefix(SCHEME) {
            Some(rest) => {
                let (system, elements) = rest.split_once('/').unwrap_or((rest, ""));
                (Origin::RootOf(system), elements)
            }
            None => match text.strip_prefix('/') {
                Some(elements) => (Origin::Root, elements),
                None => (Origin::Here, text),
            },
        };
        Self { origin, elements: elements.trim_end_matches('/'), uid }
    }

    pub(super) fn elements(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let none = self.elements.is_empty();
        self.elements.split('/').filter(move |_| !none)
    }

    /// Whether an actor with this uid is meant.
    pub(super) fn means(&self, uid: Uid) -> bool {
        self.uid.is_none_or(|text| Uid::parse(text) == Some(uid))
    }
}

/// A selection's text, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    pub(super) origin: Origin<Box<str>>,
    pub(super) steps: Vec<Step>,
    pub(super) uid: Option<Uid>,
}

/// A step from one actor to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// To the parent.
    Up,
    /// To the child of this name.
    Named(Box<str>),
    /// To every child whose name the wildcards match.
    Like(Glob),
}

impl Step {
    /// The step as it was written.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Up => "..",
            Self::Named(name) => name,
            Self::Like(Glob(text)) => text,
        }
    }
}

/// Why a text selects nothing, whatever actors there are.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidSelection {
    /// Two slashes in a row.
    EmptyElement {
        /// The text.
        text: String,
        /// Where the element should be, in bytes.
        at: usize,
    },
    /// A character that is neither allowed in a name nor a wildcard.
    Character {
        /// The text.
        text: String,
        /// The character.
        found: char,
        /// Where it is, in bytes.
        at: usize,
    },
    /// The text behind `#` is not a uid.
    Uid {
        /// The text.
        text: String,
        /// Where the `#` is, in bytes.
        at: usize,
    },
    /// The system's name is invalid.
    System {
        /// The text.
        text: String,
        /// What is wrong with the name.
        reason: InvalidName,
    },
}

impl fmt::Display for InvalidSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyElement { text, at } => {
                write!(f, "`{text}` is not a valid selection: a name is missing before the slash at byte {at}")
            }
            Self::Character { text, found, at } => write!(
                f,
                "`{text}` is not a valid selection: `{found}` at byte {at} cannot stand in a name and is not a wildcard; names consist of letters, \
                 digits, any of -_.*$+:@&=,!~'; and %hh, wildcards are * and ?"
            ),
            Self::Uid { text, at } => write!(
                f,
                "`{text}` is not a valid selection: the `#` at byte {at} must be followed by a uid, the number that a ref prints after its path"
            ),
            Self::System { text, reason } => write!(f, "`{text}` is not a valid selection: {reason}"),
        }
    }
}

impl Error for InvalidSelection {}

impl Pattern {
    pub(super) fn parse(text: &str) -> Result<Self, InvalidSelection> {
        let address = Address::new(text);
        let (origin, begin) = match address.origin {
            Origin::Here => (Origin::Here, 0),
            Origin::Root => (Origin::Root, 1),
            Origin::RootOf(name) => {
                check_system_name(name)
                    .map_err(|reason| InvalidSelection::System { text: text.to_owned(), reason })?;
                (Origin::RootOf(Box::from(name)), SCHEME.len() + name.len() + 1)
            }
        };
        let mut steps = Vec::new();
        let mut at = begin;
        for element in address.elements() {
            steps.push(step(element).map_err(|mistake| match mistake {
                Mistake::Empty => InvalidSelection::EmptyElement { text: text.to_owned(), at },
                Mistake::Character(within, found) => {
                    InvalidSelection::Character { text: text.to_owned(), found, at: at + within }
                }
            })?);
            at += element.len() + 1;
        }
        let uid =
            match address.uid {
                None => None,
                Some(uid) => Some(Uid::parse(uid).ok_or_else(|| InvalidSelection::Uid {
                    text: text.to_owned(),
                    at: text.len() - uid.len() - 1,
                })?),
            };
        Ok(Self { origin, steps, uid })
    }
}

enum Mistake {
    Empty,
    Character(usize, char),
}

fn step(element: &str) -> Result<Step, Mistake> {
    if element.is_empty() {
        return Err(Mistake::Empty);
    }
    let foreign = |(_, found): &(usize, char)| !is_name_character(*found) && !matches!(found, '%' | '?');
    if let Some((at, found)) = element.char_indices().find(foreign) {
        return Err(Mistake::Character(at, found));
    }
    Ok(match element {
        ".." => Step::Up,
        wild if wild.contains(['*', '?']) => Step::Like(Glob(Box::from(wild))),
        name => Step::Named(Box::from(name)),
    })
}

/// An element with wildcards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Glob(Box<str>);

impl Glob {
    /// Whether the wildcards match this name. Names are ASCII, so bytes are characters.
    pub(super) fn matches(&self, name: &str) -> bool {
        let (pattern, name) = (self.0.as_bytes(), name.as_bytes());
        let (mut p, mut n) = (0, 0);
        // After the last `*`: where the pattern continues, and how far the star reached.
        let mut star: Option<(usize, usize)> = None;
        while n < name.len() {
            match pattern.get(p) {
                Some(b'*') => {
                    p += 1;
                    star = Some((p, n));
                }
                Some(&expected) if expected == b'?' || expected == name[n] => {
                    p += 1;
                    n += 1;
                }
                _ => match &mut star {
                    None => return false,
                    Some((after, reached)) => {
                        *reached += 1;
                        (p, n) = (*after, *reached);
                    }
                },
            }
        }
        pattern[p..].iter().all(|rest| *rest == b'*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glob(text: &str) -> Glob {
        Glob(Box::from(text))
    }

    #[test]
    fn wildcards() {
        for (pattern, name) in [
            ("*", ""),
            ("*", "abc"),
            ("a*", "a"),
            ("a*c", "abbc"),
            ("*b*", "abc"),
            ("a?c", "abc"),
            ("*-?", "worker-7"),
            ("*aab", "aaaaab"),
            ("**", "x"),
        ] {
            assert!(glob(pattern).matches(name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("a*", "ba"), ("?", ""), ("?", "ab"), ("a*c", "ab"), ("*-?", "worker-"), ("a", "b")]
        {
            assert!(!glob(pattern).matches(name), "{pattern} {name}");
        }
    }

    #[test]
    fn wildcards_take_time_by_the_lengths_multiplied() {
        let name = "a".repeat(2_000);
        assert!(!glob(&format!("{}b", "*a".repeat(500))).matches(&name));
    }

    #[test]
    fn the_parts_of_a_selection() {
        let pattern = Pattern::parse("supervise://s/user/../a*/b#17").unwrap();
        assert_eq!(pattern.origin, Origin::RootOf("s".into()));
        assert_eq!(
            pattern.steps,
            [Step::Named("user".into()), Step::Up, Step::Like(glob("a*")), Step::Named("b".into())]
        );
        assert_eq!(pattern.uid, Uid::parse("17"));
        for nowhere in ["", "/", "supervise://s", "supervise://s/"] {
            assert_eq!(Pattern::parse(nowhere).unwrap().steps, [], "{nowhere}");
        }
        assert_eq!(Pattern::parse("a/").unwrap(), Pattern::parse("a").unwrap());
    }

    #[test]
    fn a_wrong_selection_names_the_place() {
        for (text, place) in [
            ("/user//b", "byte 6"),
            ("//b", "byte 1"),
            ("supervise://s/a b", "byte 15"),
            ("/user/ä", "byte 6"),
            ("a/b#x", "byte 3"),
            ("a#1/b", "byte 1"),
            ("supervise://-s/b", "`-s`"),
        ] {
            let error = Pattern::parse(text).unwrap_err().to_string();
            assert!(error.contains(place) && error.contains(text), "{error}");
        }
    }
}
