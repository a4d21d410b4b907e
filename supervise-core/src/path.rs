//! Where an actor stands in the tree, and which incarnation it is.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::sync::Arc;

/// The address of an actor: `supervise://system/user/a/b`.
///
/// Two incarnations under one name have equal paths; they differ in their [`Uid`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActorPath {
    system: Arc<str>,
    /// `/` for the root, `/user/a` below it.
    local: Arc<str>,
}

const SCHEME: &str = "supervise://";

impl ActorPath {
    /// The path of a system's root guardian.
    pub(crate) fn root(system: Arc<str>) -> Self {
        Self { system, local: Arc::from("/") }
    }

    /// The path below the root whose elements are given innermost first.
    pub(crate) fn from_innermost<'a>(system: Arc<str>, names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names: Vec<&str> = names.into_iter().collect();
        if names.is_empty() {
            return Self::root(system);
        }
        names.reverse();
        let mut local = String::with_capacity(names.iter().map(|name| name.len() + 1).sum());
        for name in names {
            local.push('/');
            local.push_str(name);
        }
        Self { system, local: local.into() }
    }

    /// The name of the system.
    pub fn system(&self) -> &str {
        &self.system
    }

    /// The path within the system: `/user/a/b`.
    pub fn local(&self) -> &str {
        &self.local
    }

    /// The elements from the root down; none for the root itself.
    pub fn elements(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.local.split('/').filter(|element| !element.is_empty())
    }

    /// The last element; empty for the root.
    pub fn name(&self) -> &str {
        self.elements().next_back().unwrap_or("")
    }

    /// The path of the parent. The root's parent is the root.
    pub fn parent(&self) -> Self {
        let cut = self.local.rfind('/').unwrap_or(0).max(1);
        Self { system: Arc::clone(&self.system), local: Arc::from(&self.local[..cut]) }
    }

    /// The path of a child.
    ///
    /// # Errors
    ///
    /// If the name is none, see [`InvalidName`].
    pub fn child(&self, name: &str) -> Result<Self, InvalidName> {
        check_element(name)?;
        Ok(self.below(name))
    }

    /// The path of a child whose name was checked when it was made.
    pub(crate) fn below(&self, name: &str) -> Self {
        let separator = if &*self.local == "/" { "" } else { "/" };
        let local = format!("{}{separator}{name}", self.local).into();
        Self { system: Arc::clone(&self.system), local }
    }
}

impl fmt::Display for ActorPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}{}", self.system, self.local)
    }
}

impl fmt::Debug for ActorPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a text is no path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidPath {
    /// It does not begin with the scheme.
    #[error("`{0}` is no actor path: it must begin with `supervise://`, as in `supervise://system/user/name`")]
    Scheme(String),
    /// The system's name is none.
    #[error("`{text}` is no actor path: {reason}")]
    System {
        /// The text.
        text: String,
        /// What is wrong with the name.
        reason: InvalidName,
    },
    /// An element is no name.
    #[error("`{text}` is no actor path: {reason}")]
    Element {
        /// The text.
        text: String,
        /// What is wrong with the element.
        reason: InvalidName,
    },
}

impl FromStr for ActorPath {
    type Err = InvalidPath;

    fn from_str(text: &str) -> Result<Self, InvalidPath> {
        let rest = text.strip_prefix(SCHEME).ok_or_else(|| InvalidPath::Scheme(text.to_owned()))?;
        let (system, local) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        check_system_name(system).map_err(|reason| InvalidPath::System { text: text.to_owned(), reason })?;
        let mut path = Self::root(Arc::from(system));
        let local = local.strip_prefix('/').unwrap_or(local);
        if local.is_empty() {
            return Ok(path);
        }
        for element in local.split('/') {
            check_element(element).map_err(|reason| InvalidPath::Element { text: text.to_owned(), reason })?;
        }
        path.local = Arc::from(format!("/{local}"));
        Ok(path)
    }
}

/// Which incarnation: random, never zero, new for every actor that is spawned. A restart keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uid(NonZeroU64);

