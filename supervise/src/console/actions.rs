//! The tokens that allow changes from the console, and the requests for changes.
//!
//! Rule 22.7.

use std::fmt::{self, Write};
use std::hint::black_box;
use std::sync::Arc;

use supervise_core::{ActorSystem, Intervention, InterventionRefused};

/// Allows its bearer to change the system from the console: [`Console::allow_actions`](super::Console::allow_actions).
///
/// `Debug` shows only the label.
#[derive(Clone)]
pub struct Token {
    label: Arc<str>,
    secret: Arc<str>,
}

/// The shortest secret, in bytes.
const SHORTEST: usize = 16;
/// How many random bytes a secret has.
const RANDOM: usize = 32;

impl Token {
    /// A new secret of 256 bits from the operating system, with the label `console`.
    ///
    /// # Panics
    ///
    /// If the operating system has no random numbers.
    pub fn random() -> Self {
        let mut bytes = [0; RANDOM];
        if let Err(error) = getrandom::fill(&mut bytes) {
            panic!("the operating system gives no random numbers: {error}");
        }
        let secret = bytes.iter().fold(String::new(), |mut secret, byte| {
            _ = write!(secret, "{byte:02x}");
            secret
        });
        Self::new(secret)
    }

    /// A secret that the program has from elsewhere, with the label `console`.
    ///
    /// # Panics
    ///
    /// If the secret has fewer than 16 characters, or others than ASCII letters, digits, `-` and `_`.
    #[track_caller]
    pub fn new(secret: impl AsRef<str>) -> Self {
        let secret = secret.as_ref();
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        assert!(
            secret.len() >= SHORTEST && secret.bytes().all(fits),
            "a token has at least {SHORTEST} ASCII letters, digits, `-` and `_`"
        );
        Self { label: "console".into(), secret: secret.into() }
    }

    /// Names the bearer in the log, in events and in the cause of a restart.
    pub fn label(self, label: impl AsRef<str>) -> Self {
        Self { label: label.as_ref().into(), ..self }
    }

    /// The secret, for `Authorization: Bearer` or the page's address.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// The time that this takes depends on the length of `other` alone.
    fn is(&self, other: &[u8]) -> bool {
        let mine = self.secret.as_bytes();
        let differences = other
            .iter()
            .enumerate()
            .fold(mine.len() ^ other.len(), |all, (at, byte)| all | usize::from(byte ^ mine[at % mine.len()]));
        black_box(differences) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("label", &self.label).finish_non_exhaustive()
    }
}

/// What an operator asks for: one action on one actor, as the operator saw it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) path: String,
    pub(super) uid: u64,
    pub(super) restarts: u32,
    pub(super) what: Intervention,
}

/// A console that may change its system.
#[derive(Debug)]
pub(super) struct Actions {
    system: ActorSystem,
    tokens: Vec<Token>,
}

impl Actions {
    /// `None`: without a token there are no actions.
    pub(super) fn new(system: &ActorSystem, tokens: Vec<Token>) -> Option<Self> {
        (!tokens.is_empty()).then(|| Self { system: system.clone(), tokens })
    }

    /// The token with this secret.
    pub(super) fn token(&self, secret: &[u8]) -> Option<&Token> {
        self.tokens.iter().fold(None, |found, token| if token.is(secret) { Some(token) } else { found })
    }

    pub(super) fn first(&self) -> Option<&Token> {
        self.tokens.first()
    }

    pub(super) fn perform(&self, asked: &Asked, token: &Token) -> Result<(), InterventionRefused> {
        let actor = self.system.find(format!("{}#{}", asked.path, asked.uid));
        let actor = actor.ok_or(InterventionRefused::Changed)?;
        self.system.intervene(&actor, asked.restarts, asked.what, &token.label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn con_22_only_the_whole_secret_is_the_token() {
        let token = Token::new("0123456789abcdef");
        assert!(token.is(b"0123456789abcdef"));
        for other in [
            "",
            "0",
            "0123456789abcde",
            "0123456789abcdeg",
            "0123456789abcdef0",
            "0123456789abcdef0123456789abcdef",
        ] {
            assert!(!token.is(other.as_bytes()), "{other}");
        }
        let random = Token::random();
        assert_eq!(random.secret().len(), 2 * RANDOM);
        assert_ne!(random.secret(), Token::random().secret());
        assert!(!format!("{random:?}").contains(random.secret()));
    }

    #[test]
    #[should_panic(expected = "at least 16")]
    fn con_22_a_short_secret_is_no_token() {
        let _token = Token::new("secret");
    }
}
