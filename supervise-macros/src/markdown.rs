//! Tables in generated documentation.

/// A cell of code.
pub(crate) fn cell(code: &str) -> String {
    format!("`{}`", without_bars(code))
}

/// Text for a cell. A bar would end it, in code too.
pub(crate) fn without_bars(text: &str) -> String {
    const BAR: &str = "|";
    text.replace(BAR, "\\|")
}

/// Adds a row to a table.
pub(crate) fn row(table: &mut String, cells: &[&str]) {
    table.push_str("\n|");
    for cell in cells {
        table.push(' ');
        table.push_str(cell);
        table.push_str(" |");
    }
}
