//! The alert rules, the board and the table of the documentation name only metrics and labels that exist.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use supervise::metrics::{Kind, SERIES, Series};

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

fn series(name: &str) -> Option<&'static Series> {
    SERIES.iter().find(|series| {
        let rest = name.strip_prefix(series.name);
        match series.kind {
            Kind::Histogram => matches!(rest, Some("_sum" | "_count")),
            Kind::Buckets => matches!(rest, Some("_bucket" | "_count")),
            _ => rest == Some(""),
        }
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').filter(|word| !word.is_empty())
}

/// The labels in `{label="..", ..}` and in `by (label, ..)`.
fn labels(expression: &str) -> BTreeSet<&str> {
    let mut labels = BTreeSet::new();
    for selector in expression.split('{').skip(1) {
        let (selector, _) = selector.split_once('}').unwrap();
        // The first word of each matcher; a comma within a value would need more.
        labels.extend(selector.split(',').filter_map(|matcher| words(matcher).next()));
    }
    for by in expression.split(" by (").skip(1) {
        labels.extend(words(by.split_once(')').unwrap().0));
    }
    labels
}

/// Returns the metrics that an expression names.
#[track_caller]
fn check(expression: &str) -> Vec<&'static str> {
    let names = words(expression).filter(|word| word.starts_with("supervise_"));
    let used: Vec<_> =
        names.map(|name| *series(name).unwrap_or_else(|| panic!("no metric {name}: {expression}"))).collect();
    assert!(!used.is_empty(), "no metric in {expression}");
    for label in labels(expression) {
        for series in &used {
            let has = ["system", if series.kind == Kind::Buckets { "le" } else { "system" }].contains(&label)
                || series.labels.contains(&label);
            assert!(has, "{} has no label {label}: {expression}", series.name);
        }
    }
    used.iter().map(|series| series.name).collect()
}

fn strings<'v>(value: &'v Value, key: &str, found: &mut Vec<&'v str>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| strings(value, key, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name == key => found.push(text),
                    _ => strings(value, key, found),
                }
            }
        }
        _ => {}
    }
}

/// Rule 24.3.
#[test]
fn con_29_each_alert_rule_names_metrics_and_labels_that_exist() {
    let rules = read("examples/data/supervise_alerts.yaml");
    let expressions: Vec<_> = rules.lines().filter_map(|line| line.trim().strip_prefix("expr: ")).collect();
    assert_eq!(expressions.len(), rules.matches("- alert: ").count());
    let used: BTreeSet<_> = expressions.into_iter().flat_map(check).collect();
    let needed = [
        "restarts_total",
        "restart_budget_used_ratio",
        "mailbox_oldest_seconds",
        "stuck_actors",
        "dead_letters_total",
    ];
    for metric in needed {
        assert!(used.contains(&*format!("supervise_{metric}")), "no alert on {metric}");
    }
}

/// Rule 24.3. The tool of Prometheus understands the rules, and their tests hold. It is in the Debian package `prometheus`; elsewhere this is skipped.
#[test]
fn met_12_promtool_accepts_the_alert_rules_and_their_tests_hold() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/data");
    for (what, file) in [("check", "supervise_alerts.yaml"), ("test", "supervise_alerts_test.yaml")] {
        let ran = match Command::new("promtool").args([what, "rules", file]).current_dir(&data).output() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                println!("skipped: promtool is not installed");
                return;
            }
            ran => ran.unwrap(),
        };
        let said = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "promtool {what} rules {file}:\n{said}");
    }
}

/// Rule 24.3.
#[test]
fn con_29_the_board_shows_each_metric_with_labels_that_exist() {
    let board: Value = serde_json::from_str(&read("examples/data/supervise_grafana.json")).unwrap();
    let mut expressions = Vec::new();
    strings(&board, "expr", &mut expressions);
    let shown: BTreeSet<_> = expressions.into_iter().flat_map(check).collect();
    assert_eq!(shown, SERIES.iter().map(|series| series.name).collect());
    let mut variables = Vec::new();
    strings(&board, "definition", &mut variables);
    assert_eq!(variables.into_iter().map(|variable| check(variable).len()).sum::<usize>(), 2);
}

/// Rule 24.3.
#[test]
fn met_08_the_documentation_lists_each_metric_with_its_kind_and_labels() {
    let page = read("supervise/docs/metrics.md");
    let listed: BTreeSet<_> = page.lines().filter_map(|line| line.strip_prefix("| `supervise_")).collect();
    let there: BTreeSet<_> = SERIES
        .iter()
        .map(|Series { name, kind, labels, help, .. }| {
            let labels: Vec<_> = labels.iter().map(|label| format!("`{label}`")).collect();
            let name = name.strip_prefix("supervise_").unwrap();
            format!("{name}` | {} | {} | {help} |", format!("{kind:?}").to_lowercase(), labels.join(", "))
        })
        .collect();
    assert_eq!(listed, there.iter().map(String::as_str).collect());
}
