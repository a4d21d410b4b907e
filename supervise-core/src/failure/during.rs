//! Which code of an actor failed.

use std::fmt;

/// The code that an actor ran when it failed: a handler, or a hook or other code of its own.
///
/// `Display` writes a handler's name as its block writes it, so that a search finds it, and a hook's name.
/// Rule [10.5](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-10.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum During {
    /// The handler of this name. An actor that is written by hand and names no handlers has one, `handle`.
    Handler(&'static str),
    /// A `#[watch]` method: the actor was told that a watched actor had ended.
    Watch,
    /// `#[stash_while]`.
    StashWhile,
    /// A future, a stream or a blocking closure that the actor had started (rule
    /// [17.3](https://docs.rs/supervise-actors/latest/supervise/docs/semantics/index.html#rule-17.3)).
    Work,
    /// The factory.
    Factory,
    /// The declaration of a `#[child]` field.
    Child,
    /// `#[pre_start]`, which also runs after a restart unless there is a `#[post_restart]`.
    PreStart,
    /// `#[post_restart]`.
    PostRestart,
    /// `#[pre_restart]`.
    PreRestart,
    /// `#[post_stop]`, which also runs before a restart unless there is a `#[pre_restart]`.
    PostStop,
    /// The decider of the actor's table, or a guard of one of its rules.
    Decider,
}

/// The numbers by which a mailbox stores the code that its actor runs. Handlers are numbered from 1, in their
/// order.
impl During {
    const FIRST_HOOK: u16 = u16::MAX - 16;

    /// The number of a hook. 0 for a handler, which this type does not number.
    pub(crate) const fn number(self) -> u16 {
        let hook = match self {
            Self::Handler(_) => return 0,
            Self::Watch => 0,
            Self::StashWhile => 1,
            Self::Work => 2,
            Self::Factory => 3,
            Self::Child => 4,
            Self::PreStart => 5,
            Self::PostRestart => 6,
            Self::PreRestart => 7,
            Self::PostStop => 8,
            Self::Decider => 9,
        };
        Self::FIRST_HOOK + hook
    }

    /// The code of this number, in an actor with these handlers. `None` for 0, which stands for no code.
    pub(crate) fn numbered(number: u16, handlers: &[&'static str]) -> Option<Self> {
        const HOOKS: [During; 10] = [
            During::Watch,
            During::StashWhile,
            During::Work,
            During::Factory,
            During::Child,
            During::PreStart,
            During::PostRestart,
            During::PreRestart,
            During::PostStop,
            During::Decider,
        ];
        if let Some(hook) = number.checked_sub(Self::FIRST_HOOK) {
            return HOOKS.get(usize::from(hook)).copied();
        }
        let handler = usize::from(number.checked_sub(1)?);
        handlers.get(handler).copied().map(Self::Handler)
    }
}

impl fmt::Display for During {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl During {
    /// The handler's name, or a word for the hook.
    pub fn name(self) -> &'static str {
        match self {
            Self::Handler(name) => name,
            Self::Watch => "watch",
            Self::StashWhile => "stash_while",
            Self::Work => "work",
            Self::Factory => "factory",
            Self::Child => "child",
            Self::PreStart => "pre_start",
            Self::PostRestart => "post_restart",
            Self::PreRestart => "pre_restart",
            Self::PostStop => "post_stop",
            Self::Decider => "decider",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_of_the_code_that_has_it() {
        for number in During::FIRST_HOOK..=u16::MAX {
            if let Some(hook) = During::numbered(number, &[]) {
                assert_eq!(hook.number(), number, "{hook}");
            }
        }
        assert_eq!(During::numbered(During::Decider.number(), &[]), Some(During::Decider), "the last one");
        let handlers = ["charge", "refund"];
        assert_eq!(During::numbered(2, &handlers), Some(During::Handler("refund")));
        assert_eq!(During::numbered(3, &handlers), None);
        assert_eq!(During::numbered(0, &handlers), None);
    }
}
