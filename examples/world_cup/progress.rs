//! Shows how far the work is: a bar on a terminal, a line now and then elsewhere.

use std::io::{IsTerminal as _, Write as _};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How far the work is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Unknown until the index has arrived.
    pub(crate) matches: Option<usize>,
    pub(crate) counted: usize,
    /// Feeds that have not been stopped.
    pub(crate) feeds: usize,
    /// How often an answer failed to come.
    pub(crate) failed: usize,
    /// Nothing more will happen: either all is counted, or there is no feed left.
    pub(crate) finished: bool,
}

/// Where progress is shown.
#[derive(Debug)]
pub(crate) enum Display {
    Bar(ProgressBar),
    Lines { shown: Progress },
}

impl Display {
    /// A bar if standard output is a terminal, lines if not.
    pub(crate) fn new() -> Self {
        if !std::io::stdout().is_terminal() {
            return Self::Lines { shown: Progress::default() };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stdout());
        let style = ProgressStyle::with_template("{bar:40} {pos:>3} of {len} matches  {msg}");
        Self::Bar(bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())))
    }

    /// Shows how far the work is now.
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
                // Whoever read our output may have closed it; the work goes on.
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

    /// Whether it is worth a line of its own: a quarter more is done, a feed is lost, or it is over.
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
