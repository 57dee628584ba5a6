//! Copies of content, as the document that Google makes of the requests.

use connector_sdk::http::Body;
use connector_sdk::testing::{Answer, Gateway, invoke, refused};
use connector_sdk::{Fault, Outcome};
use serde_json::{Value, json};

use super::sample::Source;
use super::simulation::Simulation;
use crate::CONNECTOR;

fn destination(document: &Simulation) -> Value {
    json!({"documentId": "destination", "revisionId": "d1", "body": {"content": document.content()}})
}

const RESPONSE: &str = r#"{"documentId":"destination","replies":[],"writeControl":{"requiredRevisionId":"d2"}}"#;

/// Copies into a document, and returns the connector's answer.
pub(super) fn copied(source: &Source, input: Value, document: &mut Simulation) -> Result<Value, Fault> {
    let mut given =
        json!({"source_id": "source", "destination_id": "destination", "start_index": 1, "destination_index": 1});
    given["end_index"] = json!(source.index);
    given.as_object_mut().expect("an object").extend(input.as_object().expect("an object").clone());
    let gateway = Gateway::new()
        .answer(Answer::json(200, &source.document().to_string()))
        .answer(Answer::json(200, &destination(document).to_string()))
        .answer(Answer::json(200, RESPONSE));
    let outcome = invoke(&CONNECTOR, "copy_content", &given.to_string())?;
    let Outcome::Reply(answer) = outcome else { panic!("{outcome:?}") };
    let requests = gateway.requests();
    let paths: Vec<&str> = requests.iter().map(|request| request.path.as_str()).collect();
    assert_eq!(paths, ["/documents/source", "/documents/destination", "/documents/destination:batchUpdate"]);
    let Some(Body::Json(body)) = &requests[2].body else { panic!("a body") };
    let body: Value = serde_json::from_str(body).expect("JSON");
    assert_eq!(body["writeControl"], json!({"requiredRevisionId": "d1"}));
    document.apply_all(body["requests"].as_array().expect("a list"));
    Ok(serde_json::from_str(&answer).expect("JSON"))
}

/// The destination after a copy into `xy` at an index, and the connector's answer.
fn into(text: &str, source: &Source, input: Value) -> (Vec<String>, Value) {
    let mut document = Simulation::new(text);
    let answer = copied(source, input, &mut document).unwrap_or_else(|fault| panic!("{fault:?}"));
    (document.lines(), answer)
}

#[test]
fn paragraphs_keep_their_styles() {
    let style = json!({"paragraphStyle": {"namedStyleType": "HEADING_2", "headingId": "h.1","alignment": "CENTER", "tabStops": [], "pageBreakBefore": false}});
    let source = Source::new()
        .paragraph(
            style,
            &[(json!("A😀"), json!({"bold": true, "link": {"url": "https://x.test"}})), (json!("b"), json!({}))],
        )
        .text("c");
    let (lines, answer) = into("xy", &source, json!({"destination_index": 3}));
    assert_eq!(lines, ["<CENTER,HEADING_2> xy{bold,link={\"url\":\"https://x.test\"}:A😀}b", "c", ""]);
    assert_eq!(
        answer,
        json!({
            "source_id": "source", "destination_id": "destination",
            "copied": {"characters": 7, "paragraphs": 2, "tables": 0, "images": 0},
            "skipped": [], "revision_id": "d2",
        })
    );
}

#[test]
fn inserted_text_does_not_inherit_the_styles_around_it() {
    let source = Source::new().text("new").text("last");
    let mut document = Simulation::new("old");
    document.apply_all(&[
        json!({"updateParagraphStyle": {"range": {"startIndex": 1, "endIndex": 2}, "paragraphStyle": {"namedStyleType": "TITLE"}, "fields": "namedStyleType"}}),
        json!({"updateTextStyle": {"range": {"startIndex": 1, "endIndex": 4}, "textStyle": {"italic": true}, "fields": "italic"}}),
        json!({"createParagraphBullets": {"range": {"startIndex": 1, "endIndex": 2}, "bulletPreset": "X"}}),
    ]);
    copied(&source, json!({"destination_index": 4}), &mut document).expect("an answer");
    assert_eq!(document.lines(), ["{italic:old}new", "last", "1.0 X <TITLE> "]);
}

