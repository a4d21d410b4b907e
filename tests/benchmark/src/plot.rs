//! The curves of `scaling` as one SVG: a panel per axis, both scales logarithmic, a line per cost.

use std::fmt::Write;

use crate::scaling::{Axis, COSTS, Curve};

const PANEL: (f64, f64) = (360.0, 320.0);
/// Left, top, right, bottom of a panel's lines.
const MARGIN: (f64, f64, f64, f64) = (60.0, 40.0, 20.0, 45.0);
const LEGEND: f64 = 110.0;
const COLOURS: [&str; 8] =
    ["#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#17becf"];

pub fn svg(curves: &[Curve]) -> String {
    let width = PANEL.0 * Axis::ALL.len() as f64;
    let height = PANEL.1 + LEGEND;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    let costs = curves.iter().flat_map(|curve| curve.points.iter().map(|(_, summary)| summary.median));
    let (low, high) = decades(costs);
    for (index, axis) in Axis::ALL.into_iter().enumerate() {
        let of_axis: Vec<_> = curves.iter().filter(|curve| curve.axis == axis).collect();
        let sizes = decades(of_axis.iter().flat_map(|curve| curve.points.iter().map(|&(size, _)| size as f64)));
        let panel = Panel { left: PANEL.0 * index as f64, sizes, costs: (low, high) };
        panel.frame(&mut svg, axis.name());
        for curve in of_axis {
            panel.line(&mut svg, curve);
        }
    }
    legend(&mut svg);
    svg.push_str("</svg>\n");
    svg
}

/// The powers of ten around all values.
fn decades(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) =
        values.fold((f64::MAX, f64::MIN_POSITIVE), |(low, high), value| (low.min(value), high.max(value)));
    (low.log10().floor(), high.log10().ceil())
}

struct Panel {
    left: f64,
    /// Exponents of ten.
    sizes: (f64, f64),
    costs: (f64, f64),
}

impl Panel {
    fn x(&self, size: f64) -> f64 {
        let share = (size.log10() - self.sizes.0) / (self.sizes.1 - self.sizes.0);
        self.left + MARGIN.0 + share * (PANEL.0 - MARGIN.0 - MARGIN.2)
    }

    fn y(&self, cost: f64) -> f64 {
        let share = (cost.log10() - self.costs.0) / (self.costs.1 - self.costs.0);
        PANEL.1 - MARGIN.3 - share * (PANEL.1 - MARGIN.1 - MARGIN.3)
    }

    fn frame(&self, svg: &mut String, title: &str) {
        let middle = self.left + (PANEL.0 + MARGIN.0 - MARGIN.2) / 2.0;
        text(svg, (middle, 22.0), "middle", &format!("cost by {title}"));
        let (left, right) = (self.left + MARGIN.0, self.left + PANEL.0 - MARGIN.2);
        for cost in powers(self.costs) {
            let y = self.y(cost);
            line(svg, (left, y), (right, y));
            text(svg, (left - 6.0, y + 4.0), "end", &nanoseconds(cost));
        }
        let (top, bottom) = (MARGIN.1, PANEL.1 - MARGIN.3);
        for size in powers(self.sizes) {
            let x = self.x(size);
            line(svg, (x, top), (x, bottom));
            text(svg, (x, bottom + 16.0), "middle", &thousands(size));
        }
        text(svg, (middle, bottom + 34.0), "middle", title);
    }

    fn line(&self, svg: &mut String, curve: &Curve) {
        let points: Vec<_> = curve
            .points
            .iter()
            .map(|(size, summary)| format!("{:.1},{:.1}", self.x(*size as f64), self.y(summary.median)))
            .collect();
        // Writing to a string cannot fail, here and below.
        let _written = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"/>",
            points.join(" "),
            colour(curve.cost)
        );
    }
}

fn legend(svg: &mut String) {
    for (index, cost) in COSTS.into_iter().enumerate() {
        let x = 60.0 + 260.0 * (index / 3) as f64;
        let y = PANEL.1 + 25.0 + 22.0 * (index % 3) as f64;
        let _written = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{}\" width=\"18\" height=\"4\" fill=\"{}\"/>",
            y - 6.0,
            colour(cost)
        );
        text(svg, (x + 26.0, y), "start", cost);
    }
}

fn colour(cost: &str) -> &'static str {
    COSTS.iter().position(|known| *known == cost).map_or("black", |index| COLOURS[index])
}

fn powers((low, high): (f64, f64)) -> impl Iterator<Item = f64> {
    std::iter::successors(Some(low), |exponent| Some(exponent + 1.0))
        .take_while(move |exponent| *exponent <= high)
        .map(|exponent| 10_f64.powf(exponent))
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64)) {
    let _written = writeln!(
        svg,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#ddd\"/>",
        from.0, from.1, to.0, to.1
    );
}

fn text(svg: &mut String, at: (f64, f64), anchor: &str, words: &str) {
    let _written =
        writeln!(svg, "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{words}</text>", at.0, at.1);
}

fn nanoseconds(value: f64) -> String {
    match value {
        ..1e3 => format!("{value:.0} ns"),
        ..1e6 => format!("{:.0} µs", value / 1e3),
        _ => format!("{:.0} ms", value / 1e6),
    }
}

fn thousands(value: f64) -> String {
    match value {
        ..1e3 => format!("{value:.0}"),
        ..1e6 => format!("{:.0} k", value / 1e3),
        _ => format!("{:.0} M", value / 1e6),
    }
}
