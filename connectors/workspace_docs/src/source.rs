//! Reads a part of a document as a flow.

use std::borrow::Cow;

use connector_sdk::{Document, Fault, json};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::batch::{Content, Range, index, not_understood};
use crate::flow::{BULLETS, Block, Ending, Flow, Item, NUMBERS, Paragraph, Piece, Style, Table, width};

/// Content that Google's API cannot write.
#[derive(Debug, Serialize)]
pub(crate) struct Skipped {
    #[serde(rename = "type")]
    kind: &'static str,
    index: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Element<'a> {
    #[serde(default)]
    pub(crate) start_index: i64,
    pub(crate) end_index: i64,
    #[serde(borrow)]
    pub(crate) paragraph: Option<Lines<'a>>,
    #[serde(borrow)]
    pub(crate) table: Option<Grid<'a>>,
    table_of_contents: Option<IgnoredAny>,
}

/// Google's `Paragraph`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Lines<'a> {
    #[serde(default, borrow)]
    pub(crate) elements: Vec<Part<'a>>,
    #[serde(borrow)]
    paragraph_style: Option<&'a RawValue>,
    bullet: Option<Bullet>,
    #[serde(default)]
    positioned_object_ids: Vec<IgnoredAny>,
}

/// Google's `ParagraphElement`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Part<'a> {
    #[serde(default)]
    pub(crate) start_index: i64,
    end_index: i64,
    #[serde(borrow)]
    pub(crate) text_run: Option<TextRun<'a>>,
    inline_object_element: Option<InlineObject>,
    page_break: Option<IgnoredAny>,
    equation: Option<IgnoredAny>,
    footnote_reference: Option<IgnoredAny>,
    column_break: Option<IgnoredAny>,
    horizontal_rule: Option<IgnoredAny>,
    auto_text: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TextRun<'a> {
    #[serde(borrow)]
    pub(crate) content: Cow<'a, str>,
    #[serde(borrow)]
    text_style: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InlineObject {
    inline_object_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bullet {
    list_id: String,
    #[serde(default)]
    nesting_level: usize,
}

/// Google's `Table`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Grid<'a> {
    #[serde(default, borrow)]
    pub(crate) table_rows: Vec<GridRow<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GridRow<'a> {
    #[serde(default, borrow)]
    pub(crate) table_cells: Vec<Cell<'a>>,
}

#[derive(Deserialize)]
pub(crate) struct Cell<'a> {
    #[serde(default, borrow)]
    pub(crate) content: Vec<Element<'a>>,
}

impl<'a> Element<'a> {
    /// Reads the JSON text of an element.
    pub(crate) fn read(text: &'a str) -> Result<Self, Fault> {
        serde_json::from_str(text)
            .map_err(|error| not_understood(&format!("an element of the body is unreadable: {error}")))
    }
}

/// Reads the content of a range.
pub(crate) struct Reader<'a> {
    pub(crate) content: &'a Content,
    pub(crate) range: Range,
    /// `true` if the flow stays in its document, where links to headings and bookmarks stay valid.
    pub(crate) same_document: bool,
    pub(crate) skipped: Vec<Skipped>,
}

