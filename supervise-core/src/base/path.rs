//! The path of an actor in the tree, and the uid of its incarnation.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::sync::Arc;

use crate::base::name::RESERVED;

/// The address of an actor: `supervise://system/user/a/b`.
///
/// Two incarnations under one name have equal paths; they differ in their [`Uid`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActorPath {
    text: Arc<str>,
    /// Where in the text the path within the system begins: `/` for the root, `/user/a` below it.
    local: usize,
}

/// The prefix of every path's text.
pub(crate) const SCHEME: &str = "supervise://";

impl ActorPath {
    /// Makes a path from its elements, which begin at the root. Does not check them.
    pub(crate) fn from_elements<'a>(
        system: &str,
        elements: impl DoubleEndedIterator<Item = &'a str> + Clone,
    ) -> Self {
        let local = SCHEME.len() + system.len();
        let below: usize = elements.clone().map(|element| element.len() + 1).sum();
        let mut text = String::with_capacity(local + below.max(1));
        text.push_str(SCHEME);
        text.push_str(system);
        for element in elements {
            text.push('/');
            text.push_str(element);
        }
        if below == 0 {
            text.push('/');
        }
        Self { text: text.into(), local }
    }

    /// The path of an actor of another node, from its text: `supervise://system@host:port/user/a`. Does not check it.
    pub(crate) fn elsewhere(text: &str) -> Self {
        let authority = text.get(SCHEME.len()..).unwrap_or_default();
        let local = text.len().min(SCHEME.len()) + authority.find('/').unwrap_or(authority.len());
        Self { text: text.into(), local }
    }

    /// The name of the system, and behind an `@` the address of its node, if the path has one.
    fn authority(&self) -> &str {
        &self.text[SCHEME.len()..self.local]
    }

    /// The name of the system.
    pub fn system(&self) -> &str {
        self.authority().split('@').next().unwrap_or_default()
    }

    /// The address of the actor's node, if the path has one: `host:port` in `supervise://system@host:port/user/a`.
    pub fn address(&self) -> Option<&str> {
        self.authority().split_once('@').map(|(_, address)| address)
    }

    /// The path within the system: `/user/a/b`.
    pub fn local(&self) -> &str {
        &self.text[self.local..]
    }

    /// The elements from the root down. The root itself has no elements.
    pub fn elements(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.local().split('/').filter(|element| !element.is_empty())
    }

    /// The last element; empty for the root.
    pub fn name(&self) -> &str {
        self.elements().next_back().unwrap_or("")
    }

    /// The path of the parent. The root's parent is the root.
    pub fn parent(&self) -> Self {
        let cut = self.local().rfind('/').unwrap_or(0).max(1);
        Self { text: Arc::from(&self.text[..self.local + cut]), local: self.local }
    }

    /// The path of a child.
    ///
    /// # Errors
    ///
    /// If the name is invalid, see [`InvalidName`].
    pub fn child(&self, name: &str) -> Result<Self, InvalidName> {
        check_element(name)?;
        Ok(self.below(name))
    }

    /// The path of a child. Does not check its name.
    pub(crate) fn below(&self, name: &str) -> Self {
        let separator = if self.local() == "/" { "" } else { "/" };
        Self { text: [&self.text, separator, name].concat().into(), local: self.local }
    }
}

