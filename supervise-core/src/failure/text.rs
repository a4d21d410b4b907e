//! A failure in words: its text and those of its causes, each once.

use std::error::Error;
use std::fmt::{self, Display, Write};

use crate::base::contained;
use crate::failure::Failure;

/// How many causes of a failure are written. The limit is needed because an error's `source()` may lead back to itself.
const MOST_CAUSES: usize = 32;

/// How many bytes are written of the text of one error, however long it is.
const MOST_BYTES: usize = 16 * 1024;

/// The text of a failure and of its causes, in one line. Many errors already include the text of their source. So a cause is
/// left out if the text so far ends with it. If a `Display` panics, the text names the type instead.
///
/// This runs user code, so no lock may be held.
pub(crate) fn text_of(failure: &Failure) -> String {
    let mut text = shown(failure).unwrap_or_else(|| failure.type_name().to_owned());
    let mut source = contained(|| failure.source()).ok().flatten();
    for _ in 0..MOST_CAUSES {
        let Some(error) = source else { return text };
        match shown(error) {
            Some(cause) if text.ends_with(&cause) => {}
            Some(cause) => text = text + ": " + &cause,
            None => text += ": (a cause whose `Display` panicked)",
        }
        source = contained(|| error.source()).ok().flatten();
    }
    if source.is_some() {
        text = format!("{text}: and further causes (only the first {MOST_CAUSES} are written)");
    }
    text
}

fn shown(error: &dyn Error) -> Option<String> {
    contained(|| one_line(error)).ok().flatten()
}

/// A user's text as a part of one line. `None` if it cannot be shown.
///
/// This runs user code, so no lock may be held.
pub(crate) fn one_line(text: &(impl Display + ?Sized)) -> Option<String> {
    let mut line = OneLine { text: String::new(), is_cut: false };
    match write!(line, "{text}") {
        Ok(()) => Some(line.text),
        Err(fmt::Error) if line.is_cut => {
            Some(line.text + " (only the first " + &(MOST_BYTES / 1024).to_string() + " KiB are written)")
        }
        Err(fmt::Error) => None,
    }
}

/// Writes control characters and line separators as Rust does in a literal, and refuses to become too long.
struct OneLine {
    text: String,
    is_cut: bool,
}

impl Write for OneLine {
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
    fn a_text_is_cut_between_characters() {
        assert_eq!((cut("naïve", 3), cut("naïve", 4), cut("", 4)), ("na", "naï", ""));
    }
}