#[test]
fn text_runs_are_cut_at_the_borders() {
    let style = json!({"paragraphStyle": {"namedStyleType": "TITLE"}});
    let source = Source::new()
        .paragraph(style, &[(json!("ab😀cd"), json!({"bold": true})), (json!("ef"), json!({"italic": true}))]);
    let (lines, answer) = into("xy", &source, json!({"start_index": 3, "end_index": 8, "destination_index": 2}));
    assert_eq!(lines, ["x{bold:😀cd}{italic:e}y"]);
    assert_eq!(answer["copied"], json!({"characters": 5, "paragraphs": 1, "tables": 0, "images": 0}));
}

#[test]
fn a_part_of_a_paragraph_gets_the_style_of_the_target_paragraph() {
    let style = json!({"paragraphStyle": {"namedStyleType": "TITLE"}});
    let source = Source::new().text("ab").paragraph(style, &[(json!("cd"), json!({}))]);
    // From the middle of the first to the middle of the second paragraph.
    assert_eq!(into("xy", &source, json!({"start_index": 2, "end_index": 5, "destination_index": 2})).0, ["xb", "cy"]);
    // The whole text of the second paragraph, without its line end.
    assert_eq!(into("xy", &source, json!({"end_index": 6, "destination_index": 3})).0, ["xyab", "<TITLE> cd"]);
}

#[test]
fn half_a_character_is_refused() {
    let source = Source::new().text("a😀b");
    for (input, pointer) in [(json!({"start_index": 3}), "/start_index"), (json!({"end_index": 3}), "/end_index")] {
        let Err(Fault::InvalidInput(violations)) = copied(&source, input, &mut Simulation::new("")) else {
            panic!("{pointer}")
        };
        assert_eq!(violations[0].pointer, pointer);
    }
}

#[test]
fn a_place_inside_of_a_character_is_refused() {
    let source = Source::new().text("b");
    for text in ["a😀", "\ta😀\nb"] {
        let at = text.find('😀').expect("a character") + 2;
        let input = json!({"destination_index": at});
        let Err(Fault::InvalidInput(violations)) = copied(&source, input, &mut Simulation::new(text)) else {
            panic!("{text}")
        };
        assert_eq!(violations[0].pointer, "/destination_index");
        for at in [at - 1, at + 1] {
            copied(&source, json!({"destination_index": at}), &mut Simulation::new(text)).expect("an answer");
        }
    }
}

#[test]
fn an_item_that_continues_a_paragraph_keeps_its_level() {
    let item = json!({"bullet": {"listId": "kix.c", "nestingLevel": 2}});
    let source = Source::new().paragraph(item.clone(), &[(json!("one"), json!({}))]).paragraph(item, &[]);
    let kind = "BULLET_DISC_CIRCLE_SQUARE";
    for (text, at, expected) in [
        ("xy", 2, vec![format!("1.2 {kind} xone"), format!("1.2 {kind} "), "y".to_owned()]),
        ("a\nxy", 5, vec!["a".to_owned(), format!("1.2 {kind} xyone"), format!("1.2 {kind} "), String::new()]),
        // Google takes the tabs of the destination as a level, too.
        ("\tx\ty", 4, vec![format!("1.2 {kind} x\tone"), format!("1.2 {kind} "), "y".to_owned()]),
        ("\t\t\ty", 4, vec![format!("1.2 {kind} one"), format!("1.2 {kind} "), "y".to_owned()]),
        ("xy", 1, vec![format!("1.2 {kind} one"), format!("1.2 {kind} "), "xy".to_owned()]),
    ] {
        assert_eq!(into(text, &source, json!({"destination_index": at})).0, expected, "{text:?}");
    }
    let (lines, _) = into("xy", &source, json!({"destination_index": 2, "add_page_break": true}));
    assert_eq!(lines, ["x[break]", &format!("1.2 {kind} one"), &format!("1.2 {kind} "), "y"]);
}

