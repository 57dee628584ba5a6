//! Copies a range of content from one document into another.

use connector_sdk::{Fault, Outcome, Violation};
use serde::Serialize;

use crate::CopyContent;
use crate::batch::{self, Change, Content, Location, Range};
use crate::flow::{Block, Flow};
use crate::layout::{self, Counts, Surroundings};
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

    let range = Range { start_index: input.start_index, end_index: input.end_index };
    let mut reader = Reader { content: &source, range, same_document, skipped: Vec::new() };
    let flow = reader.flow()?;
    let skipped = reader.skipped;
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
    let layout = layout::write(flow, at, Surroundings::Styled);
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
