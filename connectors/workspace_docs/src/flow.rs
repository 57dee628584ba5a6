//! Content to be written into a document: paragraphs and tables in their order.

use serde::ser::{Error, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// Paragraphs and tables.
pub(crate) struct Flow {
    pub(crate) blocks: Vec<Block>,
    pub(crate) ending: Ending,
}

impl Flow {
    /// Returns `true` if the flow has its own line end.
    pub(crate) fn has_line_end(&self) -> bool {
        let paragraphs = self.blocks.iter().filter(|block| matches!(block, Block::Paragraph(_))).count();
        paragraphs > usize::from(self.ending != Ending::Own)
    }
}

/// The end of a flow's last paragraph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Its own line end.
    #[default]
    Own,
    /// The line end that already exists at the target position. This paragraph gets the flow's
    /// style.
    Shared,
    /// The text becomes a part of the paragraph at the target position. This paragraph keeps its
    /// style.
    Part,
}

pub(crate) enum Block {
    Paragraph(Paragraph),
    Table(Table),
}

#[derive(Default)]
pub(crate) struct Paragraph {
    pub(crate) pieces: Vec<Piece>,
    /// Members of Google's `ParagraphStyle`.
    pub(crate) style: Style,
    pub(crate) item: Option<Item>,
}

/// The position of a paragraph in a list.
#[derive(Clone)]
pub(crate) struct Item {
    /// Name of the list. Adjacent paragraphs with the same name are one list.
    pub(crate) list: String,
    pub(crate) level: usize,
    /// Google's name for the bullets of the list. The value of the first item counts.
    pub(crate) preset: &'static str,
}

impl Item {
    /// Number of tabs that set the level.
    pub(crate) fn tabs(&self) -> i64 {
        i64::try_from(self.level.min(LEVELS - 1)).unwrap_or_default()
    }
}

/// Bullets of a list without numbers.
pub(crate) const BULLETS: &str = "BULLET_DISC_CIRCLE_SQUARE";

/// Numbers of a list.
pub(crate) const NUMBERS: &str = "NUMBERED_DECIMAL_ALPHA_ROMAN";

/// Number of levels that a list of Google Docs has.
pub(crate) const LEVELS: usize = 9;

pub(crate) enum Piece {
    Text {
        text: String,
        /// Members of Google's `TextStyle`.
        style: Style,
    },
    Image {
        uri: String,
        /// Google's `Size`, as JSON text.
        size: Option<String>,
    },
    PageBreak,
}

/// Rows of cells.
pub(crate) struct Table {
    pub(crate) columns: usize,
    pub(crate) rows: Vec<Vec<Flow>>,
}

impl Paragraph {
    /// Appends text. If the last piece is text in the same style, the text is added to it.
    pub(crate) fn push_text(&mut self, text: &str, style: &Style) {
        let accepted: String = text.chars().filter(|character| is_kept(*character)).collect();
        match self.pieces.last_mut() {
            _ if accepted.is_empty() => {}
            Some(Piece::Text { text, style: last }) if last == style => text.push_str(&accepted),
            _ => self.pieces.push(Piece::Text { text: accepted, style: style.clone() }),
        }
    }

    /// Returns `true` if the paragraph has nothing but tabs.
    pub(crate) fn has_only_tabs(&self) -> bool {
        let is_tabs = |piece: &Piece| matches!(piece, Piece::Text { text, .. } if text.chars().all(|one| one == '\t'));
        self.pieces.iter().all(is_tabs)
    }

    /// Returns `true` if the paragraph shows nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }
}

/// Google strips other characters out of inserted text, which would move all indices after them.
pub(crate) fn is_kept(character: char) -> bool {
    !matches!(character, '\0'..='\u{8}' | '\u{C}'..='\u{1F}' | '\u{E000}'..='\u{F8FF}')
}

/// Number of UTF-16 code units, in which Google counts.
pub(crate) fn units(text: &str) -> i64 {
    text.chars().map(width).sum()
}

/// Number of UTF-16 code units of a character.
pub(crate) fn width(character: char) -> i64 {
    if character.len_utf16() == 2 { 2 } else { 1 }
}

/// Members of one of Google's styles: names, and values as JSON text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Style(Vec<(String, String)>);

impl Style {
    /// Sets a member. `json` is valid JSON text.
    pub(crate) fn set(&mut self, name: &str, json: impl Into<String>) {
        self.0.push((name.to_owned(), json.into()));
    }

    /// Adds the members of another style.
    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The style with one more member.
    pub(crate) fn with(mut self, name: &str, json: impl Into<String>) -> Self {
        self.set(name, json);
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names of the members, as a field mask.
    pub(crate) fn fields(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        names.join(",")
    }
}

impl Serialize for Style {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, json) in &self.0 {
            let value: &RawValue = serde_json::from_str(json).map_err(S::Error::custom)?;
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
