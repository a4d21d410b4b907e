//! What a version's process measured, and the table of all versions.

use std::fmt::Write as _;
use std::time::Duration;

/// One row of the table: the scene, what was measured, and the value as text.
#[derive(Debug, Default)]
pub struct Report {
    rows: Vec<[String; 3]>,
}

impl Report {
    pub fn text(&mut self, scene: &str, what: &str, value: impl Into<String>) {
        self.rows.push([scene.to_owned(), what.to_owned(), value.into()]);
    }

    pub fn count(&mut self, scene: &str, what: &str, count: usize) {
        self.text(scene, what, count.to_string());
    }

    pub fn time(&mut self, scene: &str, what: &str, time: Option<Duration>) {
        let text = time.map_or_else(|| "never".to_owned(), |time| format!("{} ms", time.as_millis()));
        self.text(scene, what, text);
    }

    pub fn bytes(&mut self, scene: &str, what: &str, bytes: usize) {
        let text = if bytes < 10_000 { format!("{bytes} B") } else { format!("{} kB", bytes / 1000) };
        self.text(scene, what, text);
    }

    /// One line for each row, for the process that draws the table.
    pub fn to_lines(&self) -> String {
        self.rows.iter().fold(String::new(), |mut lines, row| {
            let _infallible = writeln!(lines, "{}", row.join("\t"));
            lines
        })
    }

    pub fn from_lines(lines: &str) -> Self {
        let row = |line: &str| {
            let mut cells = line.splitn(3, '\t').map(str::to_owned);
            Some([cells.next()?, cells.next()?, cells.next()?])
        };
        Self { rows: lines.lines().filter_map(row).collect() }
    }

    pub fn get(&self, scene: &str, what: &str) -> Option<&str> {
        self.rows.iter().find(|row| row[0] == scene && row[1] == what).map(|row| row[2].as_str())
    }

    /// All values of this name: the scene and the value.
    pub fn all<'a>(&'a self, what: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.rows.iter().filter(move |row| row[1] == what).map(|row| (row[0].as_str(), row[2].as_str()))
    }
}

/// Draws a Markdown table with a column for each version. Rows that are 0 for all of them are only named, below.
pub fn table(versions: &[(&str, Report)]) -> String {
    let mut lines: Vec<Vec<String>> = Vec::new();
    lines.push(
        [""].iter().chain(&[""]).copied().chain(versions.iter().map(|it| it.0)).map(str::to_owned).collect(),
    );
    let mut rows: Vec<(&str, &str)> = Vec::new();
    for [scene, what, _] in versions.iter().flat_map(|version| &version.1.rows) {
        if !rows.contains(&(scene, what)) {
            rows.push((scene, what));
        }
    }
    let is_zero = |row: &(&str, &str)| versions.iter().all(|version| version.1.get(row.0, row.1) == Some("0"));
    let (zero, rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(is_zero);
    let mut last = "";
    for (scene, what) in rows {
        let cells = versions.iter().map(|version| version.1.get(scene, what).unwrap_or("–"));
        let shown = if scene == last { "" } else { scene };
        lines.push([shown, what].into_iter().chain(cells).map(str::to_owned).collect());
        last = scene;
    }
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0).max(3);
    let widths: Vec<_> = (0..versions.len() + 2).map(width).collect();
    lines.insert(1, widths.iter().map(|width| "-".repeat(*width)).collect());
    let mut table = String::new();
    for line in &lines {
        let cells: Vec<_> = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        let _infallible = writeln!(table, "| {} |", cells.join(" | "));
    }
    let mut scenes: Vec<(&str, Vec<&str>)> = Vec::new();
    for (scene, what) in zero {
        match scenes.last_mut() {
            Some((last, all)) if *last == scene => all.push(what),
            _ => scenes.push((scene, vec![what])),
        }
    }
    let zero: Vec<_> = scenes.iter().map(|(scene, all)| format!("{scene} ({})", all.join(", "))).collect();
    let _infallible = writeln!(table, "\n0 for all: {}.", zero.join("; "));
    table
}

impl Report {
    pub fn extend(&mut self, other: Self) {
        self.rows.extend(other.rows);
    }

    /// What must not happen, and did.
    pub fn faults(&self) -> Vec<String> {
        let fatal =
            ["lost", "doubled", "keys out of order", "two sessions at once", "keys that hang", "keys left open"];
        let happened =
            fatal.iter().flat_map(|what| self.all(what).map(move |(scene, value)| (scene, *what, value)));
        happened.filter(|it| it.2 != "0").map(|(scene, what, value)| format!("{scene}: {what}: {value}")).collect()
    }
}
