//! Finds the indices of a flow, and makes the changes that write it.
//!
//! The changes are in this order:
//! - One change inserts all text.
//! - The parts that are not text follow, from the last to the first, so that each is inserted at
//!   its index in the text.
//! - Styles follow, with the indices that are then valid.
//! - Bullets are last, again from the last to the first, because Google removes the tabs that set
//!   an item's level.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::batch::{Change, Image, Location, Range};
use crate::flow::{Block, Ending, Flow, Item, Paragraph, Piece, Table, units};

/// The changes that write a flow.
#[derive(Default)]
pub(crate) struct Layout {
    pub(crate) changes: Vec<Change>,
    /// Number of UTF-16 code units that the document grows by.
    pub(crate) length: i64,
    pub(crate) counts: Counts,
}

/// The size of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    /// UTF-16 code units of text with all line ends, also in tables.
    pub(crate) characters: i64,
    /// Paragraphs outside of tables.
    pub(crate) paragraphs: usize,
    pub(crate) tables: usize,
    pub(crate) images: usize,
}

/// The style of the text next to the target position.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Surroundings {
    /// Normal text in normal paragraphs.
    Plain,
    /// Any style. Inserted text inherits it, so the style is reset.
    Styled,
    /// As `Styled`. The first item continues a paragraph, which already begins with the tabs that
    /// set the item's level.
    Leveled,
}

/// Makes the changes that write a flow at an index of the document.
pub(crate) fn write(flow: Flow, at: i64, surroundings: Surroundings) -> Layout {
    let has_level = surroundings == Surroundings::Leveled;
    let mut walk = Walk { at, cursor: at, ending: flow.ending, has_level, ..Walk::default() };
    let paragraphs = flow.blocks.iter().filter(|block| matches!(block, Block::Paragraph(_))).count();
    walk.counts.paragraphs = paragraphs;
    let mut remaining = paragraphs;
    let mut blocks = flow.blocks.into_iter().peekable();
    while let Some(block) = blocks.next() {
        match block {
            Block::Paragraph(paragraph) => {
                remaining -= 1;
                let ending = if remaining == 0 { flow.ending } else { Ending::Own };
                walk.paragraph(paragraph, ending, matches!(blocks.peek(), Some(Block::Table(_))));
            }
            Block::Table(table) => walk.table(table),
        }
    }
    walk.finish(surroundings)
}

#[derive(Default)]
struct Walk {
    at: i64,
    ending: Ending,
    /// `true` if the tabs of the next item are already there.
    has_level: bool,
    text: String,
    /// UTF-16 code units of `text`.
    text_units: i64,
    /// UTF-16 code units of `text` up to the end of the last line end in it.
    lines_units: i64,
    /// The index after the content written so far, after the insertions and before the bullets.
    cursor: i64,
    /// The index in the text of the previous paragraph's line end. A table is inserted before it.
    /// `None` if there is no previous text paragraph.
    line_end: Option<i64>,
    /// The content that is inserted into the text.
    insertions: Vec<Vec<Change>>,
    styles: Vec<Change>,
    lists: Vec<List>,
    /// `true` if the previous block is an item of the last list.
    in_list: bool,
    /// Number of tabs, which Google removes.
    tabs: i64,
    counts: Counts,
}

struct List {
    name: String,
    range: Range,
    preset: &'static str,
}

impl Walk {
    fn paragraph(&mut self, paragraph: Paragraph, ending: Ending, before_table: bool) {
        let start = self.cursor;
        let tabs = paragraph.item.as_ref().map_or(0, Item::tabs);
        if !std::mem::take(&mut self.has_level) {
            self.push(&"\t".repeat(usize::try_from(tabs).unwrap_or_default()));
            self.tabs += tabs;
        }
        let mut is_first = paragraph.item.is_some();
        let mut ends_with_break = false;
        let mut pieces = paragraph.pieces.into_iter().peekable();
        while let Some(piece) = pieces.next() {
            match piece {
                Piece::Text { text, style } => {
                    // A tab at the beginning of an item would count as a level.
                    let text = if is_first { text.trim_start_matches('\t') } else { &text };
                    is_first &= text.is_empty();
                    let start = self.cursor;
                    self.push(text);
                    self.counts.characters += self.cursor - start;
                    if start < self.cursor && !style.is_empty() {
                        self.styles.push(Change::text(range(start, self.cursor), style));
                    }
                }
                Piece::Image { uri, size } => {
                    let object_size = size.and_then(|size| RawValue::from_string(size).ok());
                    let location = self.insertion();
                    self.insertions.push(vec![Change::InsertInlineImage(Image { location, uri, object_size })]);
                    self.cursor += 1;
                    self.counts.images += 1;
                    is_first = false;
                }
                Piece::PageBreak => {
                    let location = self.insertion();
                    self.insertions.push(vec![Change::InsertPageBreak { location }]);
                    // The page break, and the line end that Google inserts after it.
                    self.cursor += 2;
                    ends_with_break = pieces.peek().is_none();
                    is_first = false;
                }
            }
        }
        let end = self.cursor;
        self.end_line(ending, ends_with_break && !before_table);
        if ending == Ending::Part {
            self.in_list = false;
            return;
        }
        // The shared line end is the last one of the document or cell, so the range is without it
        // if it can be.
        let end = if ending == Ending::Shared { end.max(start + 1) } else { self.cursor };
        let whole = range(start, end);
        if !paragraph.style.is_empty() {
            self.styles.push(Change::paragraph(whole, paragraph.style));
        }
        self.item(paragraph.item, whole);
    }

