//! A trie of all dotted paths of a shape, so that one lookup of a member's name serves all paths.
//!
//! The name of a member may contain dots. A step along a path then takes as many segments as the
//! name has. The result of a step depends only on the segments taken so far, and not on the names
//! that they belonged to. A trie of single segments is therefore enough, and it is not larger than
//! the paths.

use std::collections::BTreeMap;

/// A node of the trie: a position along the paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StopId(usize);

/// The trie of segments.
#[derive(Debug, Clone)]
pub(super) struct Paths {
    stops: Vec<Stop>,
}

/// Positions along the paths that values have led to.
#[derive(Debug, Clone)]
pub(super) struct Found(Vec<bool>);

impl Found {
    pub(super) fn insert(&mut self, at: StopId) {
        if let Some(found) = self.0.get_mut(at.0) {
            *found = true;
        }
    }

    pub(super) fn contains(&self, at: StopId) -> bool {
        self.0.get(at.0).copied().unwrap_or_default()
    }
}

/// The use that the paths have for a value at this position.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Interest {
    /// A path of `response_fields` ends here, so that the whole value is kept.
    pub(super) field: bool,
    /// A path of `response_fields` continues below.
    pub(super) fields_below: bool,
    /// A path of a filter ends here, so that the filter reads the value.
    pub(super) filter: bool,
    /// A path of a filter continues below.
    pub(super) filters_below: bool,
}

#[derive(Debug, Clone, Default)]
struct Stop {
    interest: Interest,
    /// The first bytes of the next segments, as a set of 64 bits. This alone excludes most names of
    /// a document.
    first_bytes: u64,
    /// The next segments, sorted.
    next: Vec<Edge>,
}

#[derive(Debug, Clone)]
struct Edge {
    segment: Box<[u8]>,
    /// The first eight bytes of the segment, padded with zeros.
    head: u64,
    /// The bits of the head in which the name must agree with the segment.
    head_mask: u64,
    to: StopId,
}

/// Up to this number of next segments, comparing each is faster than a binary search.
const FEW_EDGES: usize = 16;

impl Paths {
    /// The start of all paths.
    pub(super) const START: StopId = StopId(0);

    /// Builds the trie. `fields` are the paths to keep. `filters` are the paths that filters
    /// follow.
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

    /// No position has been found.
    pub(super) fn none_found(&self) -> Found {
        Found(vec![false; self.stops.len()])
    }

    /// The positions after each segment of one of the paths.
    pub(super) fn along<'a>(&'a self, path: &'a str) -> impl Iterator<Item = StopId> + 'a {
        path.split('.').scan(Self::START, |at, segment| {
            *at = self.step(*at, segment.as_bytes(), head_of(segment.as_bytes()))?;
            Some(*at)
        })
    }

    /// The memory that the trie takes, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let of_edge = |edge: &Edge| size_of::<Edge>() + edge.segment.len();
        let of_stop = |stop: &Stop| size_of::<Stop>() + stop.next.iter().map(of_edge).sum::<usize>();
        self.stops.iter().map(of_stop).sum()
    }

    pub(super) fn interest(&self, at: StopId) -> Interest {
        self.stops.get(at.0).map(|stop| stop.interest).unwrap_or_default()
    }

    /// Returns the position after a member `name`, or `None` if no path leads there. `head` is the
    /// first eight bytes of the name. If the name is shorter, any bytes may follow it.
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
    /// Adds a path. Calls `mark` for every position along it, with `true` for the last one.
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
        // Most stops have one next segment, and a list that grows has room for four.
        self.stops.iter_mut().for_each(|stop| stop.next.shrink_to_fit());
        self.stops.shrink_to_fit();
        Paths { stops: self.stops }
    }
}

/// Number of bytes that are compared together.
const HEAD: usize = size_of::<u64>();

/// The first bytes of a name as one word, padded with zeros. The first byte is in the lowest bits.
pub(super) fn head_of(name: &[u8]) -> u64 {
    name.iter().take(HEAD).rev().fold(0, |head, byte| head << 8 | u64::from(*byte))
}

/// The bits of a head that belong to a name of `length` bytes.
fn head_mask(length: usize) -> u64 {
    let unused = HEAD.saturating_sub(length);
    u64::MAX.checked_shr(8 * unused as u32).unwrap_or(0)
}

/// The bit for the first byte of a name. An empty name counts as a dot, because a name that begins
/// with a dot begins with an empty segment.
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
    fn a_name_with_dots_takes_several_segments() {
        for names in [&["a.b", "c"][..], &["a", "b.c"], &["a", "b", "c"], &["a.b.c"]] {
            assert!(step(&["a.b.c"], names).is_some_and(|at| at.field), "{names:?}");
        }
    }

    #[test]
    fn a_part_of_a_segment_does_not_match() {
        assert!(step(&["abc.d"], &["ab"]).is_none());
        assert!(step(&["ab.d"], &["abc"]).is_none());
        for (segment, name) in [("same", "sane"), ("samename", "samenama"), ("samenames", "samenamed")] {
            assert!(step(&[segment], &[name]).is_none());
            assert!(step(&[segment], &[segment]).is_some());
        }
    }

    #[test]
    fn an_empty_segment_matches_an_empty_name() {
        assert!(step(&["a."], &["a", ""]).is_some_and(|at| at.field));
        assert!(step(&[".a"], &["", "a"]).is_some_and(|at| at.field));
        assert!(step(&[".a"], &[".a"]).is_some_and(|at| at.field));
    }

    #[test]
    fn one_path_may_end_where_another_continues() {
        assert!(step(&["a", "a.b"], &["a"]).is_some_and(|at| at.field && at.fields_below));
    }
}
