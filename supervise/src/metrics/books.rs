//! The value of each series, and which value the recorder already has. The recorder is told how much a counter has
//! grown, so a counter never falls, whatever a look finds. A gauge that a look does not set becomes 0.

use std::collections::HashMap;
use std::sync::Arc;

use metrics::{Label, SharedString, counter, gauge, histogram};

use super::series::Series;

/// The values of the labels of a series, in their order.
type Values = Vec<SharedString>;

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    now: u64,
    told: u64,
}

#[derive(Debug)]
pub(super) struct Books {
    system: SharedString,
    counters: HashMap<(&'static str, Values), (Series, Count)>,
    gauges: HashMap<(&'static str, Values), (Series, f64)>,
}

impl Books {
    pub(super) fn new(system: &str) -> Self {
        Self { system: Arc::<str>::from(system).into(), counters: HashMap::new(), gauges: HashMap::new() }
    }

    fn count(&mut self, series: Series, values: Values) -> &mut Count {
        &mut self.counters.entry((series.name, values)).or_insert((series, Count::default())).1
    }

    pub(super) fn add(&mut self, series: Series, values: Values, more: u64) {
        self.count(series, values).now += more;
    }

    /// Sets the total of a counter. The recorder is not told of a total that is less than before.
    pub(super) fn total(&mut self, series: Series, values: Values, total: u64) {
        self.count(series, values).now = total;
    }

    /// All gauges are 0 until they are set.
    pub(super) fn clear_gauges(&mut self) {
        for (_, value) in self.gauges.values_mut() {
            *value = 0.0;
        }
    }

    pub(super) fn gauge(&mut self, series: Series, values: Values, value: f64) {
        self.gauges.entry((series.name, values)).or_insert((series, 0.0)).1 = value;
    }

    pub(super) fn observe(&self, series: Series, values: Values, value: f64) {
        histogram!(series.name, self.labels(series, &values)).record(value);
    }

    /// Makes the present values of the counters their start: the recorder is only told what is added from now on.
    pub(super) fn begin_here(&mut self) {
        for (_, count) in self.counters.values_mut() {
            count.told = count.now;
        }
    }

    /// Tells the recorder of this thread.
    pub(super) fn tell(&mut self) {
        let mut counters = std::mem::take(&mut self.counters);
        for ((name, values), (series, count)) in &mut counters {
            let more = count.now.saturating_sub(count.told);
            counter!(*name, self.labels(*series, values)).increment(more);
            count.told += more;
        }
        self.counters = counters;
        for ((name, values), (series, value)) in &self.gauges {
            gauge!(*name, self.labels(*series, values)).set(*value);
        }
    }

    fn labels(&self, series: Series, values: &[SharedString]) -> Vec<Label> {
        let system = Label::new("system", self.system.clone());
        let others = series.labels.iter().zip(values).map(|(&label, value)| Label::new(label, value.clone()));
        std::iter::once(system).chain(others).collect()
    }
}
