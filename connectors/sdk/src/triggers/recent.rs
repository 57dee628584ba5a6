//! The cursor of a list that a service orders by time.

use std::time::Duration;

use serde::Serialize;

use crate::clock;
use crate::input::{Fields, FromJson};

/// The cursor of a list that a service orders by time: the ids of the newest items, and the time
/// from which the list is read again.
///
/// A time alone is no cursor. Two items can have the same time, and an item can appear in the list
/// after a later one. So each read begins some minutes before the newest item, and an item that
/// this value does not know is new:
///
/// 1. The first read [adds](Recent::add) the newest items of the list to a default value.
/// 2. A later read asks for the items after [`Recent::since`], takes those that are
///    [`Recent::is_new`], the oldest first, and adds each that it answers.
/// 3. At the end of each read, [`Recent::keep`] drops what is older than the overlap.
///
/// An item that appears later than the overlap allows is not found. If there are too many items in
/// the overlap for the cursor, the overlap becomes shorter: no item comes twice.
///
/// Times are RFC 3339 in UTC with a `Z` at the end, as the service writes them.
///
/// ```
/// # use std::time::Duration;
/// # use connector_sdk::triggers::Recent;
/// let mut recent = Recent::default();
/// recent.add("a", "2026-03-02T10:20:00Z");
/// recent.keep(Duration::from_secs(300), 6 << 10);
/// assert_eq!(recent.since(), Some("2026-03-02T10:15:00Z"));
/// assert!(!recent.is_new("a", "2026-03-02T10:20:00Z"));
/// assert!(recent.is_new("late", "2026-03-02T10:19:00Z"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Recent {
    /// Items of this time and before it are not new. `None` if every item may be.
    since: Option<String>,
    /// The latest time in the list. `None` if there was none.
    newest: Option<String>,
    /// The time and the id of each known item after `since`, with a space between them.
    known: Vec<String>,
}

impl Recent {
    /// No known items. Those up to this time are not new. For the cursor of a connector that kept the
    /// newest time only.
    #[must_use]
    pub fn starting_at(newest: Option<String>) -> Self {
        Self { since: newest.clone(), newest, known: Vec::new() }
    }

    /// The same known items, for a service that does not list the items after [`Recent::since`] any
    /// more. Every other item may be new.
    #[must_use]
    pub fn restarted(self) -> Self {
        Self { since: None, newest: None, ..self }
    }

    /// Items of this time and before it are not new. `None` if every item may be new.
    #[must_use]
    pub fn since(&self) -> Option<&str> {
        self.since.as_deref()
    }

    /// The latest time in the list. `None` if no item was seen.
    #[must_use]
    pub fn newest(&self) -> Option<&str> {
        self.newest.as_deref()
    }

    /// Returns `true` for an item that is not known and later than [`Recent::since`].
    #[must_use]
    pub fn is_new(&self, id: &str, time: &str) -> bool {
        self.is_after_start(time) && !self.known.iter().any(|known| split(known).1 == id)
    }

    /// Knows an item from now on.
    pub fn add(&mut self, id: &str, time: &str) {
        self.reach(time);
        if self.is_after_start(time) {
            self.known.push(format!("{time} {id}"));
        }
    }

    /// Notes that the list reaches up to this time.
    pub fn reach(&mut self, time: &str) {
        if self.newest.as_deref().is_none_or(|newest| plain(time) > plain(newest)) {
            self.newest = Some(time.to_owned());
        }
    }

    /// Drops what is older than the newest time by more than the overlap. If the known items then
    /// need more than `bytes`, the oldest of them are dropped too, and what is not later than they
    /// are is not new. A cursor is at most 8 KiB.
    pub fn keep(&mut self, overlap: Duration, bytes: usize) {
        let start = self.newest.as_deref().and_then(|newest| before(newest, overlap));
        if let Some(start) = start.filter(|start| self.is_after_start(start)) {
            self.begin_after(start);
        }
        self.known.sort_unstable_by(|one, other| plain(split(one).0).cmp(plain(split(other).0)));
        let mut needed = 0;
        let fits = |known: &&String| {
            // With its quotes and the comma.
            needed += known.len() + 3;
            needed <= bytes
        };
        let kept = self.known.iter().rev().take_while(fits).count();
        let dropped = self.known.drain(..self.known.len() - kept).next_back();
        if let Some(dropped) = dropped {
            self.begin_after(split(&dropped).0.to_owned());
        }
    }

