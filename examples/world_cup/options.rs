//! Parses the command line. This module does not know what the options do.

use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

pub(crate) const USAGE: &str = "\
Computes the tables of a World Cup with supervised actors that read from a feed server that misbehaves.

Usage: cargo run --example world_cup [-- [PATH] [OPTIONS]]

  PATH                   a tournament in JSON; without it, the World Cup 2022

  --seed N               selects which faults happen (default 5)
  --faults PERCENT       how many requests go wrong, 0 to 100 (default 30)
  --feeds N              how many feed actors share the work, 1 to 64 (default 4)
  --server-dies-after N  the server goes down for good after it has served N matches
  --help                 print this text

Exit codes: 0 every match was counted once; 1 a match was lost or counted twice; 2 there was nothing to
compute, or the command line is wrong; 3 every readable match was counted, but some records were unreadable.";

/// What the user wants.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Run(Options),
}

/// The settings of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) path: Option<PathBuf>,
    pub(crate) seed: u64,
    pub(crate) faults: u8,
    pub(crate) feeds: usize,
    pub(crate) server_dies_after: Option<u32>,
}

/// What is wrong with the command line.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OptionError {
    #[error("unknown option `{0}`")]
    Unknown(String),
    #[error("`{0}` needs a value, as in `{0} 7`")]
    NoValue(&'static str),
    #[error("`{option} {value}`: expected {expected}")]
    BadValue { option: &'static str, value: String, expected: &'static str },
    #[error("one file at a time: `{}` comes after `{}`", .second.display(), .first.display())]
    TwoPaths { first: PathBuf, second: PathBuf },
}

impl Default for Options {
    fn default() -> Self {
        Self { path: None, seed: 5, faults: 30, feeds: 4, server_dies_after: None }
    }
}

impl Command {
    /// Reads the arguments behind the program's name. Values follow their option or an equals sign.
    ///
    /// # Errors
    ///
    /// The first argument that makes no sense.
    pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, OptionError> {
        let mut options = Options::default();
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let text = argument.to_string_lossy().into_owned();
            let (name, attached) = match text.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name.to_owned(), Some(value.to_owned())),
                _ => (text, None),
            };
            let value = || attached.or_else(|| arguments.next().map(|next| next.to_string_lossy().into_owned()));
            match name.as_str() {
                "--help" | "-h" => return Ok(Self::Help),
                "--seed" => {
                    options.seed =
                        number("--seed", value(), &(0..=u64::MAX), "a whole number from 0 to 2^64 - 1")?;
                }
                "--faults" => {
                    options.faults = number("--faults", value(), &(0..=100), "a whole number from 0 to 100")?;
                }
                "--feeds" => options.feeds = number("--feeds", value(), &(1..=64), "a whole number from 1 to 64")?,
                "--server-dies-after" => {
                    let served =
                        number("--server-dies-after", value(), &(0..=u32::MAX), "a whole number of matches")?;
                    options.server_dies_after = Some(served);
                }
                option if option.starts_with('-') => return Err(OptionError::Unknown(name)),
                _ => {
                    let path = PathBuf::from(argument);
                    if let Some(first) = options.path.take() {
                        return Err(OptionError::TwoPaths { first, second: path });
                    }
                    options.path = Some(path);
                }
            }
        }
        Ok(Self::Run(options))
    }
}

fn number<N: FromStr + PartialOrd>(
    option: &'static str,
    value: Option<String>,
    allowed: &RangeInclusive<N>,
    expected: &'static str,
) -> Result<N, OptionError> {
    let value = value.ok_or(OptionError::NoValue(option))?;
    match value.parse() {
        Ok(number) if allowed.contains(&number) => Ok(number),
        _ => Err(OptionError::BadValue { option, value, expected }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Command, OptionError> {
        Command::parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn nothing_means_the_defaults() {
        assert_eq!(parse(""), Ok(Command::Run(Options::default())));
    }

    #[test]
    fn options_and_the_path_come_in_any_order() {
        let expected = Options {
            path: Some(PathBuf::from("cup.json")),
            seed: 7,
            faults: 50,
            feeds: 2,
            server_dies_after: Some(20),
        };
        let line = "--seed 7 --faults=50 cup.json --feeds 2 --server-dies-after 20";
        assert_eq!(parse(line), Ok(Command::Run(expected)));
    }

    #[test]
    fn help_wins() {
        assert_eq!(parse("--seed 7 --help --nonsense"), Ok(Command::Help));
    }

    #[test]
    fn mistakes_are_named() {
        for (line, message) in [
            ("--sede 7", "unknown option `--sede`"),
            ("--seed", "`--seed` needs a value, as in `--seed 7`"),
            ("--faults 101", "`--faults 101`: expected a whole number from 0 to 100"),
            ("--feeds 0", "`--feeds 0`: expected a whole number from 1 to 64"),
            ("--seed x", "`--seed x`: expected a whole number from 0 to 2^64 - 1"),
            ("a.json b.json", "one file at a time: `b.json` comes after `a.json`"),
        ] {
            assert_eq!(parse(line).expect_err(line).to_string(), message);
        }
    }
}
