//! Documents as Google Docs answers them, for tests.

use serde_json::{Value, json};

use crate::flow::is_kept;

/// Makes the JSON of a document, and counts its indices as Google does.
pub(crate) struct Source {
    content: Vec<Value>,
    /// The index after what the document has so far.
    pub(crate) index: usize,
}

impl Source {
    pub(crate) fn new() -> Self {
        Self { content: vec![json!({"endIndex": 1, "sectionBreak": {"sectionStyle": {}}})], index: 1 }
    }

    /// A paragraph. Each part is a text with its style, or another element that takes one index.
    pub(crate) fn paragraph(mut self, members: Value, parts: &[(Value, Value)]) -> Self {
        let paragraph = self.lines(members, parts);
        self.content.push(paragraph);
        self
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.paragraph(json!({}), &[(json!(text), json!({}))])
    }

    fn lines(&mut self, members: Value, parts: &[(Value, Value)]) -> Value {
        let start = self.index;
        let mut elements = Vec::new();
        let line_end = (json!("\n"), json!({}));
        for (part, style) in parts.iter().chain([&line_end]) {
            let start = self.index;
            let mut element = match part.as_str() {
                Some(text) => {
                    self.index += text.encode_utf16().count();
                    json!({"textRun": {"content": text, "textStyle": style}})
                }
                None => {
                    self.index += 1;
                    part.clone()
                }
            };
            element["startIndex"] = json!(start);
            element["endIndex"] = json!(self.index);
            elements.push(element);
        }
        let mut paragraph = members;
        paragraph["elements"] = json!(elements);
        json!({"startIndex": start, "endIndex": self.index, "paragraph": paragraph})
    }

    pub(crate) fn table(mut self, rows: &[&[&str]]) -> Self {
        let start = self.index;
        self.index += 1;
        let mut table = Vec::new();
        for row in rows {
            self.index += 1;
            let mut cells = Vec::new();
            for text in *row {
                self.index += 1;
                let lines: Vec<Value> = text
                    .split('\n')
                    .map(|line| self.lines(json!({}), &[(json!(line), json!({"bold": true}))]))
                    .collect();
                cells.push(json!({"content": lines}));
            }
            table.push(json!({"tableCells": cells}));
        }
        self.index += 1;
        let table = json!({"rows": rows.len(), "columns": rows[0].len(), "tableRows": table});
        self.content.push(json!({"startIndex": start, "endIndex": self.index, "table": table}));
        self
    }

    pub(crate) fn structure(mut self, kind: &str) -> Self {
        let mut element = json!({"startIndex": self.index, "endIndex": self.index + 1});
        element[kind] = json!({});
        self.index += 1;
        self.content.push(element);
        self
    }

    pub(crate) fn document(&self) -> Value {
        json!({
            "documentId": "source",
            "revisionId": "s1",
            "body": {"content": self.content},
            "lists": {
                "kix.a/b": {"listProperties": {"nestingLevels": [{"glyphType": "DECIMAL"}, {"glyphType": "ALPHA"}]}},
                "kix.c": {"listProperties": {"nestingLevels": [{"glyphType": "GLYPH_TYPE_UNSPECIFIED"}, {"glyphSymbol": "●"}]}},
            },
            "inlineObjects": {
                "kix.i": {"inlineObjectProperties": {"embeddedObject": {
                    "size": {"height": {"magnitude": 10.5, "unit": "PT"}},
                    "imageProperties": {"contentUri": "https://images.test/i"},
                }}},
                "kix.d": {"inlineObjectProperties": {"embeddedObject": {"embeddedDrawingProperties": {}}}},
            },
        })
    }

    /// The bold text of a range, with the whole of each table that the range touches, as Google
    /// keeps it.
    pub(crate) fn bold_text(&self, start: usize, end: usize) -> String {
        let mut units = Vec::new();
        for element in &self.content {
            let (from, to) = indices(element);
            if from >= end || to <= start {
                continue;
            }
            match element.pointer("/table/tableRows") {
                Some(rows) => runs(rows, 0, usize::MAX, &mut units),
                None => runs(element, start, end, &mut units),
            }
        }
        String::from_utf16(&units).expect("whole characters").chars().filter(|character| is_kept(*character)).collect()
    }
}

fn indices(element: &Value) -> (usize, usize) {
    let index = |name: &str| element[name].as_u64().and_then(|index| usize::try_from(index).ok()).unwrap_or_default();
    (index("startIndex"), index("endIndex"))
}

/// Collects the text of all bold runs below a value, as far as it is in a range.
fn runs(value: &Value, start: usize, end: usize, units: &mut Vec<u16>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| runs(item, start, end, units)),
        Value::Object(_) if value["textRun"]["textStyle"]["bold"] == true => {
            let content = value["textRun"]["content"].as_str().expect("a text").encode_utf16();
            let from = indices(value).0;
            units.extend(
                content.enumerate().filter(|(at, _)| (start..end).contains(&(from + at))).map(|(_, unit)| unit),
            );
        }
        Value::Object(members) => members.values().for_each(|member| runs(member, start, end, units)),
        _ => {}
    }
}
