//! All the dotted paths of a shape in one trie, so that one look at a member's name tells what every path makes of it.
//!
//! A member's name may itself hold dots, so a step along a path takes as many segments as the name has. Where a step
//! leads depends only on the segments taken so far, never on how names divided them; this is why a trie of single
//! segments, no larger than the paths themselves, is enough.

use std::collections::BTreeMap;

/// A place along the paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StopId(usize);

/// The trie of segments.
#[derive(Debug, Clone)]
pub(super) struct Paths {
    stops: Vec<Stop>,
}

/// What the paths want with a value that was reached by the segments up to here.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Interest {
    /// A path of `response_fields` ends here: the whole value is kept.
    pub(super) field: bool,
    /// A path of `response_fields` goes on from here.
    pub(super) fields_below: bool,
    /// A path of a filter ends here: the value is tested.
    pub(super) filter: bool,
    /// A path of a filter goes on from here.
    pub(super) filters_below: bool,
}

#[derive(Debug, Clone, Default)]
struct Stop {
    interest: Interest,
    /// The first bytes of the segments that may follow, folded into 64 bits: most names of a document are ruled out
    /// by this alone.
    first_bytes: u64,
    /// The segments that may follow, sorted.
    next: Vec<Edge>,
}

#[derive(Debug, Clone)]
struct Edge {
    segment: Box<[u8]>,
    /// The segment's first eight bytes, zeros after its end, and which bits of a name's must be the same.
    head: u64,
    head_mask: u64,
    to: StopId,
}

/// With more segments than this after a stop, a binary search beats a look at each.
const FEW_EDGES: usize = 16;

impl Paths {
    /// Where every walk begins.
    pub(super) const START: StopId = StopId(0);

    /// `fields` are the paths to keep, `filters` those on whose way filters find their lists and values.
    pub(super) fn new<'a>(fields: impl Iterator<Item = &'a str>, filters: impl Iterator<Item = String>) -> Self {
        let mut trie = Builder { stops: vec![Stop::default()], edges: BTreeMap::new() };
        for path in fields {
            trie.insert(path, |interest, ends| {
                *(if ends { &mut interest.field } else { &mut interest.fields_below }) = true
            });
        }
        for path in filters {
            trie.insert(&path, |interest, ends| {
                *(if ends { &mut interest.filter } else { &mut interest.filters_below }) = true
            });
        }
        trie.finish()
    }

    pub(super) fn interest(&self, at: StopId) -> Interest {
        self.stops.get(at.0).map(|stop| stop.interest).unwrap_or_default()
    }

    /// Where a member called `name` leads from `at`; `None` when no path has use for it. `head` are the first eight
    /// bytes of the name, or the name and any bytes after it.
    #[inline(always)]
    pub(super) fn step(&self, at: StopId, name: &[u8], head: u64) -> Option<StopId> {
        let stop = self.stops.get(at.0)?;
        if stop.first_bytes & first_byte_bit(name) == 0 {
            return None;
        }
        if stop.next.len() > FEW_EDGES {
            return self.step_by_segments(at, name);
        }
        let same_head = |edge: &&Edge| (edge.head ^ head) & edge.head_mask == 0;
        for edge in stop.next.iter().filter(same_head) {
            let length = edge.segment.len();
            if length == name.len() {
                if length <= HEAD || edge.segment.get(HEAD..) == name.get(HEAD..) {
                    return Some(edge.to);
                }
            } else if name.get(length) == Some(&b'.') {
                return self.step_by_segments(at, name);
            }
        }
        None
    }

    fn step_by_segments(&self, mut at: StopId, name: &[u8]) -> Option<StopId> {
        for segment in name.split(|byte| *byte == b'.') {
            let next = &self.stops.get(at.0)?.next;
            let found = next.binary_search_by(|edge| edge.segment.as_ref().cmp(segment)).ok()?;
            at = next.get(found)?.to;
        }
        Some(at)
    }
}

