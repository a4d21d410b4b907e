//! Shows the progress of the work: a bar on a terminal, occasional lines elsewhere.

use std::io::{IsTerminal as _, Write as _};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The progress of the work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Unknown until the index has arrived.
    pub(crate) matches: Option<usize>,
    pub(crate) counted: usize,
    /// Feeds that have not been stopped.
    pub(crate) feeds: usize,
    /// How often a request failed.
    pub(crate) failed: usize,
    /// Nothing more will happen: all matches are counted, or no feed is left.
    pub(crate) finished: bool,
}

/// Where progress is shown.
#[derive(Debug)]
pub(crate) enum Display {
    Bar(ProgressBar),
    Lines { shown: Progress },
}

impl Display {
    /// A bar if standard output is a terminal, otherwise lines.
    pub(crate) fn new() -> Self {
        if !std::io::stdout().is_terminal() {
            return Self::Lines { shown: Progress::default() };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stdout());
        let style = ProgressStyle::with_template("{bar:40} {pos:>3} of {len} matches  {msg}");
        Self::Bar(bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())))
    }

    /// Shows the current progress.
    pub(crate) fn show(&mut self, progress: Progress) {
        match self {
            Self::Bar(bar) => {
                bar.set_length(progress.matches.unwrap_or_default() as u64);
                bar.set_position(progress.counted as u64);
                bar.set_message(progress.asides());
                if progress.finished {
                    bar.abandon();
                }
            }
            Self::Lines { shown } if progress.is_news_after(*shown) => {
                *shown = progress;
                let line = format!("{} of {} matches  {}", progress.counted, progress.total(), progress.asides());
                // The reader may have closed our output; the work continues.
                let _ = writeln!(std::io::stdout(), "{line}");
            }
            Self::Lines { .. } => {}
        }
    }
}

impl Progress {
    fn asides(self) -> String {
        format!("failed attempts: {}, feeds: {}", self.failed, self.feeds)
    }

    fn total(self) -> String {
        self.matches.map_or_else(|| "?".to_owned(), |matches| matches.to_string())
    }

    /// Whether to print a line: another quarter is done, a feed is lost, or the work is over.
    fn is_news_after(self, shown: Self) -> bool {
        let quarter = |progress: Self| match progress.matches {
            Some(matches) if matches > 0 => progress.counted * 4 / matches,
            _ => 0,
        };
        self != shown
            && (self.finished
                || self.feeds < shown.feeds
                || self.matches != shown.matches
                || quarter(self) > quarter(shown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Progress = Progress { matches: Some(64), counted: 0, feeds: 4, failed: 0, finished: false };

    #[test]
    fn a_line_is_worth_a_quarter_a_lost_feed_or_the_end() {
        assert!(START.is_news_after(Progress::default()));
        assert!(!START.is_news_after(START));
        assert!(!Progress { counted: 15, failed: 3, ..START }.is_news_after(START));
        assert!(Progress { counted: 16, ..START }.is_news_after(START));
        assert!(Progress { feeds: 3, ..START }.is_news_after(START));
        assert!(Progress { finished: true, ..START }.is_news_after(START));
    }
}
