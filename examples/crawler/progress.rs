//! Shows how far the crawl is: a bar on a terminal, now and then a line elsewhere.

use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use supervise_examples::service::say;

/// How far the crawl is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Pages that some page links to.
    pub(crate) known: usize,
    pub(crate) indexed: usize,
    pub(crate) aside: usize,
    pub(crate) under_way: usize,
    /// Pages that came back and are read again.
    pub(crate) again: usize,
    /// How many of these found no room at a stage.
    pub(crate) full: usize,
    pub(crate) finished: bool,
}

/// Where it is shown.
#[derive(Debug)]
pub(crate) enum Display {
    Bar(ProgressBar),
    /// Lines. The number is that of the pages when the last line was written.
    Lines(usize),
}

/// A line is written after this many pages.
const STEP: usize = 250;

impl Display {
    pub(crate) fn new() -> Self {
        if !std::io::stdout().is_terminal() {
            return Self::Lines(0);
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stdout());
        let style = ProgressStyle::with_template("{bar:40} {pos:>5} of {len} known pages  {msg}");
        Self::Bar(bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())))
    }

    pub(crate) fn show(&mut self, progress: Progress) {
        let Progress { known, indexed, aside, under_way, again, finished, .. } = progress;
        match self {
            Self::Bar(bar) => {
                bar.set_length(known as u64);
                bar.set_position((indexed + aside) as u64);
                bar.set_message(format!("set aside: {aside}, under way: {under_way}, read again: {again}"));
                if finished {
                    bar.abandon();
                }
            }
            Self::Lines(last) if finished || indexed >= *last + STEP => {
                *last = indexed;
                say(&format!("{indexed} of {known} known pages indexed; set aside: {aside}, read again: {again}"));
            }
            Self::Lines(_) => {}
        }
    }
}
