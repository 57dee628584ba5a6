//! Writes the answer from ranges of the document.
//!
//! Values that are kept whole are copied byte for byte, with the whitespace inside them. Brackets,
//! colons and commas around values that a shape has changed are written without whitespace.

use super::outline::{Keep, Kind, Node, inner};

/// Writes the parts of the document that its outline keeps.
pub(super) fn write_document(document: &[u8], outline: &[Node]) -> Vec<u8> {
    let mut writer = Writer { document, answer: Vec::with_capacity(document.len() / 4) };
    if let Some(node) = outline.first() {
        writer.value(node, outline);
    }
    writer.answer
}

struct Writer<'a> {
    document: &'a [u8],
    answer: Vec<u8>,
}

impl Writer<'_> {
    fn value(&mut self, node: &Node, tree: &[Node]) {
        match (node.keep, node.kind) {
            (Keep::Nothing, _) => {}
            (Keep::Whole, _) if !node.thinned => self.answer.extend_from_slice(node.value_in(self.document)),
            (Keep::Whole, Kind::Object) => self.object_around_thinned(node, tree),
            (_, Kind::List) => self.list(tree),
            (_, Kind::Object) => self.object(tree),
            (_, Kind::Scalar) => {}
        }
    }

    /// Writes an object of which only members in the outline are kept.
    fn object(&mut self, tree: &[Node]) {
        let mut before = b'{';
        for (member, tree) in inner(tree).filter(|(member, _)| member.keep != Keep::Nothing) {
            self.answer.push(before);
            before = b',';
            if member.keep == Keep::Whole && !member.thinned {
                self.answer.extend_from_slice(member.whole_in(self.document));
            } else {
                self.answer.extend_from_slice(member.name_in(self.document));
                self.answer.push(b':');
                self.value(member, tree);
            }
        }
        if before == b'{' {
            self.answer.push(b'{');
        }
        self.answer.push(b'}');
    }

    /// Writes a list without its removed elements.
    fn list(&mut self, tree: &[Node]) {
        let mut before = b'[';
        for (element, tree) in inner(tree).filter(|(element, _)| element.keep != Keep::Nothing && !element.removed) {
            self.answer.push(before);
            before = b',';
            self.value(element, tree);
        }
        if before == b'[' {
            self.answer.push(b'[');
        }
        self.answer.push(b']');
    }

    /// Writes an object that is kept whole, except for elements that were removed from lists inside
    /// it.
    fn object_around_thinned(&mut self, node: &Node, tree: &[Node]) {
        let mut copied = node.value;
        for (member, tree) in inner(tree).filter(|(member, _)| member.thinned) {
            self.copy(copied, member.value);
            self.value(member, tree);
            copied = member.end;
        }
        self.copy(copied, node.end);
    }

    fn copy(&mut self, start: u32, end: u32) {
        self.answer.extend_from_slice(self.document.get(start as usize..end as usize).unwrap_or_default());
    }
}
