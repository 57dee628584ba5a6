//! A section whose clauses are parts of one thing, such as an inbox. The line of each clause is
//! kept, for mistakes in this part.

use crate::node::{Mistakes, Node, Table, TableEntry};
use crate::places::Places;

pub(crate) struct Section<'a, 'b> {
    /// The thing in the words of the rules, such as ``inbox `events` ``.
    thing: String,
    table: Table<'a>,
    places: &'b mut Places,
    pub(crate) mistakes: &'b mut Mistakes,
}

impl<'a, 'b> Section<'a, 'b> {
    pub(crate) fn new(
        kind: &str,
        entry: TableEntry<'a>,
        places: &'b mut Places,
        mistakes: &'b mut Mistakes,
    ) -> Option<Self> {
        let thing = format!("{kind} `{}`", entry.name);
        places.add(thing.clone(), entry.at);
        let table = entry.node.table("a section with clauses", mistakes)?;
        Some(Self { thing, table, places, mistakes })
    }

    /// Keeps the line of a clause.
    fn note(&mut self, clause: &str) {
        // The rules name the clause, or one of its items.
        let item = if clause == "inboxes" { "inbox" } else { clause.trim_end_matches('s') };
        for part in [clause, item] {
            self.places.note(format!("{}, {}", self.thing, part.replace('_', "-")), &self.table, clause);
        }
    }

    pub(crate) fn take(&mut self, clause: &'static str) -> Option<Node<'a>> {
        self.note(clause);
        Some(self.table.take(clause)?.node)
    }

    pub(crate) fn text(&mut self, clause: &'static str) -> Option<String> {
        let node = self.take(clause)?;
        node.text(&format!("a text: `{clause} = \"…\"`"), self.mistakes).map(str::to_owned)
    }

    pub(crate) fn texts(&mut self, clause: &'static str) -> Vec<String> {
        let form = format!("a list of texts: `{clause} = [\"…\"]`");
        self.take(clause).and_then(|node| node.texts(&form, self.mistakes)).unwrap_or_default()
    }

    /// The items of a list. An item with a mistake is left out.
    pub(crate) fn items<T>(
        &mut self,
        clause: &'static str,
        item: impl Fn(Node<'a>, &mut Mistakes) -> Option<T>,
    ) -> Vec<T> {
        let items = self.take(clause).and_then(|node| node.items(&format!("a list: `{clause} = […]`"), self.mistakes));
        items.unwrap_or_default().into_iter().filter_map(|node| item(node, self.mistakes)).collect()
    }

    /// A clause of any form.
    pub(crate) fn read<T>(
        &mut self,
        clause: &'static str,
        read: impl Fn(Node<'a>, &mut Mistakes) -> Option<T>,
    ) -> Option<T> {
        self.take(clause).and_then(|node| read(node, self.mistakes))
    }

    /// A JSON value as text.
    pub(crate) fn json(&mut self, clause: &'static str, otherwise: &str) -> String {
        let value = self.read(clause, Node::json);
        value.map_or_else(|| otherwise.to_owned(), |value| value.to_string())
    }

    pub(crate) fn number(&mut self, clause: &'static str) -> Option<u32> {
        self.note(clause);
        self.table.number(clause, self.mistakes)
    }

    pub(crate) fn end(self) {
        self.table.end("clause", self.mistakes);
    }
}
