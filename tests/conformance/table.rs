//! Tables on standard output. The test harness does not hold them back.

use std::io::{self, Write};

/// Prints a table with a title. The cells of the first row are the head.
pub(crate) fn print(title: &str, rows: &[Vec<String>]) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or_default()
        })
        .collect();
    let mut text = format!("\n{title}\n");
    for row in rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text.push_str(&format!("  {}\n", cells.join("  ").trim_end()));
    }
    line(&text);
}

/// Prints a line.
pub(crate) fn line(text: &str) {
    // Without a reader of standard output there is no one to report it to.
    let _ = writeln!(io::stdout(), "{text}");
}