struct Builder {
    stops: Vec<Stop>,
    edges: BTreeMap<(StopId, Box<[u8]>), StopId>,
}

impl Builder {
    /// Adds a path; `mark` is called for every stop on it, with true for the one where it ends.
    fn insert(&mut self, path: &str, mark: impl Fn(&mut Interest, bool)) {
        let mut at = Paths::START;
        for segment in path.split('.') {
            self.mark(at, |interest| mark(interest, false));
            let unused = StopId(self.stops.len());
            at = *self.edges.entry((at, segment.as_bytes().into())).or_insert(unused);
            if at == unused {
                self.stops.push(Stop::default());
            }
        }
        self.mark(at, |interest| mark(interest, true));
    }

    fn mark(&mut self, at: StopId, mark: impl Fn(&mut Interest)) {
        if let Some(stop) = self.stops.get_mut(at.0) {
            mark(&mut stop.interest);
        }
    }

    fn finish(mut self) -> Paths {
        for ((from, segment), to) in self.edges {
            if let Some(stop) = self.stops.get_mut(from.0) {
                stop.first_bytes |= first_byte_bit(&segment);
                stop.next.push(Edge { head: head_of(&segment), head_mask: head_mask(segment.len()), segment, to });
            }
        }
        Paths { stops: self.stops }
    }
}

/// How many bytes of a name are compared at once.
const HEAD: usize = size_of::<u64>();

/// The first bytes of a name as one word, the first one in the lowest bits; zeros after its end.
pub(super) fn head_of(name: &[u8]) -> u64 {
    name.iter().take(HEAD).rev().fold(0, |head, byte| head << 8 | u64::from(*byte))
}

/// The bits of a head that belong to a name of `length` bytes.
fn head_mask(length: usize) -> u64 {
    let unused = HEAD.saturating_sub(length);
    u64::MAX.checked_shr(8 * unused as u32).unwrap_or(0)
}

/// The bit of a name's first byte. Nothing counts as a dot, because a name that begins with a dot begins with an
/// empty segment.
#[inline]
fn first_byte_bit(name: &[u8]) -> u64 {
    1 << (name.first().unwrap_or(&b'.') & 63)
}

#[cfg(test)]
mod tests {
    use super::{Interest, Paths, head_of};

    fn step(paths: &[&str], names: &[&str]) -> Option<Interest> {
        let paths = Paths::new(paths.iter().copied(), std::iter::empty());
        names
            .iter()
            .try_fold(Paths::START, |at, name| paths.step(at, name.as_bytes(), head_of(name.as_bytes())))
            .map(|at| paths.interest(at))
    }

    #[test]
    fn a_name_takes_as_many_segments_as_it_has() {
        for names in [&["a.b", "c"][..], &["a", "b.c"], &["a", "b", "c"], &["a.b.c"]] {
            assert!(step(&["a.b.c"], names).is_some_and(|at| at.field), "{names:?}");
        }
    }

    #[test]
    fn part_of_a_segment_is_no_step() {
        assert!(step(&["abc.d"], &["ab"]).is_none());
        assert!(step(&["ab.d"], &["abc"]).is_none());
        for (segment, name) in [("same", "sane"), ("samename", "samenama"), ("samenames", "samenamed")] {
            assert!(step(&[segment], &[name]).is_none());
            assert!(step(&[segment], &[segment]).is_some());
        }
    }

    #[test]
    fn empty_segments_are_names_like_any_other() {
        assert!(step(&["a."], &["a", ""]).is_some_and(|at| at.field));
        assert!(step(&[".a"], &["", "a"]).is_some_and(|at| at.field));
        assert!(step(&[".a"], &[".a"]).is_some_and(|at| at.field));
    }

    #[test]
    fn one_path_may_end_where_another_goes_on() {
        assert!(step(&["a", "a.b"], &["a"]).is_some_and(|at| at.field && at.fields_below));
    }
}
