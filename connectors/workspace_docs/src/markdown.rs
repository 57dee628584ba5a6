//! Replaces the content of a document from markdown.

use connector_sdk::{Fault, Outcome};
use pulldown_cmark::{Alignment, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};
use serde::Serialize;

use crate::ReplaceContentWithMarkdown;
use crate::batch::{self, Change, Content, Range};
use crate::flow::{BULLETS, Block, Ending, Flow, Item, NUMBERS, Paragraph, Style, Table};
use crate::layout::{self, Surroundings};

/// Indent of a quote, in points. Equal to one indentation step in the editor of Google Docs.
const INDENT: usize = 36;

/// Font of code.
const MONOSPACED: &str = r#"{"fontFamily":"Courier New"}"#;

/// A line below a paragraph. Google's API has no other form of a horizontal rule.
const LINE: &str = r#"{"color":{"color":{"rgbColor":{"red":0.7,"green":0.7,"blue":0.7}}},"width":{"magnitude":1,"unit":"PT"},"padding":{"magnitude":1,"unit":"PT"},"dashStyle":"SOLID"}"#;

/// A line break inside of a paragraph.
const LINE_BREAK: &str = "\u{B}";

/// Schemes of the links that a document can have. Other links have no meaning in a document, for
/// example relative ones.
const SCHEMES: [&str; 5] = ["http:", "https:", "mailto:", "tel:", "ftp:"];

#[derive(Serialize)]
struct Answer<'a> {
    document_id: &'a str,
    revision_id: Option<String>,
    paragraphs: usize,
    characters: i64,
    replies: usize,
}

pub(crate) fn replace(input: ReplaceContentWithMarkdown) -> Result<Outcome, Fault> {
    let content = Content::read("document_id", &input.document_id, "document")?;
    let mut changes = Vec::new();
    // The last line end of a body cannot be deleted.
    if content.end > 2 {
        changes.push(Change::DeleteContentRange { range: Range { start_index: 1, end_index: content.end - 1 } });
    }
    let rest = Range { start_index: 1, end_index: 2 };
    changes.extend(Change::plain_paragraphs(rest));
    changes.push(Change::plain_text(rest));
    let layout = layout::write(flow(&input.markdown), 1, Surroundings::Plain);
    changes.extend(layout.changes);
    let response = batch::apply("document_id", &input.document_id, "document", content.revision(), &changes)?;
    Outcome::json(&Answer {
        document_id: &input.document_id,
        revision_id: batch::revision(&response),
        paragraphs: layout.counts.paragraphs,
        characters: layout.counts.characters,
        // All changes are applied, or none.
        replies: changes.len(),
    })
}

/// The content of a markdown text.
pub(crate) fn flow(markdown: &str) -> Flow {
    let mut writer = Writer::default();
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        writer.event(event);
    }
    writer.close();
    Flow { blocks: writer.blocks, ending: Ending::Shared }
}

#[derive(Default)]
struct Writer {
    blocks: Vec<Block>,
    /// The paragraph that text goes into.
    open: Option<Paragraph>,
    /// The enclosing lists, outermost first: `true` for a numbered list.
    lists: Vec<bool>,
    /// Number of outermost lists so far, which names them.
    list_number: usize,
    /// The enclosing item, if it has no paragraph yet.
    new_item: Option<Item>,
    /// Number of enclosing items.
    items: usize,
    /// Number of enclosing quotes.
    quotes: usize,
    /// The text so far of a block of code or HTML.
    verbatim: Option<String>,
    marks: Marks,
    /// Number of bytes of text so far.
    written: usize,
    table: Option<Rows>,
}

/// The marks of text. Each number counts the enclosing marks of one kind.
#[derive(Default)]
struct Marks {
    strong: usize,
    emphasis: usize,
    strikethrough: usize,
    code: usize,
    /// The enclosing links and pictures, outermost first.
    links: Vec<Link>,
}

struct Link {
    url: String,
    /// `written` at the beginning of the link.
    written: usize,
}

