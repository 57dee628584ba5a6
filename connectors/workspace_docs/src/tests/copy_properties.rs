//! Copies of any content to any place.

use connector_sdk::Fault;
use proptest::prelude::*;
use serde_json::json;

use super::copy::copied;
use super::sample::Source;
use super::simulation::Simulation;

/// A paragraph, a list item, a picture, a page break or a table.
fn block() -> impl Strategy<Value = (u8, String)> {
    (0_u8..6, "[a-z😀\u{1}\u{E907}]{0,6}")
}

proptest! {
    /// The simulation refuses any index that is not valid at its time. All text that is bold in the
    /// source is bold in the copy.
    #[test]
    fn any_range_arrives_at_any_index(
        blocks in proptest::collection::vec(block(), 1..8),
        (from, length, to) in (0_usize..60, 1_usize..60, 0_usize..4),
        add_page_break in any::<bool>(),
    ) {
        let mut source = Source::new();
        for (kind, text) in &blocks {
            let run = (json!(text), json!({"bold": true}));
            source = match kind {
                0 => source.paragraph(json!({"paragraphStyle": {"namedStyleType": "TITLE"}}), &[run]),
                1 => source.paragraph(json!({"bullet": {"listId": "kix.c", "nestingLevel": text.len() % 3}}), &[run]),
                2 => source.paragraph(json!({}), &[run, (json!({"inlineObjectElement": {"inlineObjectId": "kix.i"}}), json!({}))]),
                3 => source.paragraph(json!({}), &[run, (json!({"pageBreak": {}}), json!({}))]),
                4 => source.table(&[&[text, "1"]]).text(text),
                _ => source.text(text),
            };
        }
        let start = 1 + from % (source.index - 1);
        let end = (start + length).min(source.index);
        let mut document = Simulation::new("xyz");
        let input = json!({"start_index": start, "end_index": end, "destination_index": 1 + to, "add_page_break": add_page_break});
        match copied(&source, input, &mut document) {
            Ok(answer) => {
                prop_assert!(answer["copied"]["paragraphs"].as_u64() > Some(0) || answer["copied"]["tables"].as_u64() > Some(0));
                prop_assert_eq!(document.bold_text(), source.bold_text(start, end));
            }
            // A border inside of a character, or nothing that can be copied.
            Err(fault) => prop_assert!(matches!(fault, Fault::InvalidInput(_)), "{fault:?}"),
        }
    }

    /// Items keep their levels wherever they are copied to, and no tab of a level stays.
    #[test]
    fn items_keep_their_levels_at_any_index(
        items in proptest::collection::vec((0_usize..11, "\t?[a-z😀]{0,3}", 0_u8..3), 1..6),
        text in "[\ta😀]{0,3}\n?[\tb]{0,3}",
        to in 0_usize..9,
        cut in 0_usize..3,
        add_page_break in any::<bool>(),
    ) {
        let mut source = Source::new();
        for (level, text, list) in &items {
            let id = if *list == 0 { "kix.c" } else { "kix.a/b" };
            let bullet = json!({"bullet": {"listId": id, "nestingLevel": level}});
            let members = if *list == 2 { json!({}) } else { bullet };
            source = source.paragraph(members, &[(json!(text), json!({"bold": true}))]);
        }
        let mut document = Simulation::new(&text);
        let at = 1 + to % (document.end() - 1);
        let is_whole = !matches!(text.encode_utf16().nth(at - 1), Some(0xDC00..=0xDFFF));
        let head = document.lines_before(at);
        let input = json!({"end_index": source.index - cut.min(1), "destination_index": at, "add_page_break": add_page_break});
        match copied(&source, input, &mut document) {
            Ok(_) => {
                prop_assert!(is_whole);
                let lines = document.items();
                // The first paragraph continues the one at the index, or follows the page break.
                let first = head + usize::from(add_page_break);
                for (number, (level, text, list)) in items.iter().enumerate() {
                    let (found, line) = &lines[first + number];
                    let is_item = *list != 2;
                    // Without its line end, the last paragraph is a part of the destination's one.
                    let is_last = number + 1 == items.len() && cut > 0;
                    if is_item && !(is_last && text.trim_start_matches('\t').is_empty()) {
                        prop_assert_eq!(*found, Some((*level).min(8)), "{:?}", lines);
                        prop_assert!(!line.starts_with('\t'), "{:?}", lines);
                        prop_assert!(line.contains(text.trim_start_matches('\t')));
                    }
                }
                let tabs = |text: &str| text.matches('\t').count();
                let plain: usize = items.iter().filter(|(.., list)| *list == 2).map(|(_, text, _)| tabs(text)).sum();
                let left: usize = lines.iter().map(|(_, line)| tabs(line)).sum();
                prop_assert!(left <= tabs(&text) + plain, "{:?}", lines);
            }
            Err(Fault::InvalidInput(_)) => prop_assert!(!is_whole || (items.len() == 1 && cut > 0)),
            Err(fault) => prop_assert!(false, "{fault:?}"),
        }
    }
}
