//! The fields that led nowhere.
//!
//! The pass that reads an outline steps over values that are kept whole, so it does not see the
//! fields inside of them. A second pass looks for the fields that the first one has not found. It
//! collects the names that the document has where a field ends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::ShapeError;
use super::paths::{Found, Paths, StopId, head_of};
use super::scan::Scanner;
use super::text::decoded;

/// Number of objects at one place whose names are collected. The elements of a list usually have
/// the same names.
const MAX_OBJECTS: usize = 20;

/// Maximum number of names at one place.
const MAX_NAMES: usize = 200;

/// A longer name is not collected: a caller would not mean it with a path that led nowhere.
const MAX_NAME_BYTES: usize = 256;

/// A path of `response_fields` that led nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmatched {
    /// The path.
    pub path: String,
    /// Length of the part of the path that led to a value, with the dot after it.
    matched: usize,
    /// The names of the members of this value, or of the objects in it if it is a list. At most 200,
    /// without names of more than 256 bytes. Paths that led to the same value share the names: a
    /// caller may send a thousand paths.
    pub members: Arc<[String]>,
}

impl Unmatched {
    /// The part of the path that led to a value, with the dot after it. Empty if there is no such
    /// part.
    pub fn matched(&self) -> &str {
        self.path.get(..self.matched).unwrap_or_default()
    }

    /// The first name that was not found.
    pub fn missing(&self) -> &str {
        self.path.get(self.matched..).and_then(|rest| rest.split('.').next()).unwrap_or_default()
    }
}

/// Returns the fields that lead nowhere in a document. The document begins at `position`, and is
/// known to be valid JSON.
pub(super) fn unmatched(document: &[u8], position: usize, fields: &[&str]) -> Vec<Unmatched> {
    if fields.is_empty() {
        return Vec::new();
    }
    // The paths of filters lead into values that are kept whole.
    let paths = Paths::new(std::iter::empty(), fields.iter().map(|field| (*field).to_owned()));
    let mut found = paths.none_found();
    found.insert(Paths::START);
    let mut search =
        Search { scanner: Scanner::new(document, position), paths: &paths, found, places: BTreeMap::new() };
    search.scanner.whitespace();
    if search.value(Paths::START, 0).is_err() {
        return Vec::new();
    }
    let Search { found, places, .. } = search;
    let names: BTreeMap<StopId, Arc<[String]>> =
        places.into_iter().map(|(at, place)| (at, place.names.into_iter().collect())).collect();
    let is_missing = |field: &&&str| !paths.along(field).last().is_some_and(|end| found.contains(end));
    let describe = |field: &&str| {
        let (mut place, mut matched, mut length) = (Paths::START, 0, 0);
        for (segment, at) in field.split('.').zip(paths.along(field)) {
            length += segment.len() + 1;
            if found.contains(at) {
                (place, matched) = (at, length);
            }
        }
        let members = names.get(&place).map(Arc::clone);
        Unmatched { path: (*field).to_owned(), matched, members: members.unwrap_or_default() }
    };
    fields.iter().filter(is_missing).map(describe).collect()
}

/// The objects at a position of the paths.
#[derive(Default)]
struct Place {
    objects: usize,
    names: BTreeSet<String>,
}

struct Search<'a> {
    scanner: Scanner<'a>,
    paths: &'a Paths,
    found: Found,
    places: BTreeMap<StopId, Place>,
}

impl Search<'_> {
    /// Steps over the value at the position, which is inside of `depth` lists and objects.
    fn value(&mut self, at: StopId, depth: u32) -> Result<(), ShapeError> {
        let is_object = match self.scanner.peek() {
            b'{' => true,
            b'[' => false,
            _ => return self.scanner.scalar(),
        };
        if !self.scanner.open(is_object, depth)? {
            return Ok(());
        }
        let collects = is_object && {
            let place = self.places.entry(at).or_default();
            place.objects += 1;
            place.objects <= MAX_OBJECTS
        };
        loop {
            if is_object {
                self.member(at, depth, collects)?;
            } else {
                self.value(at, depth + 1)?;
            }
            if !self.scanner.another(is_object)? {
                return Ok(());
            }
        }
    }

    fn member(&mut self, object: StopId, depth: u32, collects: bool) -> Result<(), ShapeError> {
        let name = self.scanner.name()?;
        let (written, _) = self.scanner.written(name);
        let name = decoded(written);
        if collects
            && name.len() <= MAX_NAME_BYTES
            && let Some(place) = self.places.get_mut(&object)
            && place.names.len() < MAX_NAMES
        {
            place.names.insert(String::from_utf8_lossy(&name).into_owned());
        }
        match self.paths.step(object, &name, head_of(&name)) {
            Some(at) => {
                self.found.insert(at);
                if self.paths.interest(at).filters_below {
                    return self.value(at, depth + 1);
                }
                self.scanner.skip_value(depth + 1)
            }
            None => self.scanner.skip_value(depth + 1),
        }
    }
}
