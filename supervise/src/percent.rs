//! Text in which `%40` stands for `@`.

/// The text without escapes. `None`: an escape is cut off or has other letters than hexadecimal digits, or the bytes are not UTF-8.
pub(crate) fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' { digit(rest.next()?)? << 4 | digit(rest.next()?)? } else { byte });
    }
    String::from_utf8(bytes).ok()
}

fn digit(letter: u8) -> Option<u8> {
    char::from(letter).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn only_two_hexadecimal_digits_are_an_escape() {
        assert_eq!(decoded("a%40%e2%82%AC%25+").as_deref(), Some("a@€%+"));
        for bad in ["%", "%4", "a%4g", "%+4", "%-1", "% 4", "%ff", "%é"] {
            assert_eq!(decoded(bad), None, "{bad}");
        }
    }
}