impl Uid {
    pub(crate) fn random() -> Self {
        Self(NonZeroU64::new(fastrand::u64(1..)).unwrap_or(NonZeroU64::MIN))
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Why a text is no name for an actor or a system.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidName {
    /// It is empty.
    #[error("a name must not be empty")]
    Empty,
    /// Names that begin with `$` are made by the system.
    #[error("the name `{0}` must not begin with `$`: such names are made by the system")]
    Reserved(String),
    /// A character that no name may hold.
    #[error("the name `{name}` must not hold `{found}` (byte {at}); allowed are {allowed}")]
    Character {
        /// The name.
        name: String,
        /// The character.
        found: char,
        /// Where it is, in bytes.
        at: usize,
        /// What is allowed.
        allowed: &'static str,
    },
}

const ALLOWED: &str = "letters, digits, any of -_.*$+:@&=,!~'; and %hh";

/// Whether users may give a child this name.
pub(crate) fn check_name(name: &str) -> Result<(), InvalidName> {
    if name.starts_with('$') {
        return Err(InvalidName::Reserved(name.to_owned()));
    }
    check_element(name)
}

/// Whether a child may have this name, made up by the system or given by a user.
fn check_element(name: &str) -> Result<(), InvalidName> {
    if name.is_empty() {
        return Err(InvalidName::Empty);
    }
    let mut rest = name.char_indices();
    while let Some((at, found)) = rest.next() {
        let fine = match found {
            'a'..='z' | 'A'..='Z' | '0'..='9' => true,
            '%' => [rest.next(), rest.next()]
                .iter()
                .all(|digit| digit.is_some_and(|(_, digit)| digit.is_ascii_hexdigit())),
            other => "-_.*$+:@&=,!~';".contains(other),
        };
        if !fine {
            return Err(InvalidName::Character { name: name.to_owned(), found, at, allowed: ALLOWED });
        }
    }
    Ok(())
}

/// Whether a system may have this name.
pub(crate) fn check_system_name(name: &str) -> Result<(), InvalidName> {
    const ALLOWED: &str = "letters, digits, and after the first character - and _";
    if name.is_empty() {
        return Err(InvalidName::Empty);
    }
    match name
        .char_indices()
        .find(|(at, found)| !(found.is_ascii_alphanumeric() || *at > 0 && matches!(found, '-' | '_')))
    {
        None => Ok(()),
        Some((at, found)) => Err(InvalidName::Character { name: name.to_owned(), found, at, allowed: ALLOWED }),
    }
}

/// The n-th name made by the system: `$a`, `$b`, …, `$ba`, …
pub(crate) fn made_up_name(mut n: u64) -> String {
    const DIGITS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+~";
    let mut name = String::from("$");
    loop {
        name.push(char::from(DIGITS[usize::try_from(n % 64).unwrap_or(0)]));
        n /= 64;
        if n == 0 {
            return name;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_survives_printing_and_parsing() {
        for text in
            ["supervise://s/", "supervise://s/user", "supervise://s-1/user/a/b%20c/d", "supervise://s/user/$a/b"]
        {
            let path: ActorPath = text.parse().unwrap();
            assert_eq!(path.to_string(), text);
        }
        assert_eq!("supervise://s".parse::<ActorPath>().unwrap().to_string(), "supervise://s/");
    }

    #[test]
    fn parts_of_a_path() {
        let path: ActorPath = "supervise://s/user/a/b".parse().unwrap();
        assert_eq!(path.system(), "s");
        assert_eq!(path.name(), "b");
        assert_eq!(path.elements().collect::<Vec<_>>(), ["user", "a", "b"]);
        assert_eq!(path.parent().local(), "/user/a");
        assert_eq!(path.parent().parent().parent().local(), "/");
        assert_eq!(path.parent().parent().parent().parent().local(), "/");
        assert_eq!(path.parent().child("b").unwrap(), path);
    }

    #[test]
    fn what_is_no_path_is_refused_with_the_place() {
        for text in [
            "",
            "http://s/user",
            "supervise://",
            "supervise://-s/user",
            "supervise://s/user//b",
            "supervise://s/ü",
        ] {
            assert!(text.parse::<ActorPath>().is_err(), "{text}");
        }
        let error = "supervise://s/user/a b".parse::<ActorPath>().unwrap_err().to_string();
        assert!(error.contains("`a b`") && error.contains("byte 1"), "{error}");
    }

    #[test]
    fn names() {
        for name in ["a", "feed-1", "a.b*c$d+e:f@g&h=i,j!k~l'm;n", "%41%5a"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in ["", "$a", "a/b", "a b", "ä", "%4", "%4g", "a#1", "a\n"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn made_up_names_differ() {
        let names: std::collections::HashSet<_> = (0..10_000).map(made_up_name).collect();
        assert_eq!(names.len(), 10_000);
        assert_eq!(made_up_name(0), "$a");
    }
}