#[test]
fn an_empty_item_without_its_line_end_changes_nothing_at_the_place() {
    let item = |text: &str| (json!({"bullet": {"listId": "kix.c"}}), [(json!(text), json!({}))]);
    let ((first, one), (second, tab)) = (item("one"), item("\t"));
    let source = Source::new().paragraph(first, &one).paragraph(second, &tab);
    let end = json!({"end_index": source.index - 1});
    assert_eq!(into("😀", &source, end.clone()).0, ["1.0 BULLET_CHECKBOX one", "😀"]);
    assert_eq!(into("\tx", &source, end).0, ["1.0 BULLET_CHECKBOX one", "\tx"]);
}

#[test]
fn lists_keep_their_levels_and_kinds() {
    let item = |list: &str, level: usize| match level {
        0 => json!({"bullet": {"listId": list}}),
        level => json!({"bullet": {"listId": list, "nestingLevel": level}}),
    };
    let source = Source::new()
        .paragraph(item("kix.a/b", 0), &[(json!("one"), json!({}))])
        .paragraph(item("kix.a/b", 1), &[(json!("\ttwo"), json!({"bold": true}))])
        .paragraph(item("kix.c", 0), &[(json!("three"), json!({}))])
        .paragraph(item("kix.c", 1), &[])
        .text("end")
        .paragraph(item("kix.c", 1), &[(json!("four"), json!({}))]);
    let (lines, answer) = into("", &source, json!({"end_index": source.index - 1}));
    assert_eq!(
        lines,
        [
            "3.0 NUMBERED_DECIMAL_ALPHA_ROMAN one",
            "3.1 NUMBERED_DECIMAL_ALPHA_ROMAN {bold:two}",
            "2.0 BULLET_CHECKBOX three",
            "2.1 BULLET_CHECKBOX ",
            "end",
            "1.1 BULLET_DISC_CIRCLE_SQUARE four",
        ]
    );
    // Tabs that only set a level are not counted.
    assert_eq!(answer["copied"]["characters"], json!("one\ntwo\nthree\n\nend\nfour".len()));
}

#[test]
fn tables_keep_their_cells() {
    let source = Source::new().text("a").table(&[&["1", "2😀\n3"], &["", "4"]]).text("b");
    let cells = [
        "[table]",
        "[row]",
        "[cell]",
        "{bold:1}",
        "[cell]",
        "{bold:2😀}",
        "{bold:3}",
        "[row]",
        "[cell]",
        "",
        "[cell]",
        "{bold:4}",
        "[end]",
    ];
    let (lines, answer) = into("", &source, json!({}));
    let all: Vec<&str> = ["a"].into_iter().chain(cells).chain(["", "b", ""]).collect();
    assert_eq!(lines, all);
    assert_eq!(answer["copied"], json!({"characters": 11, "paragraphs": 2, "tables": 1, "images": 0}));
    // A range that begins or ends in a table has the whole table.
    for (start, end) in [(8, 9), (3, 4), (8, 22)] {
        let (lines, _) = into("", &source, json!({"start_index": start, "end_index": end}));
        let table: Vec<&str> = [""].into_iter().chain(cells).chain([""]).collect();
        assert_eq!(lines, table, "{start} to {end}");
    }
}

