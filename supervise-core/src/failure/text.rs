//! A failure in words: its text and those of its causes, each once.

use std::cell::Cell;
use std::error::Error;
use std::fmt::{self, Display, Write};

use crate::base::contained;
use crate::failure::Failure;

/// How many causes of a failure are written. The limit is needed because an error's `source()` may lead back to itself.
const MOST_CAUSES: usize = 32;

/// How many bytes are written of the text of one error, however long it is.
const MOST_BYTES: usize = 16 * 1024;

/// The largest buffer that is kept, in bytes.
const KEPT: usize = 1024;

thread_local! {
    static BUFFER: Cell<String> = const { Cell::new(String::new()) };
}

/// The text of a failure and of its causes, in one line. Many errors already include the text of their source. So a cause is
/// left out if the text so far ends with it. If a `Display` panics, the text names the type instead.
///
/// This runs user code, so no lock may be held.
pub(crate) fn text_of(failure: &Failure) -> String {
    let mut text = String::new();
    write_text(failure, &mut text);
    text
}

/// Passes the [text](text_of) on, in a buffer that this thread reuses.
///
/// This runs user code, so no lock may be held.
pub(crate) fn with_text<T>(failure: &Failure, code: impl FnOnce(&str) -> T) -> T {
    // The thread-local is missing only while the thread ends.
    let mut text = BUFFER.try_with(Cell::take).unwrap_or_default();
    write_text(failure, &mut text);
    let result = code(&text);
    if text.capacity() <= KEPT {
        text.clear();
        let _late = BUFFER.try_with(|buffer| buffer.set(text));
    }
    result
}

/// Writes the text of an error and of its causes, as [`text_of`] does for a failure. `name` stands for a text that cannot be shown.
///
/// This runs user code, so no lock may be held.
pub(crate) fn fmt_in_one_line(
    error: &(dyn Error + 'static),
    name: &str,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let mut text = String::new();
    write_chain(error, || name, &mut text);
    f.write_str(&text)
}

/// Implements `Debug` for errors: their text and those of their causes, in one line. This is what `main` prints when it returns an
/// error.
macro_rules! debug_in_one_line {
    ($($error:ident),+) => {$(
        impl ::std::fmt::Debug for $error {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                $crate::failure::fmt_in_one_line(self, stringify!($error), f)
            }
        }
    )+};
}
pub(crate) use debug_in_one_line;

fn write_text(failure: &Failure, text: &mut String) {
    write_chain(failure, || failure.type_name(), text);
}

fn write_chain<'n>(first: &(dyn Error + 'static), name: impl FnOnce() -> &'n str, text: &mut String) {
    if !shows(first, text) {
        text.clear();
        text.push_str(name());
    }
    let mut source = contained(|| first.source()).ok().flatten();
    for _ in 0..MOST_CAUSES {
        let Some(error) = source else { return };
        let mut cause = String::new();
        if !shows(error, &mut cause) {
            text.push_str(": (a cause whose `Display` panicked)");
        } else if !text.ends_with(&cause) {
            text.extend([": ", &cause]);
        }
        source = contained(|| error.source()).ok().flatten();
    }
    if source.is_some() {
        text.extend([": and further causes (only the first ", &MOST_CAUSES.to_string(), " are written)"]);
    }
}

/// Writes the text of one error, and returns whether that could be done.
fn shows(error: &dyn Error, text: &mut String) -> bool {
    contained(|| write_line(error, text)).unwrap_or(false)
}

/// A user's text as a part of one line. `None` if it cannot be shown.
///
/// This runs user code, so no lock may be held.
#[cfg(feature = "tracing")]
pub(crate) fn one_line(text: &(impl Display + ?Sized)) -> Option<String> {
    let mut line = String::new();
    write_line(text, &mut line).then_some(line)
}

/// Writes a user's text as a part of one line into an empty buffer, and returns whether that could be done.
fn write_line(text: &(impl Display + ?Sized), line: &mut String) -> bool {
    let mut line = OneLine { text: line, is_cut: false };
    let written = write!(line, "{text}").is_ok();
    if line.is_cut {
        line.text.extend([" (only the first ", &(MOST_BYTES / 1024).to_string(), " KiB are written)"]);
    }
    written || line.is_cut
}

/// Writes control characters and line separators as Rust does in a literal, and refuses to become too long.
struct OneLine<'a> {
    text: &'a mut String,
    is_cut: bool,
}

impl Write for OneLine<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        // Most texts need no look at each character.
        if self.text.len() + part.len() <= MOST_BYTES && part.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            self.text.push_str(part);
            return Ok(());
        }
        for character in part.chars() {
            if self.text.len() >= MOST_BYTES {
                self.is_cut = true;
                return Err(fmt::Error);
            }
            if character.is_control() || matches!(character, '\u{2028}' | '\u{2029}') {
                self.text.extend(character.escape_default());
            } else {
                self.text.push(character);
            }
        }
        Ok(())
    }
}

/// The beginning of a text, at most `most` bytes.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use allocation_counter::measure;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Layer {
        text: &'static str,
        source: Option<Box<Layer>>,
    }

    fn layers(texts: &[&'static str]) -> Option<Box<Layer>> {
        let (text, rest) = texts.split_first()?;
        Some(Box::new(Layer { text, source: layers(rest) }))
    }

    fn written(texts: &[&'static str]) -> String {
        text_of(&Failure::new(*layers(texts).expect("a layer")))
    }

    /// CON-16. Rule 10.2.
    #[test]
    fn each_text_is_written_once() {
        assert_eq!(written(&["cannot connect", "refused"]), "cannot connect: refused");
        assert_eq!(
            written(&["cannot connect: refused (os error 111)", "refused (os error 111)"]),
            "cannot connect: refused (os error 111)"
        );
        assert_eq!(written(&["a: b: c", "b: c", "c"]), "a: b: c");
        assert_eq!(written(&["a", "b", "b"]), "a: b");
    }

    /// Rule 10.6.
    #[test]
    fn a_text_is_one_line_of_a_bounded_length() {
        assert_eq!(written(&["a\nb", "c\r\u{1b}[31m\u{85}\u{2028}ä"]), "a\\nb: c\\r\\u{1b}[31m\\u{85}\\u{2028}ä");
        let long = text_of(&Failure::other("ä".repeat(10_000_000)));
        assert!(long.len() < MOST_BYTES + 100, "{}", long.len());
        assert!(long.ends_with("ä (only the first 16 KiB are written)"));
    }

    #[test]
    fn a_text_that_is_only_passed_on_allocates_nothing_the_second_time() {
        let [first, second] = ["refused", "lost"].map(|text| Failure::new(*layers(&[text]).expect("a layer")));
        let again = |failure: &Failure| with_text(failure, |_| with_text(failure, str::to_owned));
        assert_eq!((again(&first), again(&second)), ("refused".to_owned(), "lost".to_owned()));
        let length = |failure: &Failure| with_text(failure, str::len);
        assert_eq!(measure(|| assert_eq!(length(&first) + length(&second), 11)).count_total, 0);
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!((cut("naïve", 3), cut("naïve", 4), cut("", 4)), ("na", "naï", ""));
    }
}
