//! The part of a document's structure that the paths of a shape touch.
//!
//! Reading an outline steps over the whole document once, and so checks all of it, but a node is made only for what a
//! path leads to: members that no path names and values that are kept as they stand cost no memory. The nodes stand
//! in document order, each before the nodes inside it and knowing how many those are; a slice that begins with a node
//! and holds its inner nodes is called a *tree* here, and is how every walk gets hold of a value.

use super::ShapeError;
use super::paths::{Paths, StopId, head_of};
use super::scan::{Name, Scanner};
use super::text::decoded;

/// A value with a path that leads to it, by its place in the document.
///
/// Neighbouring scalars of a list share one node: nothing but a test of the whole list ever looks at them singly.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// The first byte of the member, which is its name's quote, or of the element.
    pub(super) start: u32,
    /// One past the closing quote of the name; the same as `start` for what has none.
    pub(super) name_end: u32,
    /// The first byte of the value.
    pub(super) value: u32,
    /// One past the last byte of the value.
    pub(super) end: u32,
    /// The number of nodes in the tree that begins here, with this one.
    size: u32,
    pub(super) kind: Kind,
    pub(super) keep: Keep,
    /// The name is written with escapes.
    pub(super) name_is_escaped: bool,
    /// A filter took this element out of its list.
    pub(super) removed: bool,
    /// Something inside has been removed, so the bytes of the value no longer tell what it is.
    pub(super) thinned: bool,
    /// The filter at work found what it looks for.
    pub(super) matched: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    List,
    Scalar,
}

/// How much of a value `response_fields` leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    Whole,
    /// Only the inner nodes that are kept.
    Part,
    /// Nothing; the node is there for filters to read.
    Nothing,
}

/// Reads the outline of the document whose first byte after a byte order mark is at `position`. With `keep_all` the
/// fields of `paths` are left aside and everything is kept. The document must be UTF-8.
pub(super) fn read(document: &[u8], position: usize, paths: &Paths, keep_all: bool) -> Result<Vec<Node>, ShapeError> {
    if u32::try_from(document.len()).is_err() {
        return Err(ShapeError::TooLarge);
    }
    let mut reader = Reader { scanner: Scanner::new(document, position), paths, nodes: Vec::new(), open: Vec::new() };
    reader.scanner.whitespace();
    let keep = if keep_all || kind_of(reader.scanner.peek()) == Kind::Scalar { Keep::Whole } else { Keep::Part };
    reader.response(keep)?;
    reader.scanner.end()?;
    Ok(reader.nodes)
}

struct Reader<'a> {
    scanner: Scanner<'a>,
    paths: &'a Paths,
    nodes: Vec<Node>,
    /// The containers around the position whose inner nodes are wanted, the innermost last. This is a stack of its
    /// own, so that nesting costs the thread's stack nothing.
    open: Vec<Open>,
}

/// A container that has been begun and not ended.
#[derive(Debug, Clone, Copy)]
struct Open {
    /// The index of its node.
    node: usize,
    is_object: bool,
    /// Where the paths stand at its members or elements.
    at: StopId,
    keep: Keep,
}