#[test]
fn pictures_and_page_breaks_keep_their_positions() {
    let image = |id: &str| (json!({"inlineObjectElement": {"inlineObjectId": id}}), json!({}));
    let page_break = (json!({"pageBreak": {}}), json!({}));
    let source = Source::new()
        .paragraph(json!({}), &[(json!("a"), json!({})), image("kix.i"), (json!("b"), json!({})), image("kix.d")])
        .paragraph(
            json!({"paragraphStyle": {"namedStyleType": "TITLE"}}),
            &[(json!("c"), json!({})), page_break.clone()],
        )
        .paragraph(json!({}), std::slice::from_ref(&page_break))
        .table(&[&["t"]])
        .paragraph(json!({}), &[(json!("d"), json!({})), page_break, (json!("e"), json!({"bold": true}))]);
    let (lines, answer) = into("", &source, json!({}));
    assert_eq!(
        lines,
        [
            "a[image]b",
            "<TITLE> c[break]",
            "[break]",
            "",
            "[table]",
            "[row]",
            "[cell]",
            "{bold:t}",
            "[end]",
            "",
            "d[break]",
            "{bold:e}",
            ""
        ]
    );
    assert_eq!(answer["copied"], json!({"characters": 10, "paragraphs": 4, "tables": 1, "images": 1}));
    assert_eq!(answer["skipped"], json!([{"type": "drawing", "index": 4}]));
}

#[test]
fn a_page_break_is_added_before_the_content() {
    let source = Source::new().text("a");
    assert_eq!(into("xy", &source, json!({"add_page_break": true, "destination_index": 2})).0, ["x[break]", "a", "y"]);
}

#[test]
fn what_the_api_cannot_write_is_reported() {
    let part = |kind: &str| (json!({kind: {}}), json!({}));
    let source = Source::new()
        .paragraph(
            json!({"positionedObjectIds": ["kix.p"]}),
            &[
                part("equation"),
                part("footnoteReference"),
                part("columnBreak"),
                part("horizontalRule"),
                part("autoText"),
                part("person"),
                part("richLink"),
                part("dateElement"),
                (json!("x"), json!({})),
            ],
        )
        .structure("sectionBreak")
        .structure("tableOfContents")
        .text("y");
    let (lines, answer) = into("", &source, json!({}));
    assert_eq!(lines, ["x", "y", ""]);
    let skipped: Vec<(&str, u64)> = answer["skipped"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|skipped| (skipped["type"].as_str().expect("a type"), skipped["index"].as_u64().expect("an index")))
        .collect();
    assert_eq!(
        skipped,
        [
            ("drawing", 1),
            ("equation", 1),
            ("footnote", 2),
            ("column_break", 3),
            ("horizontal_rule", 4),
            ("auto_text", 5),
            ("smart_chip", 6),
            ("smart_chip", 7),
            ("smart_chip", 8),
            ("section_break", 11),
            ("table_of_contents", 12),
        ]
    );
}

#[test]
fn a_range_without_content_is_refused() {
    let source =
        Source::new().paragraph(json!({}), &[(json!({"equation": {}}), json!({}))]).structure("tableOfContents");
    for (start, end) in [(1, 2), (3, 4)] {
        let input = json!({"start_index": start, "end_index": end, "add_page_break": true});
        assert!(matches!(copied(&source, input, &mut Simulation::new("")), Err(Fault::InvalidInput(_))), "{start}");
    }
    // An empty line is content.
    assert_eq!(into("", &source, json!({"start_index": 2, "end_index": 3})).0, ["", ""]);
}

#[test]
fn a_range_ends_after_its_begin() {
    for (start, end) in [(3, 3), (4, 3)] {
        let input = json!({"source_id": "s", "destination_id": "d", "start_index": start, "end_index": end, "destination_index": 1});
        assert_eq!(refused(&CONNECTOR, "copy_content", &input.to_string())[0].pointer, "/start_index");
    }
}

#[test]
fn indices_stay_within_the_documents() {
    let source = Source::new().text("abc");
    for (input, pointers) in [
        (json!({"end_index": 6}), vec!["/end_index"]),
        (json!({"destination_index": 4}), vec!["/destination_index"]),
        (json!({"end_index": 8, "destination_index": 5}), vec!["/end_index", "/destination_index"]),
    ] {
        let Err(Fault::InvalidInput(violations)) = copied(&source, input, &mut Simulation::new("xy")) else {
            panic!("{pointers:?}")
        };
        let found: Vec<&str> = violations.iter().map(|violation| violation.pointer.as_str()).collect();
        assert_eq!(found, pointers);
    }
    assert_eq!(into("xy", &source, json!({"end_index": 5, "destination_index": 3})).0, ["xyabc", ""]);
}

