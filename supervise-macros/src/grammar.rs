//! The grammar of the attributes as tables. Each word or argument has one row, with its value and its meaning.
//!
//! Parsing, the errors about unknown words, the expansion and the documentation of the attributes read these tables. A
//! new word or argument is one more row in [`words`] or [`arguments`].

#[macro_use]
mod table;

#[macro_use]
pub(crate) mod words;

#[macro_use]
pub(crate) mod arguments;

#[macro_use]
pub(crate) mod reserved;

use proc_macro2::{Ident, TokenStream};

use crate::errors::Errors;
use crate::settings::{self, Setting};
use crate::spelling::{closest, unknown};

/// One of a few words that are allowed in one place.
pub(crate) trait Word: Copy + 'static {
    /// What the words of this kind are called.
    const KIND: &'static str;
    /// The words.
    const WORDS: &'static [&'static str];

    /// The word for this value.
    fn word(self) -> &'static str;

    /// What this value means, in a sentence.
    fn meaning(self) -> &'static str;

    /// The name of the type and of the variant, which are the same in `supervise`.
    fn path(self) -> (&'static str, &'static str);

    /// The value that `word` stands for.
    fn named(word: &str) -> Option<Self>;

    /// The value that `word` stands for. Reports a misspelled word and returns the value that is probably meant.
    fn read(word: &Ident, errors: &mut Errors) -> syn::Result<Self> {
        if let Some(value) = Self::named(&word.to_string()) {
            return Ok(value);
        }
        let meant = meant_word(word, (Self::KIND, Self::WORDS), errors)?;
        match Self::named(meant) {
            Some(value) => Ok(value),
            None => Err(unknown(Self::KIND, word, Self::WORDS)),
        }
    }
}

/// Reports that `word` is none of `words`, and returns the one that is probably meant. Apart from [`Word::read`], so that rustc compiles it
/// once.
fn meant_word(
    word: &Ident,
    (kind, words): (&str, &[&'static str]),
    errors: &mut Errors,
) -> syn::Result<&'static str> {
    let unknown = unknown(kind, word, words);
    match closest(&word.to_string(), words) {
        Some(meant) => {
            errors.add(unknown);
            Ok(meant)
        }
        None => Err(unknown),
    }
}

/// A set of arguments, each of which may be given at most once.
pub(crate) trait Arguments: Default {
    /// What the arguments of this set are called.
    const KIND: &'static str;
    /// Their names.
    const WORDS: &'static [&'static str];

    /// Reads `setting` into the argument it names. Returns `false` if it names none.
    fn set(&mut self, setting: &Setting, errors: &mut Errors) -> bool;

    /// Reads all of `tokens`.
    fn read(tokens: TokenStream, errors: &mut Errors) -> Self {
        Self::of(&settings::parse(tokens, errors), errors)
    }

    /// Reads all of `settings`.
    fn of(settings: &[Setting], errors: &mut Errors) -> Self {
        let mut arguments = Self::default();
        let names = (Self::KIND, Self::WORDS);
        read_all(settings, &mut |setting, errors| arguments.set(setting, errors), names, errors);
        arguments
    }

    /// Reports that `setting` names no argument, and reads it as the one that is probably meant.
    fn refuse(&mut self, setting: &Setting, errors: &mut Errors) {
        refuse(setting, &mut |setting, errors| self.set(setting, errors), (Self::KIND, Self::WORDS), errors);
    }
}

/// Reads a setting into the argument it names. Returns `false` if it names none.
type Set<'a> = &'a mut dyn FnMut(&Setting, &mut Errors) -> bool;

/// Reads all of `settings`. Apart from [`Arguments::of`], so that rustc compiles it once.
fn read_all(settings: &[Setting], set: Set<'_>, names: (&str, &[&str]), errors: &mut Errors) {
    for setting in settings {
        if !set(setting, errors) {
            refuse(setting, set, names, errors);
        }
    }
}

/// Reports a setting of an unknown name. Apart from [`Arguments::refuse`], so that rustc compiles it once.
fn refuse(setting: &Setting, set: Set<'_>, (kind, words): (&str, &[&str]), errors: &mut Errors) {
    errors.add(unknown(kind, &setting.name, words));
    if let Some(meant) = meant(setting, words) {
        set(&meant, &mut Errors::new());
    }
}

/// The setting under the name that is probably meant. It stands in for the misspelled one, so that nothing seems to be missing; its own
/// errors follow from the first and are not reported.
pub(crate) fn meant(setting: &Setting, words: &[&str]) -> Option<Setting> {
    let meant = closest(&setting.name.to_string(), words)?;
    let mut renamed = setting.clone();
    renamed.name = Ident::new(meant, setting.span());
    Some(renamed)
}

/// One argument of a set.
pub(crate) struct Argument<T> {
    /// The argument as it was written.
    given: Option<Setting>,
    /// Its value, if it was given and can be read.
    pub(crate) value: Option<T>,
}

/// Reads the value of an argument. The text is an example of the whole argument.
type Read<T> = fn(&Setting, &'static str, &mut Errors) -> syn::Result<T>;

impl<T> Argument<T> {
    /// The argument as it was written, also if its value cannot be read.
    pub(crate) fn given(&self) -> Option<&Setting> {
        self.given.as_ref()
    }

    /// Reads `setting`, or reports that it is given twice.
    pub(crate) fn set(&mut self, setting: &Setting, read: Read<T>, example: &'static str, errors: &mut Errors) {
        if is_first(&mut self.given, setting, errors) {
            let value = read(setting, example, errors);
            self.value = errors.keep(value);
        }
    }
}

/// Remembers `setting`, or reports that it is given twice. Apart from [`Argument::set`], so that rustc compiles it once.
fn is_first(given: &mut Option<Setting>, setting: &Setting, errors: &mut Errors) -> bool {
    if let Some(first) = given {
        errors.add(setting.after(first));
        return false;
    }
    *given = Some(setting.clone());
    true
}

impl<T> Default for Argument<T> {
    fn default() -> Self {
        Self { given: None, value: None }
    }
}