impl Reader<'_> {
    /// The elements that overlap the range. Only these are read out of the gateway.
    ///
    /// # Errors
    /// [`Fault::InvalidInput`] if the range halves a character.
    pub(crate) fn flow(&mut self) -> Result<Flow, Fault> {
        let mut flow = Flow { blocks: Vec::new(), ending: Ending::Own };
        for number in self.content.first_after(self.range.start_index)..self.content.elements.length() {
            let Some(element) = self.content.elements.item(number) else { break };
            if index(&element, "/startIndex").unwrap_or_default() >= self.range.end_index {
                break;
            }
            let text = element.text();
            let element = Element::read(&text)?;
            flow.ending = self.ending(&element).unwrap_or(flow.ending);
            let is_part = flow.ending == Ending::Part;
            flow.blocks.extend(self.block(element, is_part)?);
        }
        Ok(flow)
    }

    /// The ending of a flow with this last element. `None` for an element that is not a paragraph.
    fn ending(&self, element: &Element<'_>) -> Option<Ending> {
        element.paragraph.as_ref()?;
        Some(if element.end_index <= self.range.end_index {
            Ending::Own
        } else if self.range.start_index <= element.start_index && element.end_index - 1 == self.range.end_index {
            Ending::Shared
        } else {
            Ending::Part
        })
    }

    fn block(&mut self, element: Element<'_>, is_part: bool) -> Result<Option<Block>, Fault> {
        if let Some(lines) = element.paragraph {
            let paragraph = self.paragraph(lines, element.start_index, is_part)?;
            return Ok(Some(Block::Paragraph(paragraph)));
        }
        if let Some(grid) = element.table {
            // A range that begins or ends in a table includes the whole table.
            let outer = self.range;
            self.range = Range { start_index: element.start_index, end_index: element.end_index };
            let table = self.table(grid);
            self.range = outer;
            return table.map(|table| (table.columns > 0).then_some(Block::Table(table)));
        }
        self.skip(
            if element.table_of_contents.is_some() { "table_of_contents" } else { "section_break" },
            element.start_index,
        );
        Ok(None)
    }

    fn table(&mut self, grid: Grid<'_>) -> Result<Table, Fault> {
        let columns = grid.table_rows.iter().map(|row| row.table_cells.len()).max().unwrap_or_default();
        let mut rows = Vec::with_capacity(grid.table_rows.len());
        for row in grid.table_rows {
            let cells = row.table_cells.into_iter().map(|cell| {
                let blocks = cell.content.into_iter().filter_map(|element| self.block(element, false).transpose());
                Ok(Flow { blocks: blocks.collect::<Result<_, Fault>>()?, ending: Ending::Shared })
            });
            rows.push(cells.collect::<Result<_, Fault>>()?);
        }
        Ok(Table { columns, rows })
    }

    fn paragraph(&mut self, lines: Lines<'_>, start: i64, is_part: bool) -> Result<Paragraph, Fault> {
        let mut paragraph = Paragraph::default();
        if !is_part {
            paragraph.style = self.style(lines.paragraph_style);
            paragraph.item = lines.bullet.map(|bullet| self.item(bullet));
        }
        if !lines.positioned_object_ids.is_empty() {
            self.skip("drawing", start);
        }
        for part in lines.elements {
            if part.end_index <= self.range.start_index || part.start_index >= self.range.end_index {
                continue;
            }
            self.part(part, &mut paragraph)?;
        }
        Ok(paragraph)
    }

    fn part(&mut self, part: Part<'_>, paragraph: &mut Paragraph) -> Result<(), Fault> {
        if let Some(run) = part.text_run {
            let text = self.cut(&run.content, part.start_index)?;
            paragraph.push_text(text.trim_end_matches('\n'), &self.style(run.text_style));
        } else if part.page_break.is_some() {
            paragraph.pieces.push(Piece::PageBreak);
        } else if let Some(object) = part.inline_object_element {
            match self.image(&object.inline_object_id) {
                Some(image) => paragraph.pieces.push(image),
                None => self.skip("drawing", part.start_index),
            }
        } else {
            let kinds = [
                ("equation", part.equation.is_some()),
                ("footnote", part.footnote_reference.is_some()),
                ("column_break", part.column_break.is_some()),
                ("horizontal_rule", part.horizontal_rule.is_some()),
                ("auto_text", part.auto_text.is_some()),
            ];
            // The others are people, dates, files and drop-down lists.
            let kind = kinds.iter().find(|(_, is_kind)| *is_kind).map_or("smart_chip", |(kind, _)| kind);
            self.skip(kind, part.start_index);
        }
        Ok(())
    }

    /// The part of a run's text that is in the range.
    fn cut<'b>(&self, text: &'b str, start: i64) -> Result<&'b str, Fault> {
        let offset = |border: i64, field: &str| {
            let mut at = start;
            for (offset, character) in text.char_indices() {
                if at >= border {
                    return if at == border { Ok(offset) } else { Err(halved(field)) };
                }
                at += width(character);
            }
            if at > border { Err(halved(field)) } else { Ok(text.len()) }
        };
        let first = if self.range.start_index > start { offset(self.range.start_index, "start_index")? } else { 0 };
        let last = offset(self.range.end_index, "end_index")?;
        Ok(text.get(first..last).unwrap_or_default())
    }

    /// The members of a style that can be written. Google does not take the ids of headings and
    /// positions of tab stops, and in a table it takes no `pageBreakBefore`, which can only be
    /// false there.
    fn style(&self, style: Option<&RawValue>) -> Style {
        let mut writable = Style::default();
        for (name, value) in style.and_then(|style| json::members(style.get())).unwrap_or_default() {
            let is_read_only = matches!(name.as_ref(), "headingId" | "tabStops");
            let is_default = name == "pageBreakBefore" && value == "false";
            // A link to a heading, bookmark or tab is not valid in another document.
            let is_dead = name == "link" && !self.same_document && !has_url(value);
            if !is_read_only && !is_default && !is_dead {
                writable.set(&name, value);
            }
        }
        writable
    }

    fn item(&self, bullet: Bullet) -> Item {
        let pointer = format!("/{}/listProperties/nestingLevels/{}", escaped(&bullet.list_id), bullet.nesting_level);
        let level = self.content.lists.as_ref().and_then(|lists| lists.pointer(&pointer));
        Item {
            preset: level.map_or(BULLETS, |level| preset(&level)),
            list: bullet.list_id,
            level: bullet.nesting_level,
        }
    }

    fn image(&self, id: &str) -> Option<Piece> {
        let pointer = format!("/{}/inlineObjectProperties/embeddedObject", escaped(id));
        let object = self.content.inline_objects.as_ref()?.pointer(&pointer)?;
        let uri = object.string("/imageProperties/contentUri")?;
        Some(Piece::Image { uri, size: object.pointer("/size").map(|size| size.text()) })
    }

    fn skip(&mut self, kind: &'static str, index: i64) {
        self.skipped.push(Skipped { kind, index });
    }
}

/// Google's name for the bullets of a list's level.
fn preset(level: &Document) -> &'static str {
    let symbol = level.string("/glyphSymbol").unwrap_or_default();
    match level.string("/glyphType").as_deref() {
        Some("DECIMAL" | "ALPHA" | "ROMAN") => NUMBERS,
        Some("ZERO_DECIMAL") => "NUMBERED_ZERODECIMAL_ALPHA_ROMAN",
        Some("UPPER_ALPHA") => "NUMBERED_UPPERALPHA_ALPHA_ROMAN",
        Some("UPPER_ROMAN") => "NUMBERED_UPPERROMAN_UPPERALPHA_DECIMAL",
        // Google has no name for the glyph of a checklist.
        Some("GLYPH_TYPE_UNSPECIFIED") if symbol.is_empty() => "BULLET_CHECKBOX",
        _ => BULLETS,
    }
}

fn has_url(link: &str) -> bool {
    json::members(link).unwrap_or_default().iter().any(|(name, _)| name == "url")
}

/// A name in a JSON Pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The fault for an index inside of a character.
pub(crate) fn halved(field: &str) -> Fault {
    Fault::invalid_input(
        format!("/{field}"),
        "Give an index between two characters: this one is inside of a character that has two UTF-16 code units.",
    )
}
