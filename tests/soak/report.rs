//! The tables of a run, as they are printed and written.

use std::fmt::Display;
use std::fs;
use std::path::PathBuf;
use std::thread::available_parallelism;
use std::time::Duration;

use support::module;

use crate::phases::Phase;
use crate::tally::Count;

/// The text before the tables.
const HEADER: &str = include_str!("soak.md.in");

/// The beginning of the sentence about the whole run.
const RUN: &str = "\nThis run: ";

/// The beginning of the simulation's section, which `host/simulation/schedules` writes.
const SIMULATION: &str = "\n## Simulation\n";

/// A line of a table, and whether it shows what was expected.
pub(crate) struct Row {
    cells: Vec<String>,
    is_expected: bool,
}

impl Row {
    /// A figure.
    pub(crate) fn new(name: &str, value: impl Display, is_expected: bool) -> Self {
        Self::of(vec![name.to_owned(), value.to_string()], is_expected)
    }

    /// A line with these cells.
    pub(crate) fn of(cells: Vec<String>, is_expected: bool) -> Self {
        Self { cells, is_expected }
    }
}

/// The results.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) figures: Vec<Row>,
    pub(crate) phases: Vec<Row>,
    pub(crate) outcomes: Vec<Row>,
    pub(crate) service: Vec<Row>,
    pub(crate) troubles: Vec<Row>,
    pub(crate) events: Vec<Row>,
    pub(crate) outages: Vec<Row>,
    pub(crate) stalls: Vec<Row>,
    /// Sentences about what was not expected.
    pub(crate) unexpected: Vec<String>,
}

/// The line of a phase.
pub(crate) fn phase(phase: &Phase, goal: Duration, memory_mb: u64) -> Row {
    let (calls, slowest) = phase.seen.calls();
    let cells = vec![
        phase.name.to_owned(),
        calls.to_string(),
        format!("{} ms", slowest.as_millis()),
        format!("{} ms", phase.seen.worst_health().as_millis()),
        format!("{} MB", phase.seen.peak_mb()),
    ];
    Row::of(cells, slowest < goal && phase.seen.peak_mb() <= memory_mb && calls > 0)
}

/// The line of an outcome.
pub(crate) fn outcome(load: &str, outcome: &str, count: Count) -> Row {
    let cells = [load.to_owned(), outcome.to_owned(), count.calls.to_string(), count.unexpected.to_string()];
    Row::of(cells.into(), count.unexpected == 0)
}

impl Report {
    /// Returns `true` if only expected things happened.
    pub(crate) fn is_clean(&self) -> bool {
        let of_load = [&self.figures, &self.phases, &self.outcomes];
        let tables =
            of_load.into_iter().chain([&self.service, &self.troubles, &self.events, &self.outages, &self.stalls]);
        self.unexpected.is_empty() && tables.flatten().all(|row| row.is_expected)
    }

    /// Prints the tables, and what was not expected.
    pub(crate) fn print(&self) {
        println!("\n{}", self.sections().concat());
        for what in &self.unexpected {
            println!("  ✗ {what}");
        }
        println!(
            "\n{}",
            if self.is_clean() { "Only expected things happened." } else { "Something unexpected happened." }
        );
    }

    /// Writes the tables to `host/docs/soak.md`.
    pub(crate) fn write(&self, minutes: f64) {
        let cores = available_parallelism().map_or(0, usize::from);
        let verdict = if self.is_clean() { "Only expected things happened." } else { "Something unexpected happened." };
        let run = format!("This run: {minutes} minutes of mixed load on {cores} cores. {verdict}");
        let page = page();
        // The simulation has written its section, which is the last one.
        let former = fs::read_to_string(&page).unwrap_or_default();
        let simulation = former.find(SIMULATION).map_or("", |at| &former[at..]);
        fs::write(&page, format!("{HEADER}\n{run}\n\n{}{simulation}", self.sections().concat()))
            .expect("the page is written");
    }

