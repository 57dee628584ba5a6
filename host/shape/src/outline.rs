//! The outline of a document: the values that the paths of a shape lead to.
//!
//! Reading an outline steps over the whole document once and thereby checks all of it. A node is
//! made only for a value that a path leads to. Members that no path names, and the content of
//! values that are kept whole, need no memory.
//!
//! The nodes are in the order of the document. Each node is followed by the nodes inside it, and
//! knows their number. A slice that consists of a node and its inner nodes is called a *tree*.
//! Every walk through the outline works on trees.

use super::ShapeError;
use super::paths::{Found, Paths, StopId, head_of};
use super::scan::{Name, Scanner};
use super::text::decoded;

/// Bytes of the document per node for which memory is reserved. Few documents and shapes need more
/// nodes.
const BYTES_PER_NODE: usize = 48;

/// Nodes that are added at least, if the reserved memory is used up.
const MIN_GROWTH: usize = 64;

/// A value that a path leads to, by its position in the document.
///
/// Adjacent scalars of a list share one node, because only a filter on the whole list reads them
/// one by one.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// The first byte of the member or element. A member begins with the opening quote of its name.
    pub(super) start: u32,
    /// The byte after the closing quote of the name. Equal to `start` if the value has no name.
    pub(super) name_end: u32,
    /// The first byte of the value.
    pub(super) value: u32,
    /// The byte after the value.
    pub(super) end: u32,
    /// The number of nodes in the tree that begins here, including this one.
    size: u32,
    pub(super) kind: Kind,
    pub(super) keep: Keep,
    /// The name contains escapes and must be decoded before it is compared.
    pub(super) name_is_escaped: bool,
    /// A filter has removed this element from its list.
    pub(super) removed: bool,
    /// An element inside the value has been removed, so that the bytes of the value can no longer
    /// be copied as a whole.
    pub(super) thinned: bool,
    /// The filter that is being applied accepts this element.
    pub(super) matched: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    List,
    Scalar,
}

/// The part of a value that `response_fields` keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    Whole,
    /// Those of the inner nodes that are kept.
    Part,
    /// No part. The node exists because a filter reads it.
    Nothing,
}

/// Reads the outline of a document, which begins at `position`, after a byte order mark. With
/// `keep_all` everything is kept, regardless of the fields in `paths`. The document must be UTF-8.
/// `found` is told the end of each path of `response_fields` that leads to a value. `has_room` is
/// asked before the nodes take more memory than is reserved, with the bytes that they then take.
pub(super) fn read_outline(
    document: &[u8],
    position: usize,
    paths: &Paths,
    keep_all: bool,
    found: &mut Found,
    has_room: &mut dyn FnMut(usize) -> bool,
) -> Result<Vec<Node>, ShapeError> {
    if u32::try_from(document.len()).is_err() {
        return Err(ShapeError::TooLarge);
    }
    // Without a reservation, the nodes would move each time their number doubles, and each move
    // would take new memory from the system. Unused reserved memory is address space only.
    let nodes = Vec::with_capacity(document.len() / BYTES_PER_NODE);
    let scanner = Scanner::new(document, position);
    let mut reader = Reader { scanner, paths, found, nodes, has_room, open: Vec::new() };
    reader.scanner.whitespace();
    let keep = if keep_all || kind_of(reader.scanner.peek()) == Kind::Scalar { Keep::Whole } else { Keep::Part };
    reader.response(keep)?;
    reader.scanner.end()?;
    Ok(reader.nodes)
}

struct Reader<'a> {
    scanner: Scanner<'a>,
    paths: &'a Paths,
    found: &'a mut Found,
    nodes: Vec<Node>,
    has_room: &'a mut dyn FnMut(usize) -> bool,
    /// The lists and objects around the position that get inner nodes, the innermost last. Because
    /// this is a separate stack, nesting does not use the stack of the thread.
    open: Vec<Open>,
}