/// The whole text: `supervise://system/user/a/b`.
impl AsRef<str> for ActorPath {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for ActorPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for ActorPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a text is not a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidPath {
    /// It does not begin with the scheme.
    #[error("`{0}` is not an actor path: it must begin with `supervise://`, as in `supervise://system/user/name`")]
    Scheme(String),
    /// The system's name is invalid.
    #[error("`{text}` is not an actor path: {reason}")]
    System {
        /// The text.
        text: String,
        /// What is wrong with the name.
        reason: InvalidName,
    },
    /// An element is not a valid name.
    #[error("`{text}` is not an actor path: {reason}")]
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
        let (system_name, address) = system.split_once('@').map_or((system, None), |(name, at)| (name, Some(at)));
        let is_invalid = |reason| InvalidPath::System { text: text.to_owned(), reason };
        check_system_name(system_name).map_err(is_invalid)?;
        address.map_or(Ok(()), check_address).map_err(is_invalid)?;
        let local = local.strip_prefix('/').unwrap_or(local);
        if local.is_empty() {
            return Ok(Self::from_elements(system, std::iter::empty()));
        }
        for element in local.split('/') {
            check_element(element).map_err(|reason| InvalidPath::Element { text: text.to_owned(), reason })?;
        }
        Ok(Self { text: Arc::from(text), local: SCHEME.len() + system.len() })
    }
}

/// Identifies an incarnation: random, never zero, new for every actor that is spawned. A restart keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uid(NonZeroU64);

impl Uid {
    pub(crate) fn random() -> Self {
        Self(NonZeroU64::new(fastrand::u64(1..)).unwrap_or(NonZeroU64::MIN))
    }

    /// The uid of this number, which another node has chosen. No node chooses zero, which counts as 1 here.
    #[cfg(feature = "remote")]
    pub(crate) fn of(number: u64) -> Self {
        Self(NonZeroU64::new(number).unwrap_or(NonZeroU64::MIN))
    }

    /// Parses a uid in the form that its `Display` writes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| digits).map(Self)
    }
}

impl From<Uid> for u64 {
    fn from(uid: Uid) -> Self {
        uid.0.get()
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Why a text is not a valid name for an actor or a system.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidName {
    /// The address of a node has no host or no port.
    #[error("the address `{0}` is not of the form `host:port`")]
    Address(String),
    /// It is empty.
    #[error("a name must not be empty")]
    Empty,
    /// It begins with `$`, as only names that the system makes up do.
    #[error("the name `{0}` must not begin with `$`: only the system makes such names")]
    Reserved(String),
    /// It is `..`, which stands for the parent in a path.
    #[error("a name must not be `..`: in a path, `..` is the parent")]
    Parent,
    /// It contains a character that a name must not contain.
    #[error("the name `{name}` must not contain `{found}` (byte {at}); allowed are {allowed}")]
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
    if name.starts_with(RESERVED) {
        return Err(InvalidName::Reserved(name.to_owned()));
    }
    check_element(name)
}

/// Whether this can be an element of a path: a name that a user gave or the system made up.
pub(crate) fn check_element(name: &str) -> Result<(), InvalidName> {
    match name {
        "" => return Err(InvalidName::Empty),
        ".." => return Err(InvalidName::Parent),
        _ => {}
    }
    let mut rest = name.char_indices();
    while let Some((at, found)) = rest.next() {
        let fine = match found {
            '%' => [rest.next(), rest.next()]
                .iter()
                .all(|digit| digit.is_some_and(|(_, digit)| digit.is_ascii_hexdigit())),
            other => is_name_character(other),
        };
        if !fine {
            return Err(InvalidName::Character { name: name.to_owned(), found, at, allowed: ALLOWED });
        }
    }
    Ok(())
}

/// The address of a node: `host:port`.
fn check_address(address: &str) -> Result<(), InvalidName> {
    check_element(address)?;
    let (host, port) = address.rsplit_once(':').unwrap_or((address, ""));
    if host.is_empty() || port.parse::<u16>().is_err() {
        Err(InvalidName::Address(address.to_owned()))
    } else {
        Ok(())
    }
}

/// Whether a name may contain this character, apart from `%`.
pub(crate) fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || "-_.*$+:@&=,!~';".contains(character)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_survives_printing_and_parsing() {
        for text in
            ["supervise://s/", "supervise://s/user", "supervise://s-1/user/a/b%20c/d", "supervise://s/user/$a"]
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
            "supervise://s/user/../a",
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
        for name in ["", "$a", "a/b", "a b", "ä", "%4", "%4g", "a#1", "a\n", ".."] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