    /// Ends a paragraph. With `with_break`, the line end that Google inserts after a page break
    /// ends the paragraph.
    fn end_line(&mut self, ending: Ending, with_break: bool) {
        match ending {
            Ending::Own if with_break => {
                self.line_end = None;
                self.counts.characters += 1;
            }
            Ending::Own => {
                self.line_end = Some(self.text_units);
                self.push("\n");
                self.lines_units = self.text_units;
                self.counts.characters += 1;
            }
            Ending::Shared | Ending::Part => {
                self.line_end = Some(self.text_units);
                // A table after this paragraph is after the line end that its insertion brings.
                self.cursor += 1;
            }
        }
    }

    /// Adds a paragraph to the list of the previous paragraph, or starts a list.
    fn item(&mut self, item: Option<Item>, whole: Range) {
        let Some(item) = item else {
            self.in_list = false;
            return;
        };
        match self.lists.last_mut() {
            Some(list) if self.in_list && list.name == item.list => list.range.end_index = whole.end_index,
            _ => self.lists.push(List { name: item.list, range: whole, preset: item.preset }),
        }
        self.in_list = true;
    }

    fn table(&mut self, table: Table) {
        let (rows, columns) = (table.rows.len(), table.columns);
        // Google inserts a line end before the table. It ends the previous paragraph, whose own
        // line end is then after the table.
        let location = Location { index: self.at + self.line_end.unwrap_or(self.text_units) };
        let mut changes = vec![Change::InsertTable { location, rows, columns }];
        let mut length = table_length(rows, columns);
        for (row, cells) in table.rows.into_iter().enumerate().rev() {
            for (column, cell) in cells.into_iter().enumerate().rev() {
                let at = location.index + 1 + cell_offset(columns, row, column);
                let cell = write(cell, at, Surroundings::Plain);
                changes.extend(cell.changes);
                length += cell.length;
                self.counts.add_cell(cell.counts);
            }
        }
        self.insertions.push(changes);
        self.cursor += 1 + length;
        self.counts.tables += 1;
        self.in_list = false;
    }

    fn push(&mut self, text: &str) {
        let length = units(text);
        self.text.push_str(text);
        self.text_units += length;
        self.cursor += length;
    }

    /// The index of an insertion at the end of the text so far.
    fn insertion(&self) -> Location {
        Location { index: self.at + self.text_units }
    }

    fn finish(self, surroundings: Surroundings) -> Layout {
        let shared_end = if self.ending == Ending::Own || self.counts.paragraphs == 0 { 0 } else { 1 };
        let mut changes = Vec::new();
        if self.text_units > 0 {
            changes.push(Change::InsertText { location: Location { index: self.at }, text: self.text });
            if surroundings != Surroundings::Plain {
                let lines = if self.ending == Ending::Part { self.lines_units } else { self.text_units };
                if lines > 0 {
                    changes.extend(Change::plain_paragraphs(range(self.at, self.at + lines)));
                }
                changes.push(Change::plain_text(range(self.at, self.at + self.text_units)));
            }
        }
        changes.extend(self.insertions.into_iter().rev().flatten());
        changes.extend(self.styles);
        let bullets = self.lists.into_iter().rev();
        changes.extend(
            bullets.map(|list| Change::CreateParagraphBullets { range: list.range, bullet_preset: list.preset }),
        );
        Layout { changes, length: self.cursor - self.at - shared_end - self.tabs, counts: self.counts }
    }
}

impl Counts {
    fn add_cell(&mut self, cell: Self) {
        self.characters += cell.characters;
        self.tables += cell.tables;
        self.images += cell.images;
    }
}

fn range(start_index: i64, end_index: i64) -> Range {
    Range { start_index, end_index }
}

/// Number of indices of an empty table: its beginning and end, one for each row, and two for each
/// cell.
fn table_length(rows: usize, columns: usize) -> i64 {
    i64::try_from(2 + rows * (1 + 2 * columns)).unwrap_or(i64::MAX)
}

/// Offset of a cell's first paragraph from the beginning of a table whose previous cells are empty.
fn cell_offset(columns: usize, row: usize, column: usize) -> i64 {
    i64::try_from(3 + row * (1 + 2 * columns) + 2 * column).unwrap_or(i64::MAX)
}