/// A list or object that has begun and not ended.
#[derive(Debug, Clone, Copy)]
struct Open {
    /// The index of its node.
    node: usize,
    is_object: bool,
    /// The position of the paths at its members or elements.
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

    /// Makes the node of the value at the position. Returns `true` if this has opened a list or
    /// object, whose first item comes next. Otherwise the value has been stepped over.
    #[inline(always)]
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
                self.add(node)?;
                return Ok(true);
            }
        }
        node.end = offset(self.scanner.position());
        self.add(node)?;
        Ok(false)
    }

    #[inline(always)]
    fn add(&mut self, node: Node) -> Result<(), ShapeError> {
        if self.nodes.len() == self.nodes.capacity() {
            self.grow()?;
        }
        self.nodes.push(node);
        Ok(())
    }

    /// Makes room for more nodes. They are in their old place too while they move.
    #[cold]
    fn grow(&mut self) -> Result<(), ShapeError> {
        let present = self.nodes.len();
        let more = present.max(MIN_GROWTH);
        if !(self.has_room)((2 * present + more) * size_of::<Node>()) {
            return Err(ShapeError::NoMemory);
        }
        self.nodes.reserve_exact(more);
        Ok(())
    }

    fn depth(&self) -> u32 {
        offset(self.open.len())
    }

    /// Ends the innermost list or object at the position.
    fn close(&mut self, container: Open) {
        self.open.pop();
        let (end, size) = (offset(self.scanner.position()), offset(self.nodes.len() - container.node));
        if let Some(node) = self.nodes.get_mut(container.node) {
            node.end = end;
            node.size = size;
        }
    }

    /// Reads members until one opens a list or object, or until the object ends. Returns `true` at
    /// the end of the object.
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
                // Most values are scalars, which need no loop.
                None if kind_of(self.scanner.peek()) == Kind::Scalar => self.scanner.scalar()?,
                None => self.scanner.skip_value(self.depth())?,
            }
            if !self.scanner.another(true)? {
                self.close(object);
                return Ok(true);
            }
        }
    }

    /// Reads the value of a member that a path leads to. Returns `true` if this has opened a list
    /// or object.
    fn member(&mut self, name: Name, at: StopId, around: Keep) -> Result<bool, ShapeError> {
        let interest = self.paths.interest(at);
        if interest.field {
            self.found.insert(at);
        }
        let is_scalar = kind_of(self.scanner.peek()) == Kind::Scalar;
        let keep = match around {
            Keep::Part if interest.field => Keep::Whole,
            Keep::Part if interest.fields_below && !is_scalar => Keep::Part,
            Keep::Part => Keep::Nothing,
            same => same,
        };
        // A value that is dropped, or is copied as part of a whole object, needs no node unless a
        // filter reads it.
        let is_read = interest.filter || interest.filters_below;
        if !is_read && (keep == Keep::Nothing || around == Keep::Whole) {
            self.scanner.skip_value(self.depth())?;
            return Ok(false);
        }
        self.value(name, at, keep)
    }

    /// Reads elements until one opens a list or object, or until the list ends. Returns `true` at
    /// the end of the list.
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

/// Narrows a position. [`read_outline`] has refused documents that are too large for this.
#[inline]
fn offset(position: usize) -> u32 {
    position as u32
}

/// Returns the members or elements of a tree, each with its own tree, in the order of the document.
pub(super) fn inner(tree: &[Node]) -> impl Iterator<Item = (&Node, &[Node])> {
    let mut rest = tree.get(1..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (tree, after) = rest.split_at_checked(rest.first()?.size as usize)?;
        rest = after;
        Some((tree.first()?, tree))
    })
}

/// As [`inner`], with trees that can be changed.
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

    /// The bytes of the member, with name and value, or of the element.
    pub(super) fn whole_in<'a>(&self, document: &'a [u8]) -> &'a [u8] {
        document.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// The bytes of the name with its quotes.
    pub(super) fn name_in<'a>(&self, document: &'a [u8]) -> &'a [u8] {
        document.get(self.start as usize..self.name_end as usize).unwrap_or_default()
    }
}