impl Reader<'_> {
    fn response(&mut self, keep: Keep) -> Result<(), ShapeError> {
        let start = self.scanner.position();
        self.value(Name { start, end: start, escaped: false }, Paths::START, keep)?;
        let mut is_after_item = false;
        while let Some(container) = self.open.last().copied() {
            if is_after_item && !self.scanner.another(container.is_object)? {
                self.close(container);
                continue;
            }
            is_after_item = if container.is_object { self.members(container)? } else { self.elements(container)? };
        }
        Ok(())
    }

    /// Makes the node of the value at the position. True when this has opened a container, whose first item is next;
    /// otherwise the value has been stepped over.
    fn value(&mut self, name: Name, at: StopId, keep: Keep) -> Result<bool, ShapeError> {
        let kind = kind_of(self.scanner.peek());
        let mut node = Node {
            start: offset(name.start),
            name_end: offset(name.end),
            value: offset(self.scanner.position()),
            end: 0,
            size: 1,
            kind,
            keep,
            name_is_escaped: name.escaped,
            removed: false,
            thinned: false,
            matched: false,
        };
        if kind == Kind::Scalar {
            self.scanner.scalar()?;
        } else if keep != Keep::Part && !self.paths.interest(at).filters_below {
            self.scanner.skip_value(self.depth())?;
        } else {
            let is_object = kind == Kind::Object;
            if self.scanner.open(is_object, self.depth())? {
                self.open.push(Open { node: self.nodes.len(), is_object, at, keep });
                self.nodes.push(node);
                return Ok(true);
            }
        }
        node.end = offset(self.scanner.position());
        self.nodes.push(node);
        Ok(false)
    }

    fn depth(&self) -> u32 {
        offset(self.open.len())
    }

    /// Notes where the innermost container ends, which is here.
    fn close(&mut self, container: Open) {
        self.open.pop();
        let (end, size) = (offset(self.scanner.position()), offset(self.nodes.len() - container.node));
        if let Some(node) = self.nodes.get_mut(container.node) {
            node.end = end;
            node.size = size;
        }
    }

    /// Reads members up to one that opens a container, or up to the object's end. True at the end.
    fn members(&mut self, object: Open) -> Result<bool, ShapeError> {
        loop {
            let name = self.scanner.name()?;
            let (text, head) = self.scanner.written(name);
            let next = if name.escaped {
                let text = decoded(text);
                self.paths.step(object.at, &text, head_of(&text))
            } else {
                self.paths.step(object.at, text, head)
            };
            match next {
                Some(next) => {
                    if self.member(name, next, object.keep)? {
                        return Ok(false);
                    }
                }
                None => self.scanner.skip_value(self.depth())?,
            }
            if !self.scanner.another(true)? {
                self.close(object);
                return Ok(true);
            }
        }
    }

    /// Reads the value of a member that paths have use for. True when this has opened a container.
    fn member(&mut self, name: Name, at: StopId, around: Keep) -> Result<bool, ShapeError> {
        let interest = self.paths.interest(at);
        let is_scalar = kind_of(self.scanner.peek()) == Kind::Scalar;
        let keep = match around {
            Keep::Part if interest.field => Keep::Whole,
            Keep::Part if interest.fields_below && !is_scalar => Keep::Part,
            Keep::Part => Keep::Nothing,
            same => same,
        };
        // Unless a filter reads it, what is dropped or goes with a whole object needs no node of its own.
        let is_read = interest.filter || interest.filters_below;
        if !is_read && (keep == Keep::Nothing || around == Keep::Whole) {
            self.scanner.skip_value(self.depth())?;
            return Ok(false);
        }
        self.value(name, at, keep)
    }

    /// Reads elements up to one that opens a container, or up to the list's end. True at the end.
    fn elements(&mut self, list: Open) -> Result<bool, ShapeError> {
        let keep_of_scalars = if list.keep == Keep::Part { Keep::Nothing } else { list.keep };
        let mut run = None;
        loop {
            let start = self.scanner.position();
            let name = Name { start, end: start, escaped: false };
            if kind_of(self.scanner.peek()) != Kind::Scalar {
                run = None;
                if self.value(name, list.at, list.keep)? {
                    return Ok(false);
                }
            } else if let Some(node) = run.and_then(|index: usize| self.nodes.get_mut(index)) {
                self.scanner.scalar()?;
                node.end = offset(self.scanner.position());
            } else {
                run = Some(self.nodes.len());
                self.value(name, list.at, keep_of_scalars)?;
            }
            if !self.scanner.another(false)? {
                self.close(list);
                return Ok(true);
            }
        }
    }
}

#[inline]
fn kind_of(first: u8) -> Kind {
    match first {
        b'{' => Kind::Object,
        b'[' => Kind::List,
        _ => Kind::Scalar,
    }
}

/// Narrows a position; [`read`] has refused documents in which this could lose anything.
#[inline]
fn offset(position: usize) -> u32 {
    position as u32
}

/// The trees of a tree's members or elements, in order.
pub(super) fn inner(tree: &[Node]) -> impl Iterator<Item = (&Node, &[Node])> {
    let mut rest = tree.get(1..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (tree, after) = rest.split_at_checked(rest.first()?.size as usize)?;
        rest = after;
        Some((tree.first()?, tree))
    })
}

/// [`inner`], to be changed.
pub(super) fn inner_mut(tree: &mut [Node]) -> impl Iterator<Item = &mut [Node]> {
    let mut rest = tree.get_mut(1..).unwrap_or_default();
    std::iter::from_fn(move || {
        let size = rest.first()?.size as usize;
        let (tree, after) = std::mem::take(&mut rest).split_at_mut_checked(size)?;
        rest = after;
        Some(tree)
    })
}

impl Node {
    /// The bytes of the value.
    pub(super) fn value_in<'a>(&self, document: &'a [u8]) -> &'a [u8] {
        document.get(self.value as usize..self.end as usize).unwrap_or_default()
    }

    /// The bytes of the member, name and value, or of the element.
    pub(super) fn whole_in<'a>(&self, document: &'a [u8]) -> &'a [u8] {
        document.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// The bytes of the name with its quotes.
    pub(super) fn name_in<'a>(&self, document: &'a [u8]) -> &'a [u8] {
        document.get(self.start as usize..self.name_end as usize).unwrap_or_default()
    }
}
