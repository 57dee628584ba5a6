//! A document as Google Docs keeps it, for tests. It applies the requests of a batch update by the
//! rules of Google's documentation, and refuses indices that Google refuses.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};

/// Members of a style, by name.
type Members = BTreeMap<String, Value>;

/// The content at one index.
#[derive(Clone, Debug)]
enum Unit {
    Text(u16, Members),
    Image(Members),
    PageBreak(Members),
    /// The line end of a paragraph, which has the paragraph's style.
    LineEnd(Members, Option<Bullet>),
    /// The begin of a table, row or cell, or the end of a table.
    Structure(&'static str),
}

#[derive(Clone, Debug)]
struct Bullet {
    level: usize,
    preset: String,
    list: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Simulation {
    units: Vec<Unit>,
    lists: usize,
}

impl Simulation {
    /// A document with this text in normal paragraphs. Index 0 is the section break that every body
    /// begins with.
    pub(crate) fn new(text: &str) -> Self {
        let mut units = vec![Unit::Structure("section")];
        units.extend(text.encode_utf16().map(|unit| plain(unit, &Members::new(), &Members::new(), None)));
        units.push(Unit::LineEnd(Members::new(), None));
        Self { units, lists: 0 }
    }

    /// The index after the last line end.
    pub(crate) fn end(&self) -> usize {
        self.units.len()
    }

    /// The structural elements, as long as no change was applied.
    pub(crate) fn content(&self) -> Vec<Value> {
        let mut content = Vec::new();
        let mut start = 1;
        for (at, unit) in self.units.iter().enumerate() {
            if matches!(unit, Unit::LineEnd(..)) {
                let units = self.units[start..at].iter().map(|unit| match unit {
                    Unit::Text(unit, _) => *unit,
                    other => panic!("{other:?}"),
                });
                let text = String::from_utf16(&units.chain([10]).collect::<Vec<_>>()).expect("whole characters");
                let run = json!({"startIndex": start, "endIndex": at + 1, "textRun": {"content": text}});
                let paragraph = json!({"elements": [run]});
                content.push(json!({"startIndex": start, "endIndex": at + 1, "paragraph": paragraph}));
                start = at + 1;
            }
        }
        content
    }

    pub(crate) fn apply_all<'a>(&mut self, requests: impl IntoIterator<Item = &'a Value>) {
        for request in requests {
            let (kind, request) = request.as_object().expect("an object").iter().next().expect("a kind");
            self.apply(kind, request);
        }
    }

    fn apply(&mut self, kind: &str, request: &Value) {
        match kind {
            "insertText" => {
                let at = self.location(request);
                let (style, bullet) = self.paragraph_at(at);
                let text_style = self.text_style_before(at);
                let text = request["text"].as_str().expect("a text");
                assert!(!text.is_empty() && text.chars().all(crate::flow::is_kept), "{text:?}");
                let units = text.encode_utf16().map(|unit| plain(unit, &text_style, &style, bullet.clone()));
                let units: Vec<Unit> = units.collect();
                self.units.splice(at..at, units);
            }
            "insertInlineImage" => {
                let at = self.location(request);
                assert!(request["uri"].is_string(), "{request}");
                self.units.insert(at, Unit::Image(self.text_style_before(at)));
            }
            "insertPageBreak" => {
                let at = self.location(request);
                let depth: i32 = self.units[..at].iter().map(table_step).sum();
                assert_eq!(depth, 0, "a page break in a table");
                let (style, bullet) = self.paragraph_at(at);
                self.units.splice(at..at, [Unit::PageBreak(Members::new()), Unit::LineEnd(style, bullet)]);
            }
            "insertTable" => {
                let at = self.location(request);
                let (style, bullet) = self.paragraph_at(at);
                let mut units = vec![Unit::LineEnd(style, bullet), Unit::Structure("table")];
                for _ in 0..request["rows"].as_u64().expect("rows") {
                    units.push(Unit::Structure("row"));
                    for _ in 0..request["columns"].as_u64().expect("columns") {
                        units.extend([Unit::Structure("cell"), Unit::LineEnd(Members::new(), None)]);
                    }
                }
                units.push(Unit::Structure("end"));
                self.units.splice(at..at, units);
            }
            "deleteContentRange" => {
                let (start, end) = self.range(request);
                assert!(end < self.units.len(), "the last line end cannot be deleted");
                self.units.drain(start..end);
            }
            "deleteParagraphBullets" => {
                for (style, bullet) in self.line_ends(request) {
                    if bullet.take().is_some() {
                        style.insert("indentStart".to_owned(), "an indent in place of bullets".into());
                    }
                }
            }
            "createParagraphBullets" => self.create_bullets(request),
            "updateParagraphStyle" => {
                let changed = &request["paragraphStyle"];
                for (style, _) in self.line_ends(request) {
                    update(style, changed, &request["fields"]);
                }
            }
            "updateTextStyle" => {
                let (start, end) = self.range(request);
                for unit in &mut self.units[start..end] {
                    if let Unit::Text(_, style) | Unit::Image(style) | Unit::PageBreak(style) = unit {
                        update(style, &request["textStyle"], &request["fields"]);
                    }
                }
            }
            other => panic!("an unknown request: {other}"),
        }
    }

