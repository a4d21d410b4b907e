//! The exporter, and how to read its output.

use std::collections::BTreeMap;
use std::fmt::Write;

use metrics::with_local_recorder;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusRecorder};
use supervise::metrics::Meter;

/// The exporter of one test.
pub(super) struct Exporter(PrometheusRecorder);

impl Exporter {
    pub(super) fn new() -> Self {
        Self(PrometheusBuilder::new().build_recorder())
    }

    /// Takes a look, and reads the output of the exporter.
    pub(super) fn look(&self, meter: &mut Meter) -> Scrape {
        with_local_recorder(&self.0, || meter.look());
        Scrape::read(&self.0.handle().render())
    }
}

/// The series of one scrape.
#[derive(Debug)]
pub(super) struct Scrape {
    pub(super) help: BTreeMap<String, String>,
    pub(super) kinds: BTreeMap<String, String>,
    /// By the name and the labels, without the label `system`, in the order of the labels' names.
    pub(super) series: BTreeMap<String, f64>,
}

impl Scrape {
    pub(super) fn read(text: &str) -> Self {
        let mut scrape = Self { help: BTreeMap::new(), kinds: BTreeMap::new(), series: BTreeMap::new() };
        for line in text.lines().filter(|line| !line.is_empty()) {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, help) = help.split_once(' ').unwrap();
                scrape.help.insert(name.to_owned(), help.to_owned());
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').unwrap();
                scrape.kinds.insert(name.to_owned(), kind.to_owned());
            } else {
                let (series, value) = line.rsplit_once(' ').unwrap();
                scrape.series.insert(normal(series), value.parse().unwrap());
            }
        }
        scrape
    }

    /// The value of a series: `name{label="value"}`. A type is named by the last part of its path. `None`: there is no such series.
    pub(super) fn get(&self, series: &str) -> Option<f64> {
        self.series.get(series).copied()
    }

    #[track_caller]
    pub(super) fn expect(&self, series: &str, value: f64) {
        let found = self.get(series);
        let holds = found.is_some_and(|found| (found - value).abs() < 1e-6);
        assert!(holds, "{series} is {found:?} and not {value}, in\n{self:#?}");
    }

    /// The series of a metric.
    pub(super) fn of<'s>(&'s self, metric: &'s str) -> impl Iterator<Item = (&'s str, f64)> {
        let of_metric = move |name: &str| name.split('{').next() == Some(metric);
        self.series.iter().filter(move |(name, _)| of_metric(name)).map(|(name, &value)| (&**name, value))
    }
}

fn normal(series: &str) -> String {
    let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
    let mut normal = name.to_owned();
    let labels = labels.trim_end_matches('}');
    let pairs: BTreeMap<_, _> = labels.split(',').filter_map(|pair| pair.split_once('=')).collect();
    let pairs = pairs.into_iter().filter(|&(label, _)| label != "system");
    for (at, (label, value)) in pairs.enumerate() {
        let value = value.trim_matches('"');
        let value = if ["actor", "failure"].contains(&label) { value.rsplit("::").next().unwrap() } else { value };
        write!(normal, "{}{label}=\"{value}\"", if at == 0 { "{" } else { "," }).unwrap();
    }
    if normal.contains('{') {
        normal.push('}');
    }
    normal
}
