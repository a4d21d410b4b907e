//! Looks at a system, and passes what it finds to the collector. Sends no message, and runs no code of an
//! actor.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use supervise_core::{ActorSystem, Event, Events, Interest, Strategy};

use super::collector::{Collector, View};
use super::sight::{Happening, Sight};
use super::text::text;

/// Looks at a system on request, for tests on a paused clock and for programs that look in a task of their own.
/// [`Console::by_hand`](super::Console::by_hand) makes it.
///
/// Ages and rates are exact to within the time between two looks, so look often.
pub struct Watch {
    system: ActorSystem,
    events: Events,
    collector: Collector,
    texts: bool,
    view: View,
}

impl Watch {
    pub(super) fn new(system: &ActorSystem, texts: bool) -> Self {
        let events = system.events().subscribe_to(Interest::FAILURES | Interest::DEAD_LETTERS);
        let mut watch =
            Self { system: system.clone(), events, collector: Collector::default(), texts, view: View::default() };
        watch.look();
        watch
    }

    /// Reads the events since the last look, and looks at each actor.
    ///
    /// The time is proportional to the number of actors. A look delays an actor by no more than the time to list 1024 children
    /// (rule [22.1](https://docs.rs/supervise/latest/supervise/docs/semantics/index.html#rule-22.1)).
    pub fn look(&mut self) {
        while let Some(event) = self.events.try_recv() {
            self.happened(event);
        }
        let began = Instant::now();
        let mut look = self.collector.look(self.system.uptime());
        // How the actors above supervise, from the root down.
        let mut above: Vec<Strategy> = Vec::new();
        self.system.look(|glimpse| {
            above.truncate(glimpse.depth());
            look.see(&Sight::of(glimpse, above.last()));
            above.push(glimpse.strategy());
        });
        self.view = View { took: began.elapsed(), ..look.close() };
    }

    /// The problems, the worst first, then the last failures, in lines of at most 80 columns.
    pub fn text(&self) -> String {
        text(self.system.name(), &self.view)
    }

    pub(super) fn happened(&mut self, event: Event) {
        if let Some(mut happening) = Happening::of(&event) {
            if let (Happening::Failed(decision), false) = (&mut happening, self.texts) {
                decision.text.clear();
            }
            self.collector.happened(happening, self.system.uptime());
        }
    }

    pub(super) fn system(&self) -> &ActorSystem {
        &self.system
    }

    pub(super) fn events(&mut self) -> &mut Events {
        &mut self.events
    }

    pub(super) fn view(&self) -> &View {
        &self.view
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("system", &self.system).finish_non_exhaustive()
    }
}

/// A view, and its JSON.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) view: View,
    json: std::sync::OnceLock<Arc<str>>,
}

impl From<View> for Snapshot {
    fn from(view: View) -> Self {
        Self { view, json: std::sync::OnceLock::new() }
    }
}

impl Snapshot {
    /// The JSON. It is written once, for all readers.
    pub(super) fn json(&self, system: &str) -> Arc<str> {
        Arc::clone(self.json.get_or_init(|| super::json::json(system, &self.view).into()))
    }
}
