//! Lists for people.

use std::fmt::{self, Write as _};
use std::io::{self, Write as _};

use authoring::output::{Results, line_width};
use contract::words::one_line;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The blanks between two columns.
const GAP: usize = 2;

/// The blanks before the columns that continue a row in a further line.
const INDENT: usize = 4;

/// Rows below a row of headings. Each column is as wide as its widest cell.
///
/// If a row is wider than the line, its columns continue in further lines, and so do the headings,
/// so that each cell is below its heading. Cells stay whole, so that an id can be copied. Only the
/// text of a cell that is wider than a line is broken, between words.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

/// Columns that are in one line.
#[derive(Debug, PartialEq, Eq)]
struct Band {
    /// The blanks at the begin of the line.
    indent: usize,
    /// The widths of the columns.
    widths: Vec<usize>,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new<const N: usize>(headings: [&str; N]) -> Self {
        Self { rows: vec![headings.map(str::to_owned).to_vec()] }
    }

    /// Adds a row. An empty cell is shown as `-`. Line breaks and control characters are escaped.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        let cells = cells.map(|cell| if cell.is_empty() { "-".to_owned() } else { one_line(&cell).into_owned() });
        self.rows.push(cells.to_vec());
    }

    /// Writes the table to standard output.
    ///
    /// # Errors
    /// As [`Results`].
    pub(crate) fn print(&self) -> io::Result<()> {
        write!(Results::new(), "{self}")
    }

    /// The text of the table for lines of a width.
    fn text(&self, line: Option<usize>) -> String {
        let bands = bands(&self.widths(), self.widest_last_word(), line.unwrap_or(usize::MAX));
        let mut text = String::new();
        for row in &self.rows {
            let mut cells = row.iter();
            for Band { indent, widths } in &bands {
                let cells: Vec<_> =
                    cells.by_ref().zip(widths).map(|(cell, width)| (lines(cell, *width), *width)).collect();
                let height = cells.iter().map(|(lines, _)| lines.len()).max().unwrap_or_default();
                for number in 0..height {
                    let mut line = " ".repeat(*indent);
                    for (lines, width) in &cells {
                        let part = lines.get(number).copied().unwrap_or_default();
                        line.push_str(part);
                        line.push_str(&" ".repeat(width.saturating_sub(part.width()) + GAP));
                    }
                    let _ = writeln!(text, "{}", line.trim_end());
                }
            }
        }
        text
    }

    /// The width of the widest word in the last column.
    fn widest_last_word(&self) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.last());
        cells.flat_map(|cell| cell.split(' ')).map(UnicodeWidthStr::width).max().unwrap_or_default()
    }

    /// The width of the widest cell of each column.
    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max();
        (0..columns).map(|column| width(column).unwrap_or_default()).collect()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text(line_width()))
    }
}

/// Divides columns into lines. The last column usually has the longest texts, so it stays next to
/// the others if it has half of a line there, and if none of its words is wider.
fn bands(widths: &[usize], widest_last_word: usize, line: usize) -> Vec<Band> {
    let mut bands = vec![Band { indent: 0, widths: Vec::new() }];
    let mut used = 0;
    for (column, width) in widths.iter().copied().enumerate() {
        let room = line.saturating_sub(used);
        let can_be_broken = column + 1 == widths.len() && room >= line / 2 && widest_last_word <= room;
        if width > room && used > 0 && !can_be_broken {
            bands.push(Band { indent: INDENT, widths: Vec::new() });
            used = INDENT;
        }
        let width = width.min(line.saturating_sub(used)).max(1);
        used = used.saturating_add(width).saturating_add(GAP);
        if let Some(band) = bands.last_mut() {
            band.widths.push(width);
        }
    }
    bands
}

/// The lines of a cell. A line ends between words, or inside of a word that is wider than a line.
fn lines(cell: &str, width: usize) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = cell;
    while rest.width() > width {
        let end = fitting(rest, width);
        let (end, next) = match rest.get(..=end).and_then(|part| part.rfind(' ')).filter(|blank| *blank > 0) {
            Some(blank) => (blank, blank + 1),
            None => (end, end),
        };
        lines.push(&rest[..end]);
        rest = &rest[next..];
    }
    lines.push(rest);
    lines
}

/// The end of the longest begin of a text that fits into a width. It has a character at least.
fn fitting(text: &str, width: usize) -> usize {
    let mut used = 0;
    for (at, character) in text.char_indices() {
        used += character.width().unwrap_or_default();
        if used > width && at > 0 {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls() -> Table {
        let mut table = Table::new(["AT", "REQUEST", "CONNECTOR", "STATUS", "PROBLEM"]);
        table.row([
            "2026-11-24T12:59:12.028Z".into(),
            "18faf79cd4ad5040-1".into(),
            "calendar_of_offices".into(),
            "424".into(),
            "reauthorization-required".into(),
        ]);
        table
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_lines_end_without_blanks() {
        let mut table = Table::new(["ID", "NAME", "NOTE"]);
        table.row(["1".into(), "Zürich".into(), String::new()]);
        table.row(["200".into(), "x".into(), "long".into()]);
        assert_eq!(table.text(None), "ID   NAME    NOTE\n1    Zürich  -\n200  x       long\n");
    }

    #[test]
    fn a_wide_character_takes_two_columns_and_a_combining_one_takes_none() {
        let mut table = Table::new(["NAME", "NOTE"]);
        table.row(["東京支社".into(), "a".into()]);
        table.row(["Zu\u{308}rich".into(), "b".into()]);
        assert_eq!(table.text(None), "NAME      NOTE\n東京支社  a\nZu\u{308}rich    b\n");
    }

    #[test]
    fn columns_that_do_not_fit_into_a_line_continue_below_their_headings() {
        let expected = "\
AT                        REQUEST             CONNECTOR            STATUS
    PROBLEM
2026-11-24T12:59:12.028Z  18faf79cd4ad5040-1  calendar_of_offices  424
    reauthorization-required
";
        assert_eq!(calls().text(Some(80)), expected);
        assert_eq!(calls().text(None).lines().count(), 2);
        for width in 25..120 {
            let text = calls().text(Some(width));
            assert!(text.lines().all(|line| line.width() <= width), "{width}:\n{text}");
            assert!(text.contains("18faf79cd4ad5040-1") && text.contains("reauthorization-"), "{text}");
        }
    }

    #[test]
    fn a_long_text_is_broken_between_words_below_its_heading() {
        let mut table = Table::new(["MEMBER", "VALUE"]);
        table.row(["stages".into(), "validate 0.044 ms, account 0.416 ms".into()]);
        table.row(["id".into(), "0123456789012345678901".into()]);
        let expected = "\
MEMBER  VALUE
stages  validate 0.044 ms,
        account 0.416 ms
id      0123456789012345678901
";
        assert_eq!(table.text(Some(30)), expected);
        // A word that is wider gets a line, and is broken only if it is wider than this line.
        let narrow = table.text(Some(24));
        assert!(narrow.ends_with("id\n    01234567890123456789\n    01\n"), "{narrow}");
    }

    #[test]
    fn a_line_without_room_for_one_character_still_ends() {
        assert!(calls().text(Some(1)).lines().count() > 100);
    }
}