    fn create_bullets(&mut self, request: &Value) {
        self.lists += 1;
        let (start, end) = self.range(request);
        let mut at = self.paragraph_start(start);
        let mut end = end;
        while at < end {
            let tabs = self.units[at..].iter().take_while(|unit| matches!(unit, Unit::Text(9, _))).count();
            self.units.drain(at..at + tabs);
            end -= tabs;
            let length =
                self.units[at..].iter().position(|unit| matches!(unit, Unit::LineEnd(..))).expect("a line end");
            let list = self.lists;
            if let Unit::LineEnd(_, bullet) = &mut self.units[at + length] {
                let preset = request["bulletPreset"].as_str().expect("a preset").to_owned();
                *bullet = Some(Bullet { level: tabs, preset, list });
            }
            at += length + 1;
            assert!(!matches!(self.units.get(at), Some(Unit::Structure(_))) || at >= end, "a table in a list");
        }
    }

    /// An index inside of a paragraph.
    fn location(&self, request: &Value) -> usize {
        let at = index(&request["location"]["index"]);
        let unit = self.units.get(at).unwrap_or_else(|| panic!("index {at} is after the end {}", self.units.len()));
        assert!(!matches!(unit, Unit::Structure(_)), "index {at} is not in a paragraph");
        self.assert_between_characters(at);
        at
    }

    fn range(&self, request: &Value) -> (usize, usize) {
        let (start, end) = (index(&request["range"]["startIndex"]), index(&request["range"]["endIndex"]));
        assert!((1..end).contains(&start) && end <= self.units.len(), "{request} of {}", self.units.len());
        self.assert_between_characters(start);
        self.assert_between_characters(end);
        (start, end)
    }

    fn assert_between_characters(&self, at: usize) {
        let is_low = matches!(self.units.get(at), Some(Unit::Text(0xDC00..=0xDFFF, _)));
        assert!(!is_low, "index {at} is inside of a character");
    }

    /// The line ends of the paragraphs that overlap a range.
    fn line_ends(&mut self, request: &Value) -> impl Iterator<Item = (&mut Members, &mut Option<Bullet>)> {
        let (start, end) = self.range(request);
        let last = (end - 1..self.units.len()).find(|at| matches!(self.units[*at], Unit::LineEnd(..)));
        self.units[start..=last.expect("a line end")].iter_mut().filter_map(|unit| match unit {
            Unit::LineEnd(style, bullet) => Some((style, bullet)),
            _ => None,
        })
    }

    fn paragraph_start(&self, at: usize) -> usize {
        let before = |unit: &Unit| matches!(unit, Unit::LineEnd(..) | Unit::Structure(_));
        self.units[..at].iter().rposition(before).map_or(0, |position| position + 1)
    }

    /// The style and bullet of the paragraph at an index, which a new paragraph there takes over.
    fn paragraph_at(&self, at: usize) -> (Members, Option<Bullet>) {
        let found = self.units[at..].iter().find_map(|unit| match unit {
            Unit::LineEnd(style, bullet) => Some((style.clone(), bullet.clone())),
            _ => None,
        });
        found.expect("a line end")
    }

    /// The style of the text before an index, which inserted text takes over.
    fn text_style_before(&self, at: usize) -> Members {
        match &self.units[at - 1] {
            Unit::Text(_, style) => style.clone(),
            _ => Members::new(),
        }
    }