    /// Writes the tables of a part that ran alone in place of the former ones.
    pub(crate) fn write_part(&self) {
        let page = page();
        let former = fs::read_to_string(&page).unwrap_or_default();
        let mut text = former.find(RUN).map_or(former.clone(), |at| format!("{HEADER}{}", &former[at..]));
        for section in self.sections() {
            let (title, table) = section.split_once("\n\n").unwrap_or((&section, ""));
            text = with_section(&text, &format!("{title}\n\nThis part ran alone, after the others.\n\n{table}"));
        }
        fs::write(&page, text).expect("the page is written");
    }

    /// The tables that have lines, each with its title.
    fn sections(&self) -> Vec<String> {
        let tables: [(&str, &[&str], &[Row]); 8] = [
            ("Figures", &["figure", "value"], &self.figures),
            (
                "What a bystander sees",
                &["phase", "calls", "99 of 100 within", "longest `/healthz`", "most memory"],
                &self.phases,
            ),
            ("Outcomes", &["load", "outcome", "calls", "unexpected"], &self.outcomes),
            ("Three gateways as one service", &["figure", "value"], &self.service),
            ("One gateway of three is in trouble", &["figure", "value"], &self.troubles),
            ("Services notify two gateways", &["figure", "value"], &self.events),
            (
                "PostgreSQL is stopped during refreshes",
                &[
                    "stopped for",
                    "gateways",
                    "provider takes",
                    "accounts",
                    "lost",
                    "tokens sent twice",
                    "all serve after",
                ],
                &self.outages,
            ),
            (
                "PostgreSQL stalls during refreshes",
                &[
                    "stalled for, and longer for one",
                    "gateways",
                    "provider takes",
                    "accounts",
                    "lost",
                    "tokens sent twice",
                    "all serve after",
                ],
                &self.stalls,
            ),
        ];
        let filled = tables.into_iter().filter(|(_, _, rows)| !rows.is_empty());
        filled.map(|(title, heading, rows)| format!("## {title}\n\n{}\n", table(heading, rows))).collect()
    }
}

fn page() -> PathBuf {
    let folder = module::root().join("host/docs");
    fs::create_dir_all(&folder).expect("the folder of the page exists");
    folder.join("soak.md")
}

/// The page with a section in place of the one with the same title, or as the last one before that
/// of the simulation.
fn with_section(page: &str, section: &str) -> String {
    let title = section.lines().next().unwrap_or_default();
    let found = page.find(&format!("{title}\n"));
    let from = found.or_else(|| page.find(SIMULATION)).unwrap_or(page.len());
    let until = found.map_or(from, |from| page[from..].find("\n## ").map_or(page.len(), |length| from + length));
    let (before, after) = (&page[..from], &page[until..]);
    format!("{}\n\n{}\n{after}", before.trim_end(), section.trim_end())
}

/// A table in Markdown. A line that is not as expected has a mark in its last column.
fn table(heading: &[&str], rows: &[Row]) -> String {
    let heading: Vec<String> = heading.iter().map(|name| (*name).to_owned()).chain([String::new()]).collect();
    let body = rows.iter().map(|row| {
        let mark = if row.is_expected { "" } else { "✗" };
        row.cells.iter().cloned().chain([mark.to_owned()]).collect::<Vec<_>>()
    });
    let lines: Vec<Vec<String>> = std::iter::once(heading).chain(body).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
    let print = |line: &[String]| {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!(" {cell:<width$} "));
        format!("|{}|\n", cells.collect::<Vec<_>>().join("|"))
    };
    let rule = widths.iter().map(|width| "-".repeat(width + 2)).collect::<Vec<_>>().join("|");
    let mut text = print(&lines[0]) + &format!("|{rule}|\n");
    lines[1..].iter().for_each(|line| text.push_str(&print(line)));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_replaces_its_own_section_or_becomes_the_last_one_before_the_simulation() {
        let page = "text\n\n## One\n\na\n\n## Two\n\nb\n\n## Simulation\n\nc\n";
        let changed = with_section(page, "## One\n\nnew\n");
        assert_eq!(changed, page.replace("\na\n", "\nnew\n"));
        let added = with_section(page, "## Three\n\nnew\n");
        assert_eq!(added, page.replace("## Sim", "## Three\n\nnew\n\n## Sim"));
        assert_eq!(with_section("text\n", "## One\n\na\n"), "text\n\n## One\n\na\n");
    }
}
