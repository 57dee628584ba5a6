//! Copies a range of content from one document into another.

use connector_sdk::{Fault, Outcome, Violation};
use serde::Serialize;

use crate::CopyContent;
use crate::batch::{self, Change, Content, Location, Range};
use crate::flow::{Block, Ending, Flow, Item, Paragraph};
use crate::layout::{self, Counts, Surroundings};
use crate::place::Place;
use crate::source::{Reader, Skipped};

#[derive(Serialize)]
struct Answer<'a> {
    source_id: &'a str,
    destination_id: &'a str,
    copied: Counts,
    skipped: Vec<Skipped>,
    revision_id: Option<String>,
}

pub(crate) fn content(input: CopyContent) -> Result<Outcome, Fault> {
    if input.start_index >= input.end_index {
        return Err(Fault::invalid_input("/start_index", "Give an index that is less than `end_index`."));
    }
    let same_document = input.source_id == input.destination_id;
    let source = Content::read("source_id", &input.source_id, "source document")?;
    let destination = match same_document {
        true => None,
        false => Some(Content::read("destination_id", &input.destination_id, "destination document")?),
    };
    let destination = destination.as_ref().unwrap_or(&source);
    check(&input, source.end, destination.end)?;
    let place = Place::find(destination, input.destination_index, "destination_index")?;

    let range = Range { start_index: input.start_index, end_index: input.end_index };
    let mut reader = Reader { content: &source, range, same_document, skipped: Vec::new() };
    let mut flow = reader.flow()?;
    let skipped = reader.skipped;
    if place.is_some_and(|place| place.before_tab) {
        drop_last_bullet(&mut flow);
    }
    if is_empty(&flow) {
        return Err(Fault::invalid_input(
            "/start_index",
            "Give a range with text, tables, pictures or page breaks: this one has nothing that can be copied.",
        ));
    }
    let mut changes = Vec::new();
    let mut at = input.destination_index;
    if input.add_page_break {
        changes.push(Change::InsertPageBreak { location: Location { index: at } });
        // The page break, and the line end that Google inserts after it.
        at += 2;
    }
    let mut surroundings = Surroundings::Styled;
    if let Some(place) = place.filter(|place| !input.add_page_break && place.start < at)
        && let Some(Block::Paragraph(paragraph)) = flow.blocks.first()
        && let Some(item) = &paragraph.item
    {
        surroundings = Surroundings::Leveled;
        at += set_level(place, item, &mut changes);
    }
    let layout = layout::write(flow, at, surroundings);
    changes.extend(layout.changes);
    let response = batch::apply(
        "destination_id",
        &input.destination_id,
        "destination document",
        destination.revision(),
        &changes,
    )?;
    Outcome::json(&Answer {
        source_id: &input.source_id,
        destination_id: &input.destination_id,
        copied: layout.counts,
        skipped,
        revision_id: batch::revision(&response),
    })
}

/// Removes the last item if it has no text and would continue with the text at the place, which
/// begins with a tab: Google would take the tab as the level of the item.
fn drop_last_bullet(flow: &mut Flow) {
    if flow.ending == Ending::Shared
        && let Some(Block::Paragraph(paragraph)) = flow.blocks.last_mut()
        && paragraph.item.is_some()
        && paragraph.has_only_tabs()
    {
        *paragraph = Paragraph::default();
        flow.ending = Ending::Part;
    }
}

/// Sets the level of an item that continues a paragraph of the destination. Google takes the level
/// of an item from the tabs at the beginning of its paragraph. Returns the number of indices by
/// which the place moves.
fn set_level(place: Place, item: &Item, changes: &mut Vec<Change>) -> i64 {
    let missing = item.tabs() - place.tabs;
    if missing > 0 {
        let location = Location { index: place.start };
        changes.push(Change::InsertText { location, text: "\t".repeat(usize::try_from(missing).unwrap_or_default()) });
    } else if missing < 0 {
        let range = Range { start_index: place.start, end_index: place.start - missing };
        changes.push(Change::DeleteContentRange { range });
    }
    missing
}

/// Checks the indices by the ends of the two bodies.
fn check(input: &CopyContent, source_end: i64, destination_end: i64) -> Result<(), Fault> {
    let mut violations = Vec::new();
    let mut refuse = |field: &str, detail: String| {
        violations.push(Violation { pointer: format!("/{field}"), detail });
    };
    if input.end_index > source_end {
        refuse("end_index", format!("Give an index of at most {source_end}, the end of the source document's body."));
    }
    if input.destination_index >= destination_end {
        let detail =
            format!("Give an index that is less than {destination_end}, the end of the destination document's body.");
        refuse("destination_index", detail);
    }
    if violations.is_empty() { Ok(()) } else { Err(Fault::InvalidInput(violations)) }
}

/// Returns `true` if nothing of the range can be copied. An empty line can.
fn is_empty(flow: &Flow) -> bool {
    let shows_nothing = |block: &Block| matches!(block, Block::Paragraph(paragraph) if paragraph.is_empty());
    flow.blocks.is_empty() || (flow.blocks.iter().all(shows_nothing) && !flow.has_line_end())
}
