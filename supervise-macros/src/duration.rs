//! Durations in attributes: `"1m 30s"` in quotes, or one number with a unit, `60s`.

use std::time::Duration;

use proc_macro2::TokenStream;
use quote::quote;
use syn::Lit;
use syn::parse::ParseStream;

const MEND: &str = "write a number with a unit, such as `\"60s\"` or `\"1m 30s\"`";

/// Reads a duration.
fn duration(input: ParseStream<'_>) -> syn::Result<Duration> {
    let literal: Lit =
        input.parse().map_err(|error| syn::Error::new(error.span(), format!("expected a duration: {MEND}")))?;
    understood(&literal).map_err(|message| syn::Error::new(literal.span(), message))
}

fn understood(literal: &Lit) -> Result<Duration, String> {
    let text = match literal {
        Lit::Str(text) => text.value(),
        Lit::Int(number) if number.suffix().is_empty() => {
            return Err(format!("a duration needs a unit: write `\"{number}s\"` or `\"{number}ms\"`"));
        }
        Lit::Int(number) => format!("{}{}", number.base10_digits(), number.suffix()),
        Lit::Float(number) => return fractional(number),
        _ => return Err(format!("expected a duration: {MEND}")),
    };
    humantime::parse_duration(&text).map_err(|_| format!("`{text}` is not a valid duration: {MEND}"))
}

/// Reads `1.5s`. Few units can have a fraction.
fn fractional(number: &syn::LitFloat) -> Result<Duration, String> {
    let value: f64 = number.base10_parse().map_err(|_| format!("`{number}` is not a valid duration: {MEND}"))?;
    let seconds = match number.suffix() {
        "s" => value,
        "ms" => value / 1e3,
        "us" => value / 1e6,
        "m" | "min" => value * 60.0,
        "h" => value * 3600.0,
        "" => {
            return Err(format!("a duration needs a unit: write `\"{number}s\"` or `\"{number}ms\"`"));
        }
        unit => return Err(format!("unknown unit `{unit}`: {MEND}")),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("`{number}` is too long for a duration"))
}

/// Reads a duration that must not be zero.
pub(crate) fn positive(input: ParseStream<'_>) -> syn::Result<Duration> {
    let span = input.span();
    let duration = duration(input)?;
    if duration.is_zero() {
        return Err(syn::Error::new(span, "this duration must be longer than zero: write one such as `\"60s\"`"));
    }
    Ok(duration)
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

    fn read(text: &str) -> Result<Duration, String> {
        syn::parse::Parser::parse_str(duration, text).map_err(|error| error.to_string())
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
        assert_eq!(read("60").unwrap_err(), "a duration needs a unit: write `\"60s\"` or `\"60ms\"`");
        assert_eq!(read("1.5").unwrap_err(), "a duration needs a unit: write `\"1.5s\"` or `\"1.5ms\"`");
    }

    #[test]
    fn malformed_durations_are_errors_with_a_correction() {
        for text in ["\"soon\"", "\"\"", "60parsecs", "1.5weeks", "true", "\"10\"", "x", "1e400s"] {
            let error = read(text).unwrap_err();
            assert!(error.contains("duration") || error.contains("unit"), "{text}: {error}");
        }
    }

    #[test]
    fn a_positive_duration_is_not_zero() {
        let error = syn::parse::Parser::parse_str(positive, "0s").unwrap_err();
        assert_eq!(error.to_string(), "this duration must be longer than zero: write one such as `\"60s\"`");
    }
}
