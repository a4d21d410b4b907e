//! The command line of a service: options with numbers, each with a default and a range.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::ops::RangeInclusive;

/// A program and its options.
#[derive(Debug)]
pub struct Program {
    /// The command that runs it, such as `cargo run --example intake --features intake`.
    pub command: &'static str,
    /// What it does, in a few lines.
    pub about: &'static str,
    /// The options that it has.
    pub settings: &'static [Setting],
}

/// An option that takes a number.
#[derive(Debug)]
pub struct Setting {
    /// Its name, such as `--clients`.
    pub name: &'static str,
    /// What it sets, for the usage.
    pub about: &'static str,
    /// Its value if it is not given.
    pub default: u64,
    /// The values that it may have.
    pub allowed: RangeInclusive<u64>,
}

/// The options' values.
#[derive(Debug, PartialEq, Eq)]
pub struct Values(Vec<(&'static str, u64)>);

/// What is wrong with a command line.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// There is no such option.
    #[error("unknown option `{0}`")]
    Unknown(String),
    /// The option stands at the end.
    #[error("`{0}` needs a number, as in `{0} 7`")]
    NoValue(&'static str),
    /// The value is not a number in the range.
    #[error("`{option} {value}`: expected a whole number from {}", range(.allowed))]
    BadValue {
        /// The option's name.
        option: &'static str,
        /// What was given.
        value: String,
        /// What may be given.
        allowed: RangeInclusive<u64>,
    },
}

impl Program {
    /// Reads the arguments behind the program's name. A value follows its option or an equals sign. Returns `None` for `--help`.
    ///
    /// # Errors
    ///
    /// The first argument that makes no sense.
    pub fn parse(&self, arguments: impl IntoIterator<Item = OsString>) -> Result<Option<Values>, OptionError> {
        let mut values: Vec<_> = self.settings.iter().map(|setting| (setting.name, setting.default)).collect();
        let mut arguments = arguments.into_iter().map(|argument| argument.to_string_lossy().into_owned());
        while let Some(argument) = arguments.next() {
            let (name, attached) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (argument.as_str(), None),
            };
            if matches!(name, "--help" | "-h") {
                return Ok(None);
            }
            let Some(at) = self.settings.iter().position(|setting| setting.name == name) else {
                return Err(OptionError::Unknown(name.to_owned()));
            };
            let Setting { name: option, allowed, .. } = &self.settings[at];
            let value = attached.or_else(|| arguments.next()).ok_or(OptionError::NoValue(option))?;
            values[at].1 = match value.parse() {
                Ok(number) if allowed.contains(&number) => number,
                _ => return Err(OptionError::BadValue { option, value, allowed: allowed.clone() }),
            };
        }
        Ok(Some(Values(values)))
    }

    /// What `--help` prints about the options.
    pub fn usage(&self) -> String {
        let mut usage = format!("{}\n\nUsage: {} [-- OPTIONS]\n\n", self.about, self.command);
        for Setting { name, about, default, allowed } in self.settings {
            let (option, range) = (format!("{name} N"), range(allowed));
            let _infallible = writeln!(usage, "  {option:14} {about} ({range}, default {default})");
        }
        usage
    }
}

impl Values {
    /// The value of an option.
    ///
    /// # Panics
    ///
    /// If the program has no such option, or if its range is not that of `N`.
    pub fn get<N: TryFrom<u64>>(&self, name: &str) -> N {
        let value =
            self.0.iter().find(|(option, _)| *option == name).and_then(|(_, value)| N::try_from(*value).ok());
        value.unwrap_or_else(|| panic!("`{name}` is not an option with values of this type"))
    }
}

/// A range as a user reads it.
fn range(allowed: &RangeInclusive<u64>) -> String {
    match allowed.end() {
        &u64::MAX => format!("{} to 2^64 - 1", allowed.start()),
        most => format!("{} to {most}", allowed.start()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: Program = Program {
        command: "cargo run --example shop",
        about: "A shop.",
        settings: &[
            Setting { name: "--clients", about: "how many clients send", default: 8, allowed: 1..=100 },
            Setting { name: "--port", about: "where it listens", default: 0, allowed: 0..=65_535 },
            Setting { name: "--seed", about: "selects the faults", default: 1, allowed: 0..=u64::MAX },
        ],
    };

    fn parse(line: &str) -> Result<Option<Values>, OptionError> {
        PROGRAM.parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn values_follow_their_option_or_an_equals_sign() {
        let values = parse("--port 80 --clients=3").unwrap().unwrap();
        assert_eq!((values.get::<usize>("--clients"), values.get::<u16>("--port")), (3, 80));
        assert_eq!(parse("").unwrap().unwrap().get::<u32>("--clients"), 8);
        assert_eq!(parse("--port 80 --help --nonsense"), Ok(None));
    }

    #[test]
    fn the_usage_shows_what_an_option_may_be() {
        let usage = PROGRAM.usage();
        for line in [
            "  --clients N    how many clients send (1 to 100, default 8)",
            "  --seed N       selects the faults (0 to 2^64 - 1, default 1)",
        ] {
            assert!(usage.lines().any(|shown| shown == line), "{usage}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (line, message) in [
            ("--client 7", "unknown option `--client`"),
            ("seven", "unknown option `seven`"),
            ("--port", "`--port` needs a number, as in `--port 7`"),
            ("--clients 0", "`--clients 0`: expected a whole number from 1 to 100"),
            ("--clients=x", "`--clients x`: expected a whole number from 1 to 100"),
            ("--seed -1", "`--seed -1`: expected a whole number from 0 to 2^64 - 1"),
        ] {
            assert_eq!(parse(line).expect_err(line).to_string(), message);
        }
    }
}
