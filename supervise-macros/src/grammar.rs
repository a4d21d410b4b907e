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
use crate::spelling::unknown;

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

    /// The value that `word` stands for, or an error that says what is probably meant.
    fn read(word: &Ident) -> syn::Result<Self> {
        match Self::named(&word.to_string()) {
            Some(value) => Ok(value),
            None => Err(unknown(Self::KIND, word, Self::WORDS)),
        }
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
        let mut arguments = Self::default();
        read_all(tokens, &mut |setting, errors| arguments.set(setting, errors), (Self::KIND, Self::WORDS), errors);
        arguments
    }
}

/// Reads all of `tokens` with `set`. Apart from [`Arguments::read`], so that rustc compiles it once.
fn read_all(
    tokens: TokenStream,
    set: &mut dyn FnMut(&Setting, &mut Errors) -> bool,
    (kind, words): (&str, &[&str]),
    errors: &mut Errors,
) {
    for setting in &settings::parse(tokens, errors) {
        if !set(setting, errors) {
            errors.add(unknown(kind, &setting.name, words));
        }
    }
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
