//! Durations in attributes: `"1m 30s"` in quotes, or one number with a unit, `60s`.

use std::fmt::Display;
use std::time::Duration;

use proc_macro2::TokenStream;
use quote::quote;
use syn::Lit;

/// The duration of a literal, which must not be zero. `example` is the setting as in the grammar, such as `linger = "10ms"`.
pub(crate) fn positive(literal: &Lit, example: &str) -> syn::Result<Duration> {
    let duration = understood(literal, example).and_then(|duration| {
        if duration.is_zero() {
            return Err(format!("this duration must be longer than zero: write one such as `{example}`"));
        }
        Ok(duration)
    });
    duration.map_err(|message| syn::Error::new(literal.span(), message))
}

fn understood(literal: &Lit, example: &str) -> Result<Duration, String> {
    let mend = || format!("write a number with a unit, such as `{example}`");
    let text = match literal {
        Lit::Str(text) => text.value(),
        Lit::Int(number) if number.suffix().is_empty() => return Err(unitless(number, example)),
        Lit::Int(number) => format!("{}{}", number.base10_digits(), number.suffix()),
        Lit::Float(number) => return fractional(number, example),
        _ => return Err(format!("expected a duration: {}", mend())),
    };
    if !text.is_empty() && text.chars().all(|letter| letter.is_ascii_digit()) {
        return Err(unitless(&text, example));
    }
    humantime::parse_duration(&text).map_err(|_| format!("`{text}` is not a valid duration: {}", mend()))
}

/// The message for a number without a unit. It proposes the unit of the example first.
fn unitless(number: &dyn Display, example: &str) -> String {
    let (name, value) = example.split_once(" = ").unwrap_or(("", example));
    let unit = value.trim_matches(|letter: char| letter == '"' || letter.is_ascii_digit());
    let other = if unit == "s" { "ms" } else { "s" };
    format!("a duration needs a unit: write `{name} = \"{number}{unit}\"` or `{name} = \"{number}{other}\"`")
}

/// Reads `1.5s`. Few units can have a fraction.
fn fractional(number: &syn::LitFloat, example: &str) -> Result<Duration, String> {
    let mend = || format!("write a number with a unit, such as `{example}`");
    let value: f64 =
        number.base10_parse().map_err(|_| format!("`{number}` is not a valid duration: {}", mend()))?;
    let seconds = match number.suffix() {
        "s" => value,
        "ms" => value / 1e3,
        "us" => value / 1e6,
        "m" | "min" => value * 60.0,
        "h" => value * 3600.0,
        "" => return Err(unitless(number, example)),
        unit => return Err(format!("unknown unit `{unit}`: {}", mend())),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("`{number}` is too long for a duration"))
}

/// The duration as an expression.
pub(crate) fn expression(duration: Duration) -> TokenStream {
    let (seconds, nanos) = (duration.as_secs(), duration.subsec_nanos());
    if nanos == 0 {
        quote!(::core::time::Duration::from_secs(#seconds))
    } else if let (0, Ok(millis)) = (nanos % 1_000_000, u64::try_from(duration.as_millis())) {
        quote!(::core::time::Duration::from_millis(#millis))
    } else {
        quote!(::core::time::Duration::new(#seconds, #nanos))
    }
}

/// The duration for a reader.
pub(crate) fn spoken(duration: Duration) -> String {
    humantime::format_duration(duration).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = "within = \"60s\"";

    fn read(text: &str) -> Result<Duration, String> {
        let literal: Lit = syn::parse_str(text).expect("a literal");
        understood(&literal, EXAMPLE)
    }

    #[test]
    fn quoted_and_bare_durations_are_read() {
        for (text, millis) in [
            ("\"60s\"", 60_000),
            ("\"1m 30s\"", 90_000),
            ("60s", 60_000),
            ("250ms", 250),
            ("1.5s", 1_500),
            ("0.25ms", 0),
            ("2m", 120_000),
            ("1_000ms", 1_000),
            ("1.5h", 5_400_000),
        ] {
            assert_eq!(read(text).map(|duration| duration.as_millis()), Ok(millis), "{text}");
        }
    }

    #[test]
    fn a_number_without_a_unit_is_refused() {
        assert_eq!(
            read("60").unwrap_err(),
            "a duration needs a unit: write `within = \"60s\"` or `within = \"60ms\"`"
        );
        assert_eq!(
            read("1.5").unwrap_err(),
            "a duration needs a unit: write `within = \"1.5s\"` or `within = \"1.5ms\"`"
        );
    }

    #[test]
    fn malformed_durations_are_errors_with_a_correction() {
        for text in ["\"soon\"", "\"\"", "60parsecs", "1.5weeks", "true", "\"10\"", "1e400s"] {
            let error = read(text).unwrap_err();
            assert!(error.contains("duration") || error.contains("unit"), "{text}: {error}");
        }
    }

    #[test]
    fn the_unit_of_the_example_comes_first() {
        for (example, message) in [
            ("linger = \"10ms\"", "write `linger = \"5ms\"` or `linger = \"5s\"`"),
            ("keep = \"30d\"", "write `keep = \"5d\"` or `keep = \"5s\"`"),
            ("idle = \"5m\"", "write `idle = \"5m\"` or `idle = \"5s\"`"),
        ] {
            for text in ["5", "\"5\""] {
                let literal: Lit = syn::parse_str(text).expect("a literal");
                let error = understood(&literal, example).unwrap_err();
                assert_eq!(error, format!("a duration needs a unit: {message}"));
            }
        }
    }

    #[test]
    fn a_positive_duration_is_not_zero() {
        let literal: Lit = syn::parse_str("0s").expect("a literal");
        let error = positive(&literal, EXAMPLE).unwrap_err();
        assert_eq!(
            error.to_string(),
            "this duration must be longer than zero: write one such as `within = \"60s\"`"
        );
    }
}
