//! Applies one of the `response_filters`: finds its lists, and marks elements of them as removed.
//!
//! Filters are applied one after the other. A filter does not see elements that an earlier one has
//! removed. If an object has several members with the same name, a path follows each of them. The
//! element then has the field if one of these members leads to it, and stays if one of the values
//! found matches.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::outline::{Kind, Node, inner, inner_mut};
use super::scan::Scanner;
use super::text::decoded;

/// The memory that a value takes in a set, in addition to its text.
const VALUE_BYTES: usize = 48;

/// A filter of type `string_list`.
#[derive(Debug, Clone)]
pub(super) struct Filter {
    /// The path to the value to test.
    pub(super) field: String,
    /// The accepted texts, decoded.
    pub(super) values: BTreeSet<Vec<u8>>,
    /// The path to the lists to filter. `None` if these are the lists that `field` crosses.
    pub(super) root: Option<String>,
}

impl Filter {
    /// The path from the document to every value that this filter reads.
    pub(super) fn path(&self) -> String {
        match &self.root {
            Some(root) => format!("{root}.{}", self.field),
            None => self.field.clone(),
        }
    }

    /// The memory that the filter takes, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let values: usize = self.values.iter().map(|value| VALUE_BYTES + value.len()).sum();
        size_of::<Self>() + self.field.len() + self.root.as_ref().map_or(0, String::len) + values
    }

    /// Marks the elements that this filter removes.
    pub(super) fn apply(&self, document: &[u8], outline: &mut [Node]) {
        let walk = Walk { document, values: &self.values };
        match &self.root {
            Some(root) => {
                walk.filter_at(root.as_bytes(), outline, self.field.as_bytes());
            }
            None => {
                walk.follow(outline, self.field.as_bytes(), Crossing::Filter);
            }
        }
    }
}

/// The treatment of a list of objects that a path crosses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Crossing {
    /// The list is filtered. If the path crosses a further list inside it, that inner list is
    /// filtered instead.
    Filter,
    /// The list is left unchanged. [`Findings::crossed`] reports it.
    Report,
}

/// The result of following a path from a value.
#[derive(Debug, Clone, Copy, Default)]
struct Findings {
    /// The path crosses a list of objects.
    crossed: bool,
    /// The path ends at a value.
    present: bool,
    /// The path ends at a value that the filter accepts.
    matched: bool,
    /// An element was removed on the way.
    thinned: bool,
}

impl Findings {
    fn add(&mut self, other: Self) {
        self.crossed |= other.crossed;
        self.present |= other.present;
        self.matched |= other.matched;
        self.thinned |= other.thinned;
    }
}

/// The walk of one filter through an outline.
struct Walk<'a> {
    document: &'a [u8],
    values: &'a BTreeSet<Vec<u8>>,
}

