//! The place in a document at which content is inserted.

use connector_sdk::Fault;

use crate::batch::Content;
use crate::flow::width;
use crate::source::{Element, Lines, halved};

/// A place in a paragraph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The index at which the paragraph begins.
    pub(crate) start: i64,
    /// Number of tabs that the paragraph begins with, before the place.
    pub(crate) tabs: i64,
    /// `true` if a tab follows the place.
    pub(crate) before_tab: bool,
}

impl Place {
    /// Finds the place of an index. `None` if no paragraph is there, which Google refuses.
    ///
    /// # Errors
    /// [`Fault::InvalidInput`] that names `field` if the index is inside of a character.
    pub(crate) fn find(content: &Content, at: i64, field: &str) -> Result<Option<Self>, Fault> {
        let Some(element) = content.elements.item(content.first_after(at)) else { return Ok(None) };
        let text = element.text();
        let Some((start, lines)) = paragraph(Element::read(&text)?, at) else { return Ok(None) };
        let mut place = Self { start, tabs: 0, before_tab: false };
        let mut is_beginning = true;
        for part in lines.elements {
            if part.start_index > at {
                break;
            }
            let mut index = part.start_index;
            let text = part.text_run.map(|run| run.content);
            is_beginning &= text.is_some();
            for character in text.as_deref().unwrap_or_default().chars() {
                if index >= at {
                    place.before_tab = index == at && character == '\t';
                    break;
                }
                is_beginning &= character == '\t';
                place.tabs += i64::from(is_beginning);
                index += width(character);
            }
            if index > at {
                return Err(halved(field));
            }
        }
        Ok(Some(place))
    }
}

/// The paragraph with an index, and the index at which it begins. It may be in a table.
fn paragraph(element: Element<'_>, at: i64) -> Option<(i64, Lines<'_>)> {
    if !(element.start_index..element.end_index).contains(&at) {
        return None;
    }
    if let Some(lines) = element.paragraph {
        return Some((element.start_index, lines));
    }
    let cells = element.table?.table_rows.into_iter().flat_map(|row| row.table_cells);
    cells.flat_map(|cell| cell.content).find_map(|element| paragraph(element, at))
}
