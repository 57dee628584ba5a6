//! One of the `response_filters`: which lists it finds, and which of their elements it takes out.
//!
//! Filters come one after the other, each on what the former has left: a removed element is there for none of them.
//! Where several members of an object have the same name, a path that takes that name goes into each of them; an
//! element has the field if one of them leads to it, and stays if one of the values found matches.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::outline::{Kind, Node, inner, inner_mut};
use super::scan::Scanner;
use super::text::decoded;

/// A filter of type `string_list`.
#[derive(Debug, Clone)]
pub(super) struct Filter {
    /// The path to the value to test.
    pub(super) field: String,
    /// The texts of which a tested value must have one.
    pub(super) values: BTreeSet<Vec<u8>>,
    /// The path to the lists to filter; `None` where the lists are those that `field` itself crosses.
    pub(super) root: Option<String>,
}

impl Filter {
    /// The way to every value that this filter looks at, as one path.
    pub(super) fn path(&self) -> String {
        match &self.root {
            Some(root) => format!("{root}.{}", self.field),
            None => self.field.clone(),
        }
    }

    /// Marks as removed what this filter takes out of the outline.
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

/// What is to happen to a list of objects that a path crosses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Crossing {
    /// It is filtered, or those further in.
    Filter,
    /// It is only reported.
    Report,
}

/// What a path has come to, beginning at some value.
#[derive(Debug, Clone, Copy, Default)]
struct Findings {
    /// It crosses a list of objects.
    crossed: bool,
    /// It ends at a value.
    present: bool,
    /// It ends at a value that the filter is looking for.
    matched: bool,
    /// Something has been removed on the way.
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

struct Walk<'a> {
    document: &'a [u8],
    values: &'a BTreeSet<Vec<u8>>,
}

impl Walk<'_> {
    /// Follows what is left of a path from the value of `tree`.
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

    /// Follows the path into each element of the list, and notes in the elements whether they match.
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

    /// Follows what is left of `root`, and filters each list that it ends at; true when this removed anything.
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

    /// The next step of a path at an object: the longest member name that the path begins with.
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

    /// Whether the value is what the filter looks for, or a list that holds such a value.
    fn matches(&self, tree: &[Node]) -> bool {
        let Some(node) = tree.first() else { return false };
        match node.kind {
            Kind::Object => false,
            Kind::Scalar => self.is_wanted(node.value_in(self.document)),
            Kind::List if node.thinned => inner(tree)
                .filter(|(element, _)| element.kind == Kind::Scalar && !element.removed)
                .any(|(run, _)| self.wants_any(run.value_in(self.document))),
            Kind::List => self.wants_any(unquoted(node.value_in(self.document))),
        }
    }

    /// Whether one of the values, which stand in `text` with commas between them, is wanted.
    fn wants_any(&self, text: &[u8]) -> bool {
        let mut scanner = Scanner::new(text, 0);
        scanner.whitespace();
        loop {
            let start = scanner.position();
            if scanner.skip_value(0).is_err() {
                return false;
            }
            if text.get(start..scanner.position()).is_some_and(|value| self.is_wanted(value)) {
                return true;
            }
            scanner.whitespace();
            scanner.advance();
            scanner.whitespace();
        }
    }

    fn is_wanted(&self, value: &[u8]) -> bool {
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
    /// What is left of the path; `None` at its end. A path that ends with a dot has an empty name left.
    rest: Option<&'p [u8]>,
}

/// What the elements of a list told about it.
#[derive(Debug, Clone, Copy, Default)]
struct Examined {
    holds_objects: bool,
    inner_crossed: bool,
    field_present: bool,
    thinned: bool,
}

impl Examined {
    /// Takes out what did not match, if the list is one to be filtered; true when this removed anything.
    fn filter(self, list: &mut [Node]) -> bool {
        let mut removed = false;
        // Only an object has the field, so a list in which it is present is a list of objects.
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

/// The text between the quotes or brackets at its ends.
fn unquoted(text: &[u8]) -> &[u8] {
    text.get(1..text.len().saturating_sub(1)).unwrap_or_default()
}