    /// The bold text, without what is between.
    pub(crate) fn bold_text(&self) -> String {
        let units = self.units.iter().filter_map(|unit| match unit {
            Unit::Text(unit, style) if style.contains_key("bold") => Some(*unit),
            _ => None,
        });
        String::from_utf16(&units.collect::<Vec<_>>()).expect("whole characters")
    }

    /// Number of paragraphs that end before an index.
    pub(crate) fn lines_before(&self, at: usize) -> usize {
        self.units[..at].iter().filter(|unit| matches!(unit, Unit::LineEnd(..))).count()
    }

    /// The level and the text of each paragraph. `None` is the level of a paragraph without bullet.
    pub(crate) fn items(&self) -> Vec<(Option<usize>, String)> {
        let mut items = Vec::new();
        let mut units = Vec::new();
        for unit in &self.units {
            match unit {
                Unit::Text(unit, _) => units.push(*unit),
                Unit::LineEnd(_, bullet) => {
                    let text = String::from_utf16(&std::mem::take(&mut units)).expect("whole characters");
                    items.push((bullet.as_ref().map(|bullet| bullet.level), text));
                }
                _ => {}
            }
        }
        items
    }

    /// A line for each paragraph, and for the begin of each table, row and cell, and for the end of
    /// each table.
    ///
    /// Text in a style is `{members:text}`, a paragraph in a style begins with `<members>`, and an
    /// item with `list.level preset`.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut text = String::new();
        let mut run: Vec<u16> = Vec::new();
        let mut style = Members::new();
        for unit in &self.units[1..] {
            if !matches!(unit, Unit::Text(_, same) if *same == style) {
                flush(&mut text, &mut run, &style);
            }
            match unit {
                Unit::Text(unit, members) => {
                    style.clone_from(members);
                    run.push(*unit);
                }
                Unit::Image(_) => text.push_str("[image]"),
                Unit::PageBreak(_) => text.push_str("[break]"),
                Unit::Structure(kind) => lines.push(format!("[{kind}]")),
                Unit::LineEnd(style, bullet) => {
                    let mut line = String::new();
                    if let Some(Bullet { level, preset, list }) = bullet {
                        let _ = write!(line, "{list}.{level} {preset} ");
                    }
                    if !style.is_empty() {
                        let _ = write!(line, "<{}> ", shown(style));
                    }
                    lines.push(line + &std::mem::take(&mut text));
                }
            }
        }
        lines
    }
}

fn flush(text: &mut String, run: &mut Vec<u16>, style: &Members) {
    if run.is_empty() {
        return;
    }
    let content = String::from_utf16(run).expect("whole characters");
    run.clear();
    match style.is_empty() {
        true => text.push_str(&content),
        false => drop(write!(text, "{{{}:{content}}}", shown(style))),
    }
}

/// The members in short: names, and values that are not `true`.
fn shown(style: &Members) -> String {
    let members = style.iter().map(|(name, value)| match value {
        Value::Bool(true) => name.clone(),
        Value::String(text) => text.clone(),
        other => format!("{name}={other}"),
    });
    members.collect::<Vec<_>>().join(",")
}

fn plain(unit: u16, text_style: &Members, style: &Members, bullet: Option<Bullet>) -> Unit {
    match unit {
        10 => Unit::LineEnd(style.clone(), bullet),
        other => Unit::Text(other, text_style.clone()),
    }
}

fn index(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap_or_else(|| panic!("not an index: {value}"))).expect("an index")
}

fn table_step(unit: &Unit) -> i32 {
    match unit {
        Unit::Structure("table") => 1,
        Unit::Structure("end") => -1,
        _ => 0,
    }
}

/// Sets the members that the mask names. A member of the mask that the style does not have is
/// unset.
fn update(style: &mut Members, changed: &Value, fields: &Value) {
    let changed = changed.as_object().expect("a style");
    let fields = fields.as_str().expect("a mask");
    assert!(!fields.is_empty());
    if fields == "*" {
        style.clear();
    }
    for field in fields.split(',').filter(|field| *field != "*") {
        assert!(changed.contains_key(field), "{field} is in the mask and not in {changed:?}");
        style.remove(field);
    }
    style.extend(changed.iter().map(|(name, value)| (name.clone(), value.clone())));
}