#[test]
fn within_one_document_links_to_its_headings_stay() {
    let links = |id: &str| json!({"link": {"headingId": id}});
    let source = Source::new()
        .paragraph(json!({}), &[(json!("a"), links("h.1")), (json!("b"), json!({"link": {"url": "https://x.test"}}))]);
    assert_eq!(into("", &source, json!({})).0, ["a{link={\"url\":\"https://x.test\"}:b}", ""]);

    let gateway =
        Gateway::new().answer(Answer::json(200, &source.document().to_string())).answer(Answer::json(200, RESPONSE));
    let input =
        r#"{"source_id":"source","destination_id":"source","start_index":1,"end_index":4,"destination_index":3}"#;
    assert!(matches!(invoke(&CONNECTOR, "copy_content", input), Ok(Outcome::Reply(_))));
    let requests = gateway.requests();
    assert_eq!(requests.len(), 2);
    let Some(Body::Json(body)) = &requests[1].body else { panic!("a body") };
    assert!(body.contains(r#""link":{"headingId":"h.1"}"#) && body.contains(r#""requiredRevisionId":"s1""#), "{body}");
}

#[test]
fn a_refusal_names_the_document() {
    let source = Answer::json(200, &Source::new().text("a").document().to_string());
    let target = Answer::json(200, &destination(&Simulation::new("")).to_string());
    let refusal = |status: u16| Answer::json(status, r#"{"error":{"message":"no"}}"#);
    for (answers, status, name) in [
        (vec![refusal(404)], 404, "source document source"),
        (vec![source.clone(), refusal(403)], 403, "destination document destination"),
        (vec![source.clone(), target.clone(), refusal(403)], 403, "destination document destination"),
        (vec![source.clone(), target.clone(), refusal(400)], 400, "destination document destination"),
        (vec![refusal(500)], 500, "source document source"),
    ] {
        let _gateway = answers.into_iter().fold(Gateway::new(), Gateway::answer);
        let input = r#"{"source_id":"source","destination_id":"destination","start_index":1,"end_index":2,"destination_index":1}"#;
        let Err(Fault::Upstream(fault)) = invoke(&CONNECTOR, "copy_content", input) else { panic!("{name}") };
        assert_eq!((fault.status, fault.body.as_deref()), (status, Some(r#"{"error":{"message":"no"}}"#)));
        assert!(fault.detail.contains(name), "{}", fault.detail);
    }
    let outdated = Answer::json(400, r#"{"error":{"status":"FAILED_PRECONDITION"}}"#);
    let _gateway = [source, target, outdated].into_iter().fold(Gateway::new(), Gateway::answer);
    let input =
        r#"{"source_id":"source","destination_id":"destination","start_index":1,"end_index":2,"destination_index":1}"#;
    assert!(matches!(invoke(&CONNECTOR, "copy_content", input), Err(Fault::Conflict(_))));
}

#[test]
fn a_malformed_document_is_not_understood() {
    for element in
        [r#"{"endIndex":9,"paragraph":{"elements":1}}"#, r#"{"endIndex":9,"paragraph":{"elements":[{"textRun":{}}]}}"#]
    {
        let document = format!(r#"{{"body":{{"content":[{element}]}}}}"#);
        let _gateway = Gateway::new().answer(Answer::json(200, &document));
        let input = r#"{"source_id":"s","destination_id":"s","start_index":1,"end_index":9,"destination_index":1}"#;
        assert!(matches!(invoke(&CONNECTOR, "copy_content", input), Err(Fault::Http(_))), "{element}");
    }
}