    /// Items of this time and before it are not new, for example because the first read has not seen
    /// them all.
    pub fn begin_after(&mut self, since: String) {
        self.known.retain(|known| plain(split(known).0) > plain(&since));
        self.since = Some(since);
    }

    fn is_after_start(&self, time: &str) -> bool {
        self.since.as_deref().is_none_or(|since| plain(time) > plain(since))
    }
}

impl FromJson for Recent {
    fn from_json(json: &str) -> Option<Self> {
        let fields = Fields::parse(json).ok()?;
        let known = fields.required("known").ok()?;
        Some(Self { since: fields.optional("since").ok()?, newest: fields.optional("newest").ok()?, known })
    }
}

/// The time and the id of a known item.
fn split(known: &str) -> (&str, &str) {
    known.split_once(' ').unwrap_or((known, ""))
}

/// A time without the `Z`. The order of such texts is the order of the times, with and without
/// fractions.
fn plain(time: &str) -> &str {
    time.trim_end_matches('Z')
}

/// The time before another one. `None` if that is no time in UTC.
fn before(time: &str, by: Duration) -> Option<String> {
    let by = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
    Some(clock::rfc3339(clock::parse(time)?.saturating_sub(by)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Recent;
    use crate::input::FromJson;
    use crate::triggers::Value;

    const OVERLAP: Duration = Duration::from_secs(60);

    fn recent() -> Recent {
        Recent::starting_at(Some("2026-03-02T10:00:00Z".to_owned()))
    }

    #[test]
    fn an_item_is_new_once_whenever_it_appears_in_the_overlap() {
        let mut recent = recent();
        assert!(!recent.is_new("before", "2026-03-02T09:59:59.9Z"), "it was there before the first read");
        for (id, time) in [("a", "2026-03-02T10:05:00.5Z"), ("b", "2026-03-02T10:04:30Z")] {
            assert!(recent.is_new(id, time));
            recent.add(id, time);
        }
        recent.keep(OVERLAP, 1 << 10);
        assert_eq!((recent.since(), recent.newest()), (Some("2026-03-02T10:04:00Z"), Some("2026-03-02T10:05:00.5Z")));
        assert!(recent.is_new("same", "2026-03-02T10:05:00.5Z"));
        assert!(recent.is_new("late", "2026-03-02T10:04:00.1Z"));
        assert!(!recent.is_new("a", "2026-03-02T10:05:00.5Z") && !recent.is_new("b", "2026-03-02T10:04:30Z"));
        assert!(!recent.is_new("later", "2026-03-02T10:04:00Z"), "the overlap has an end");
        recent.reach("2026-03-02T10:05:45Z");
        recent.keep(OVERLAP, 1 << 10);
        assert!(!recent.is_new("b", "2026-03-02T10:04:30Z") && recent.is_new("c", "2026-03-02T10:04:46Z"));
        let recent = recent.restarted();
        assert!(recent.since().is_none() && recent.is_new("old", "2026-03-02T09:00:00Z"));
        assert!(!recent.is_new("a", "2026-03-02T10:05:00.5Z"));
    }

    #[test]
    fn the_overlap_is_shorter_if_its_items_need_too_many_bytes() {
        let mut recent = recent();
        for number in 10..60 {
            recent.add(&format!("id-{number}"), &format!("2026-03-02T10:00:{number}Z"));
        }
        // Two of one time, of which the cursor has no room for both.
        recent.add("id-50b", "2026-03-02T10:00:50Z");
        // Each needs 29 bytes at most.
        recent.keep(OVERLAP, 29 * 10);
        assert_eq!(recent.since(), Some("2026-03-02T10:00:50Z"));
        let cursor = Value::of(&recent).unwrap_or_else(|fault| panic!("{fault:?}"));
        assert!(cursor.0.len() < 29 * 10 + 100, "{}", cursor.0);
        assert_eq!(Recent::from_json(&cursor.0), Some(recent.clone()));
        for number in 10..60 {
            assert!(!recent.is_new(&format!("id-{number}"), &format!("2026-03-02T10:00:{number}Z")), "{number}");
        }
        assert!(recent.is_new("late", "2026-03-02T10:00:50.5Z"));
        // A service that writes times in another way.
        let mut other = Recent::starting_at(None);
        assert!(other.is_new("a", "10:00"));
        other.add("a", "10:00");
        other.keep(OVERLAP, 1 << 10);
        assert_eq!((other.since(), other.is_new("a", "10:00"), other.is_new("b", "10:00")), (None, false, true));
    }
}