#[derive(Default)]
struct Rows {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<Flow>>,
    in_head: bool,
}

impl Writer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => match &mut self.verbatim {
                Some(verbatim) => verbatim.push_str(&text),
                None => self.text(&text),
            },
            Event::Code(text) => {
                self.marks.code += 1;
                self.text(&text);
                self.marks.code -= 1;
            }
            Event::SoftBreak => self.text(" "),
            Event::HardBreak => self.text(LINE_BREAK),
            Event::Rule => {
                self.end_item_text();
                let mut rule = self.paragraph();
                rule.style.set("borderBottom", LINE);
                self.blocks.push(Block::Paragraph(rule));
            }
            // The parser makes these events only for extensions that are not enabled.
            Event::FootnoteReference(_) | Event::TaskListMarker(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.begin(Style::default()),
            Tag::Heading { level, .. } => self.begin(heading(level)),
            Tag::CodeBlock(_) | Tag::HtmlBlock => self.verbatim = Some(String::new()),
            Tag::BlockQuote(_) => self.quotes += 1,
            Tag::List(first) => {
                self.close();
                if self.lists.is_empty() {
                    self.list_number += 1;
                }
                self.lists.push(first.is_some());
            }
            Tag::Item => {
                self.items += 1;
                self.new_item = Some(Item {
                    list: self.list_number.to_string(),
                    level: self.lists.len().saturating_sub(1),
                    preset: if self.lists.first() == Some(&true) { NUMBERS } else { BULLETS },
                });
            }
            Tag::Table(alignments) => {
                self.end_item_text();
                self.table = Some(Rows { alignments, ..Rows::default() });
            }
            Tag::TableHead => self.row(true),
            Tag::TableRow => self.row(false),
            Tag::TableCell => self.open = Some(Paragraph::default()),
            Tag::Strong => self.marks.strong += 1,
            Tag::Emphasis => self.marks.emphasis += 1,
            Tag::Strikethrough => self.marks.strikethrough += 1,
            Tag::Link { link_type: LinkType::Email, dest_url, .. } => self.link(format!("mailto:{dest_url}")),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => self.link(dest_url.into_string()),
            // The parser makes the other events only for extensions that are not enabled.
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::Heading(_) => self.close_outside_of_items(),
            TagEnd::CodeBlock => {
                self.marks.code += 1;
                self.verbatim();
                self.marks.code -= 1;
            }
            TagEnd::HtmlBlock => self.verbatim(),
            TagEnd::BlockQuote(_) => self.quotes = self.quotes.saturating_sub(1),
            TagEnd::List(_) => drop(self.lists.pop()),
            TagEnd::Item => {
                self.end_item_text();
                self.items = self.items.saturating_sub(1);
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.blocks.push(Block::Table(Table { columns: table.alignments.len(), rows: table.rows }));
                }
            }
            TagEnd::TableCell => self.cell(),
            TagEnd::Strong => self.marks.strong -= 1,
            TagEnd::Emphasis => self.marks.emphasis -= 1,
            TagEnd::Strikethrough => self.marks.strikethrough -= 1,
            TagEnd::Link => drop(self.marks.links.pop()),
            TagEnd::Image => {
                if let Some(url) = self.marks.links.last().filter(|link| link.written == self.written) {
                    // A picture without an alternative text.
                    let url = url.url.clone();
                    self.text(&url);
                }
                self.marks.links.pop();
            }
            _ => {}
        }
    }

    /// Begins a block of text. If an item already has text, the block becomes a further line of it,
    /// because a paragraph between two items would restart the numbers.
    fn begin(&mut self, style: Style) {
        if self.open.is_some() {
            self.text(LINE_BREAK);
            return;
        }
        let mut paragraph = self.paragraph();
        paragraph.style.extend(style);
        self.open = Some(paragraph);
    }

    /// An empty paragraph in the current context: an item, in quotes, or neither.
    fn paragraph(&mut self) -> Paragraph {
        let item = self.new_item.take();
        let mut style = Style::default();
        // Bullets have an indent by themselves. Other paragraphs in an item follow a list, a table
        // or a rule in it.
        let indent = if item.is_some() { 0 } else { self.quotes + self.items };
        if indent > 0 {
            let indent = format!(r#"{{"magnitude":{},"unit":"PT"}}"#, indent * INDENT);
            style = style.with("indentStart", indent.as_str()).with("indentFirstLine", indent.as_str());
        }
        Paragraph { style, item, ..Paragraph::default() }
    }

    /// Appends text to the open paragraph. A line end in it, as in an HTML tag of two lines or from
    /// `&#10;`, becomes a blank as a soft break does. Google would begin a new paragraph.
    fn text(&mut self, text: &str) {
        let text = &text.replace("\r\n", " ").replace(['\r', '\n'], " ");
        let style = self.marks.style(self.table.as_ref().is_some_and(|table| table.in_head));
        let mut paragraph = self.open.take().unwrap_or_else(|| self.paragraph());
        paragraph.push_text(text, &style);
        self.open = Some(paragraph);
        self.written += text.len();
    }

    /// Writes the lines of a block of code or HTML: paragraphs, or in an item lines of its
    /// paragraph.
    fn verbatim(&mut self) {
        let Some(text) = self.verbatim.take() else { return };
        for line in text.strip_suffix('\n').unwrap_or(&text).split('\n') {
            self.begin(Style::default());
            self.text(line.trim_end_matches('\r'));
            self.close_outside_of_items();
        }
    }

    fn link(&mut self, url: String) {
        self.marks.links.push(Link { url, written: self.written });
    }

    fn close(&mut self) {
        self.blocks.extend(self.open.take().map(Block::Paragraph));
    }

    /// Ends a block of text. The block of an item stays open for further lines.
    fn close_outside_of_items(&mut self) {
        if self.items == 0 {
            self.close();
        }
    }

    /// Ends the text of an item. An item without text is also a bullet.
    fn end_item_text(&mut self) {
        if self.new_item.is_some() {
            self.text("");
        }
        self.close();
    }

    fn row(&mut self, in_head: bool) {
        if let Some(table) = &mut self.table {
            table.in_head = in_head;
            table.rows.push(Vec::new());
        }
    }

    fn cell(&mut self) {
        let (Some(mut paragraph), Some(table)) = (self.open.take(), &mut self.table) else { return };
        let Some(row) = table.rows.last_mut() else { return };
        let alignment = match table.alignments.get(row.len()) {
            Some(Alignment::Left) => "\"START\"",
            Some(Alignment::Center) => "\"CENTER\"",
            Some(Alignment::Right) => "\"END\"",
            Some(Alignment::None) | None => "",
        };
        if !alignment.is_empty() {
            paragraph.style.set("alignment", alignment);
        }
        row.push(Flow { blocks: vec![Block::Paragraph(paragraph)], ending: Ending::Shared });
    }
}

impl Marks {
    fn style(&self, in_head: bool) -> Style {
        let mut style = Style::default();
        if self.strong > 0 || in_head {
            style.set("bold", "true");
        }
        if self.emphasis > 0 {
            style.set("italic", "true");
        }
        if self.strikethrough > 0 {
            style.set("strikethrough", "true");
        }
        if self.code > 0 {
            style.set("weightedFontFamily", MONOSPACED);
        }
        // A picture in a link has the target of the link.
        let mut links = self.links.iter().map(|link| link.url.as_str());
        let url = links.find(|url| SCHEMES.iter().any(|scheme| begins_with(url, scheme)));
        if let Some(Ok(url)) = url.map(serde_json::to_string) {
            style.set("link", format!("{{\"url\":{url}}}"));
        }
        style
    }
}

/// The case of a scheme does not matter.
fn begins_with(url: &str, scheme: &str) -> bool {
    url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
}

fn heading(level: HeadingLevel) -> Style {
    Style::default().with("namedStyleType", format!("\"HEADING_{}\"", level as usize))
}