impl Walk<'_> {
    /// Follows the rest of a path from the value of `tree`.
    fn follow(&self, tree: &mut [Node], path: &[u8], crossing: Crossing) -> Findings {
        let mut found = Findings::default();
        match kind_of(tree) {
            Kind::Object => {
                let Some(step) = self.step(tree, path) else { return found };
                for member in inner_mut(tree).filter(|member| self.has_name(member, step.name)) {
                    found.add(match step.rest {
                        Some(rest) => self.follow(member, rest, crossing),
                        None => Findings { present: true, matched: self.matches(member), ..Findings::default() },
                    });
                }
            }
            Kind::List => {
                let list = self.examine(tree, path, crossing);
                found.crossed = list.inner_crossed || list.holds_objects;
                let removed = crossing == Crossing::Filter && list.filter(tree);
                found.thinned = list.thinned || removed;
            }
            Kind::Scalar => {}
        }
        note_thinned(tree, found.thinned);
        found
    }

    /// Follows the path into each element of the list, and marks the elements that match.
    fn examine(&self, list: &mut [Node], path: &[u8], crossing: Crossing) -> Examined {
        let mut examined = Examined::default();
        for element in inner_mut(list).filter(|element| !is_removed(element)) {
            let found = self.follow(element, path, crossing);
            examined.inner_crossed |= found.crossed;
            examined.field_present |= found.present;
            examined.thinned |= found.thinned;
            if let Some(node) = element.first_mut() {
                node.matched = found.matched;
                examined.holds_objects |= node.kind == Kind::Object;
            }
        }
        examined
    }

    /// Follows the rest of `root`, and filters each list at which it ends. Returns `true` if this
    /// removed an element.
    fn filter_at(&self, root: &[u8], tree: &mut [Node], field: &[u8]) -> bool {
        let mut thinned = false;
        match kind_of(tree) {
            Kind::Object => {
                let Some(step) = self.step(tree, root) else { return false };
                for member in inner_mut(tree).filter(|member| self.has_name(member, step.name)) {
                    thinned |= match step.rest {
                        Some(rest) => self.filter_at(rest, member, field),
                        None if kind_of(member) == Kind::List => {
                            let removed = self.examine(member, field, Crossing::Report).filter(member);
                            note_thinned(member, removed);
                            removed
                        }
                        None => false,
                    };
                }
            }
            Kind::List => {
                for element in inner_mut(tree) {
                    thinned |= self.filter_at(root, element, field);
                }
            }
            Kind::Scalar => {}
        }
        note_thinned(tree, thinned);
        thinned
    }

    /// Returns the next step of a path at an object: the longest member name with which the path
    /// begins.
    fn step<'p>(&self, object: &[Node], path: &'p [u8]) -> Option<Step<'p>> {
        let begins = |name: &[u8]| path.strip_prefix(name).is_some_and(|rest| matches!(rest, [] | [b'.', ..]));
        let names = inner(object).map(|(member, _)| self.name(member));
        let length = names.filter(|name| begins(name)).map(|name| name.len()).max()?;
        Some(Step { name: path.get(..length)?, rest: path.get(length + 1..) })
    }

    fn has_name(&self, member: &[Node], name: &[u8]) -> bool {
        member.first().is_some_and(|node| *self.name(node) == *name)
    }

    fn name(&self, member: &Node) -> Cow<'_, [u8]> {
        let text = unquoted(member.name_in(self.document));
        if member.name_is_escaped { decoded(text) } else { Cow::Borrowed(text) }
    }

    /// Returns `true` if the filter accepts the value, or an element of it if it is a list.
    fn matches(&self, tree: &[Node]) -> bool {
        let Some(node) = tree.first() else { return false };
        match node.kind {
            Kind::Object => false,
            Kind::Scalar => self.accepts(node.value_in(self.document)),
            Kind::List if node.thinned => inner(tree)
                .filter(|(element, _)| element.kind == Kind::Scalar && !element.removed)
                .any(|(run, _)| self.accepts_any(run.value_in(self.document))),
            Kind::List => self.accepts_any(unquoted(node.value_in(self.document))),
        }
    }

    /// Returns `true` if the filter accepts one of the values in `text`, which are separated by
    /// commas.
    fn accepts_any(&self, text: &[u8]) -> bool {
        let mut scanner = Scanner::new(text, 0);
        scanner.whitespace();
        loop {
            let start = scanner.position();
            if scanner.skip_value(0).is_err() {
                return false;
            }
            if text.get(start..scanner.position()).is_some_and(|value| self.accepts(value)) {
                return true;
            }
            scanner.whitespace();
            scanner.advance();
            scanner.whitespace();
        }
    }

    /// Returns `true` if the filter accepts the value, given by its bytes in the document. It never
    /// accepts `null`, objects and lists.
    fn accepts(&self, value: &[u8]) -> bool {
        match value.first() {
            Some(b'"') => self.values.contains(&*decoded(unquoted(value))),
            Some(b'n' | b'{' | b'[') => false,
            _ => self.values.contains(value),
        }
    }
}

/// A step along a path.
struct Step<'p> {
    name: &'p [u8],
    /// The rest of the path. `None` at its end. A path that ends with a dot has an empty name as
    /// its rest.
    rest: Option<&'p [u8]>,
}

/// The result of following a path into all elements of a list.
#[derive(Debug, Clone, Copy, Default)]
struct Examined {
    /// The list is a list of objects: at least one element is an object.
    holds_objects: bool,
    /// The path crosses a further list of objects inside an element, so this list is not filtered.
    inner_crossed: bool,
    /// At least one element has the field. A list without the field is not filtered.
    field_present: bool,
    /// An element of an inner list was removed.
    thinned: bool,
}

impl Examined {
    /// Removes the elements that do not match, if the list is to be filtered. Returns `true` if
    /// this removed an element.
    fn filter(self, list: &mut [Node]) -> bool {
        let mut removed = false;
        // Only an object can have the field. A list with the field is therefore a list of objects.
        if self.field_present && !self.inner_crossed {
            for element in inner_mut(list).filter_map(|element| element.first_mut()) {
                removed |= !element.matched;
                element.removed |= !element.matched;
            }
        }
        removed
    }
}

fn kind_of(tree: &[Node]) -> Kind {
    tree.first().map_or(Kind::Scalar, |node| node.kind)
}

fn is_removed(tree: &[Node]) -> bool {
    tree.first().is_some_and(|node| node.removed)
}

fn note_thinned(tree: &mut [Node], thinned: bool) {
    if let Some(node) = tree.first_mut() {
        node.thinned |= thinned;
    }
}

/// Removes the quotes or brackets at both ends.
fn unquoted(text: &[u8]) -> &[u8] {
    text.get(1..text.len().saturating_sub(1)).unwrap_or_default()
}
