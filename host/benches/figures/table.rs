//! Measured figures, and the table that they are printed in.

use std::fmt;

/// The unit of a value.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    /// Requests per second.
    PerSecond,
    /// Seconds, printed as µs, ms or s.
    Seconds,
    /// Bytes, printed as kB or MB.
    Bytes,
    /// Bytes per second, printed as MB/s.
    BytesPerSecond,
    /// A count.
    Count,
}

/// The goal of a figure.
pub(crate) enum Goal {
    /// Our value divided by the peer's is at least this.
    Ratio(f64),
    /// Our value divided by the peer's is at most this.
    RatioAtMost(f64),
    /// Our value is at most this.
    AtMost(f64),
}

/// One line of the table.
pub(crate) struct Figure {
    name: String,
    unit: Unit,
    ours: f64,
    peer: Option<Peer>,
    goal: Option<Goal>,
}

/// The value of a peer in the same run.
struct Peer {
    name: &'static str,
    value: f64,
    ratio: f64,
}

impl Figure {
    pub(crate) fn new(name: impl Into<String>, unit: Unit, ours: f64) -> Self {
        Self { name: name.into(), unit, ours, peer: None, goal: None }
    }

    /// Sets the peer. The ratio is computed from the two values.
    pub(crate) fn against(self, name: &'static str, value: f64) -> Self {
        let ratio = self.ours / value;
        self.against_with_ratio(name, value, ratio)
    }

    /// Sets the peer with a ratio that does not follow from the two values: the median of the
    /// ratios of paired rounds.
    pub(crate) fn against_with_ratio(mut self, name: &'static str, value: f64, ratio: f64) -> Self {
        self.peer = Some(Peer { name, value, ratio });
        self
    }

    /// Sets the goal.
    pub(crate) fn goal(mut self, goal: Goal) -> Self {
        self.goal = Some(goal);
        self
    }

    fn is_met(&self) -> Option<bool> {
        Some(match (self.goal.as_ref()?, &self.peer) {
            (Goal::AtMost(most), _) => self.ours <= *most,
            (Goal::Ratio(least), Some(peer)) => peer.ratio >= *least,
            (Goal::RatioAtMost(most), Some(peer)) => peer.ratio <= *most,
            (Goal::Ratio(_) | Goal::RatioAtMost(_), None) => return None,
        })
    }

    fn cells(&self) -> [String; 7] {
        let shown = |value| Shown(value, self.unit).to_string();
        let peer = self.peer.as_ref();
        let goal = match self.goal {
            Some(Goal::Ratio(least)) => format!("≥ {least}×"),
            Some(Goal::RatioAtMost(most)) => format!("≤ {most}×"),
            Some(Goal::AtMost(most)) => format!("≤ {}", shown(most)),
            None => String::new(),
        };
        let met = match self.is_met() {
            Some(true) => "met",
            Some(false) => "not met",
            None => "",
        };
        [
            self.name.clone(),
            shown(self.ours),
            peer.map(|peer| shown(peer.value)).unwrap_or_default(),
            peer.map(|peer| peer.name.to_owned()).unwrap_or_default(),
            peer.map(|peer| format!("{:.2}×", peer.ratio)).unwrap_or_default(),
            goal,
            met.to_owned(),
        ]
    }
}

/// Prints a value with its unit, to about three digits.
struct Shown(f64, Unit);

impl fmt::Display for Shown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(value, unit) = *self;
        let (value, unit) = match unit {
            Unit::PerSecond => (value, "/s"),
            Unit::Count => (value, ""),
            Unit::Seconds if value < 1e-3 => (value * 1e6, " µs"),
            Unit::Seconds if value < 1.0 => (value * 1e3, " ms"),
            Unit::Seconds => (value, " s"),
            Unit::Bytes if value < 1e6 => (value / 1e3, " kB"),
            Unit::Bytes => (value / 1e6, " MB"),
            Unit::BytesPerSecond => (value / 1e6, " MB/s"),
        };
        let digits = if value < 100.0 && value.fract() != 0.0 { 1 } else { 0 };
        write!(formatter, "{value:.digits$}{unit}")
    }
}

/// The table: a heading and a line for each figure.
pub(crate) fn text(figures: &[Figure]) -> String {
    let heading = ["figure", "ours", "peer's", "peer", "ratio", "goal", ""].map(str::to_owned);
    let rows: Vec<_> = std::iter::once(heading).chain(figures.iter().map(Figure::cells)).collect();
    let mut widths = [0; 7];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in &rows {
        let cells: Vec<String> = row
            .iter()
            .zip(widths)
            .enumerate()
            // Numbers are aligned to the right, names to the left.
            .map(|(column, (cell, width))| match column {
                1 | 2 | 4 | 5 => format!("{cell:>width$}"),
                _ => format!("{cell:<width$}"),
            })
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// The median of some values; for an even number of values, the mean of the two in the middle.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.len().saturating_sub(1) / 2, values.len() / 2);
    match (values.get(low), values.get(high)) {
        (Some(low), Some(high)) => f64::midpoint(*low, *high),
        _ => f64::NAN,
    }
}
