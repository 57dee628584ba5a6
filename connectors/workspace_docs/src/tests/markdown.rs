//! Markdown, as the document that Google makes of the requests.

use connector_sdk::testing::{Answer, Gateway, invoke};
use connector_sdk::{Fault, Outcome};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::simulation::Simulation;
use crate::CONNECTOR;
use crate::layout::{self, Surroundings};
use crate::markdown::flow;

/// The lines of a document that was empty and then got the markdown.
fn written(markdown: &str) -> Vec<String> {
    let layout = layout::write(flow(markdown), 1, Surroundings::Plain);
    let mut document = Simulation::new("");
    let requests = serde_json::to_value(&layout.changes).expect("JSON");
    document.apply_all(requests.as_array().expect("a list"));
    assert_eq!(i64::try_from(document.end()).expect("an index"), 2 + layout.length, "{markdown}");
    document.lines()
}

const BULLET: &str = "BULLET_DISC_CIRCLE_SQUARE";
const NUMBER: &str = "NUMBERED_DECIMAL_ALPHA_ROMAN";

#[test]
fn headings_and_paragraphs_have_their_styles() {
    assert_eq!(
        written("# One\n\nText\nin two lines\n\n###### Six\n\nSetext\n---\n"),
        ["<HEADING_1> One", "Text in two lines", "<HEADING_6> Six", "<HEADING_2> Setext"]
    );
}

#[test]
fn marked_text_has_its_style() {
    assert_eq!(
        written("a **b _c_** ~~d~~ `e` [f](https://x.test/?a=1&b) g\\\nh"),
        ["a {bold:b }{bold,italic:c} {strikethrough:d} {weightedFontFamily={\"fontFamily\":\"Courier New\"}:e} \
             {link={\"url\":\"https://x.test/?a=1&b\"}:f} g\u{B}h"]
    );
}

#[test]
fn addresses_that_lead_nowhere_from_a_document_are_text() {
    assert_eq!(
        written("[a](#b) [c](d.md) <mail@x.test> <HTTPS://x.test>"),
        ["a c {link={\"url\":\"mailto:mail@x.test\"}:mail@x.test} {link={\"url\":\"HTTPS://x.test\"}:HTTPS://x.test}"]
    );
}

#[test]
fn a_picture_is_its_text_with_a_link() {
    assert_eq!(
        written("![The *sea*](https://x.test/s.png)"),
        ["{link={\"url\":\"https://x.test/s.png\"}:The }{italic,link={\"url\":\"https://x.test/s.png\"}:sea}"]
    );
    assert_eq!(
        written("![](https://x.test/s.png)"),
        ["{link={\"url\":\"https://x.test/s.png\"}:https://x.test/s.png}"]
    );
    assert_eq!(
        written("[![logo](https://x.test/l.png)](https://x.test)"),
        ["{link={\"url\":\"https://x.test\"}:logo}"]
    );
}

#[test]
fn html_stays_as_text() {
    assert_eq!(
        written("a <b>c</b> &amp; &lt;\n\n<div>\n <p>x</p>\n</div>\n"),
        ["a <b>c</b> & <", "<div>", " <p>x</p>", "</div>"]
    );
}

#[test]
fn a_line_end_in_a_paragraph_is_a_blank() {
    assert_eq!(written("a <b\nclass=\"x\">c</b> <!-- d\r\ne -->"), ["a <b class=\"x\">c</b> <!-- d e -->"]);
    assert_eq!(written("- a&#10;b&#13;c\n- d"), [format!("1.0 {BULLET} a b c"), format!("1.0 {BULLET} d")]);
}

#[test]
fn code_keeps_its_lines() {
    let code = "weightedFontFamily={\"fontFamily\":\"Courier New\"}";
    assert_eq!(
        written("```rust\nfn a() {\n\n\treturn;\n```\n\n    b\n"),
        [format!("{{{code}:fn a() {{}}"), String::new(), format!("{{{code}:\treturn;}}"), format!("{{{code}:b}}"),]
    );
    assert_eq!(written("```\n```"), [""]);
}

#[test]
fn quotes_are_indented_by_their_depth() {
    let indent = |points: usize| {
        let indent = format!("{{\"magnitude\":{points},\"unit\":\"PT\"}}");
        format!("<indentFirstLine={indent},indentStart={indent}>")
    };
    assert_eq!(
        written("> a\n>\n> > b\n>\n> # c\n\nd"),
        [
            format!("{} a", indent(36)),
            format!("{} b", indent(72)),
            indent(36).replace('>', ",HEADING_1> c"),
            "d".to_owned(),
        ]
    );
}

#[test]
fn a_rule_is_a_line_below_an_empty_paragraph() {
    let lines = written("a\n\n---\n\nb");
    assert_eq!((lines.len(), lines[0].as_str(), lines[2].as_str()), (3, "a", "b"));
    assert!(lines[1].starts_with("<borderBottom=") && lines[1].ends_with("> "), "{}", lines[1]);
}

#[test]
fn lists_are_nested_and_of_the_kind_of_the_outermost_item() {
    assert_eq!(
        written("- a\n  - b\n    1. c\n- d\n\n1. e\n   - f\n2. g\n"),
        [
            format!("2.0 {BULLET} a"),
            format!("2.1 {BULLET} b"),
            format!("2.2 {BULLET} c"),
            format!("2.0 {BULLET} d"),
            format!("1.0 {NUMBER} e"),
            format!("1.1 {NUMBER} f"),
            format!("1.0 {NUMBER} g"),
        ]
    );
}

#[test]
fn adjacent_lists_of_different_kinds_stay_separate() {
    assert_eq!(
        written("1. a\n\n<!-- -->\n\n1) b\n2) c\n\n* d\n\n+ e"),
        [
            format!("4.0 {NUMBER} a"),
            "<!-- -->".to_owned(),
            format!("3.0 {NUMBER} b"),
            format!("3.0 {NUMBER} c"),
            format!("2.0 {BULLET} d"),
            format!("1.0 {BULLET} e"),
        ]
    );
}

#[test]
fn further_blocks_of_an_item_are_lines_of_its_paragraph() {
    let code = "weightedFontFamily={\"fontFamily\":\"Courier New\"}";
    assert_eq!(
        written("1. a\n\n   b\n\n   ```\n   c\n   d\n   ```\n2. > e\n3.\n"),
        [format!("1.0 {NUMBER} a\u{B}b{{{code}:\u{B}c\u{B}d}}"), format!("1.0 {NUMBER} e"), format!("1.0 {NUMBER} "),]
    );
}

#[test]
fn levels_beyond_the_ninth_are_the_ninth() {
    let deep: String = (0..12).map(|level| format!("{}- {level}\n", "  ".repeat(level))).collect();
    let lines = written(&deep);
    assert_eq!(
        (lines.len(), lines[8].as_str(), lines[11].as_str()),
        (12, format!("1.8 {BULLET} 8").as_str(), format!("1.8 {BULLET} 11").as_str())
    );
}

#[test]
fn a_tab_at_the_begin_of_an_item_is_not_a_level() {
    let code = "weightedFontFamily={\"fontFamily\":\"Courier New\"}";
    assert_eq!(written("- ```\n  \t\tx\ty\n  ```\n"), [format!("1.0 {BULLET} {{{code}:x\ty}}")]);
}

#[test]
fn tables_have_their_cells_with_bold_heads_and_alignment() {
    assert_eq!(
        written("# T\n\n| a | b |\n|---|--:|\n| `|` | 😀 **y** |\n| z |\n\nafter"),
        [
            "<HEADING_1> T",
            "[table]",
            "[row]",
            "[cell]",
            "{bold:a}",
            "[cell]",
            "<END> {bold:b}",
            "[row]",
            "[cell]",
            "`",
            "[cell]",
            "<END> `",
            "[row]",
            "[cell]",
            "z",
            "[cell]",
            "<END> ",
            "[end]",
            "",
            "after",
        ]
    );
}

#[test]
fn a_table_needs_no_paragraph_around_it() {
    let table = ["[table]", "[row]", "[cell]", "{bold:a}", "[row]", "[cell]", "1", "[end]"];
    let alone: Vec<&str> = [""].into_iter().chain(table).chain([""]).collect();
    assert_eq!(written("|a|\n|-|\n|1|"), alone);
    let two: Vec<&str> = ["x"].into_iter().chain(table).chain([""]).chain(table).chain([""]).collect();
    assert_eq!(written("x\n\n|a|\n|-|\n|1|\n\n|a|\n|-|\n|1|"), two);
    // In a list the table ends the list before it.
    let item = format!("1.0 {BULLET} x");
    let in_list: Vec<&str> = [item.as_str()].into_iter().chain(table).chain([""]).collect();
    assert_eq!(written("- x\n\n  |a|\n  |-|\n  |1|\n"), in_list);
}

#[test]
fn characters_that_google_strips_are_not_counted() {
    assert_eq!(written("a\u{1}\u{E000}b **c**"), ["ab {bold:c}"]);
}

#[test]
fn text_without_blocks_writes_nothing() {
    assert!(layout::write(flow(" \n\n[x]: https://x.test\n"), 1, Surroundings::Plain).changes.is_empty());
}

proptest! {
    /// The simulation refuses any index that is not valid at its time.
    #[test]
    fn every_index_is_valid_for_any_markdown(
        blocks in proptest::collection::vec(
            prop_oneof![
                "[ \\t>]{0,4}([-*+]|[0-9][.)]|#{1,6})? ?[a-z😀*_`~\\[\\]()!<>|\\\\ \\t]{0,12}\n{1,2}",
                Just("\n|a😀|b|\n|-|:-:|\n|1|**2**|\n\n".to_owned()),
                Just("```\n\tcode\n\n```\n".to_owned()),
                Just("- a\n  - b😀\n\n    c\n".to_owned()),
                Just("---\n\n".to_owned()),
                Just("![a](https://x.test/a) [b](https://x.test/b)\n".to_owned()),
            ],
            0..12,
        )
    ) {
        written(&blocks.concat());
    }
}

const DOCUMENT: &str = r#"{"documentId":"d1","revisionId":"r1","body":{"content":[{"endIndex":1,"sectionBreak":{}},
    {"startIndex":1,"endIndex":9,"paragraph":{"elements":[{"startIndex":1,"endIndex":9,"textRun":{"content":"old text\n"}}]}}]}}"#;

fn replace(markdown: &str, document: &str) -> (Value, Value) {
    let response = r#"{"documentId":"d1","replies":[],"writeControl":{"requiredRevisionId":"r2"}}"#;
    let gateway = Gateway::new().answer(Answer::json(200, document)).answer(Answer::json(200, response));
    let input = json!({"document_id": "d1", "markdown": markdown}).to_string();
    let answer = match invoke(&CONNECTOR, "replace_content_with_markdown", &input) {
        Ok(Outcome::Reply(answer)) => serde_json::from_str(&answer).expect("JSON"),
        other => panic!("{other:?}"),
    };
    let requests = gateway.requests();
    let paths: Vec<String> = requests.iter().map(|request| format!("{}{}", request.upstream, request.path)).collect();
    assert_eq!(paths, ["docs/documents/d1", "docs/documents/d1:batchUpdate"]);
    let Some(connector_sdk::http::Body::Json(body)) = &requests[1].body else { panic!("a body") };
    (answer, serde_json::from_str(body).expect("JSON"))
}

#[test]
fn the_content_is_replaced_in_one_request() {
    let (answer, body) = replace("# Title\n\nSome **bold** text.\n\n- one\n- two\n", DOCUMENT);
    assert_eq!(
        answer,
        json!({"document_id": "d1", "revision_id": "r2", "paragraphs": 4, "characters": 29, "replies": 8})
    );
    assert_eq!(body["writeControl"], json!({"requiredRevisionId": "r1"}));
    assert_eq!(
        body["requests"],
        json!([
            {"deleteContentRange": {"range": {"startIndex": 1, "endIndex": 8}}},
            {"deleteParagraphBullets": {"range": {"startIndex": 1, "endIndex": 2}}},
            {"updateParagraphStyle": {"range": {"startIndex": 1, "endIndex": 2}, "paragraphStyle": {}, "fields": "*"}},
            {"updateTextStyle": {"range": {"startIndex": 1, "endIndex": 2}, "textStyle": {}, "fields": "*"}},
            {"insertText": {"location": {"index": 1}, "text": "Title\nSome bold text.\none\ntwo"}},
            {"updateParagraphStyle": {"range": {"startIndex": 1, "endIndex": 7}, "paragraphStyle": {"namedStyleType": "HEADING_1"}, "fields": "namedStyleType"}},
            {"updateTextStyle": {"range": {"startIndex": 12, "endIndex": 16}, "textStyle": {"bold": true}, "fields": "bold"}},
            {"createParagraphBullets": {"range": {"startIndex": 23, "endIndex": 30}, "bulletPreset": "BULLET_DISC_CIRCLE_SQUARE"}},
        ])
    );
}

#[test]
fn the_old_content_leaves_nothing_behind() {
    let mut document = Simulation::new("old\ntext");
    document.apply_all(&[
        json!({"updateParagraphStyle": {"range": {"startIndex": 5, "endIndex": 6}, "paragraphStyle": {"namedStyleType": "TITLE"}, "fields": "namedStyleType"}}),
        json!({"createParagraphBullets": {"range": {"startIndex": 5, "endIndex": 6}, "bulletPreset": "BULLET_CHECKBOX"}}),
    ]);
    let end = document.end();
    let source = json!({"documentId": "d1", "body": {"content": [{"startIndex": 1, "endIndex": end}]}});
    let (_, body) = replace("new\n\ntext", &source.to_string());
    assert_eq!(body.get("writeControl"), None);
    document.apply_all(body["requests"].as_array().expect("a list"));
    assert_eq!(document.lines(), ["new", "text"]);
}

#[test]
fn an_empty_text_empties_the_document() {
    let (answer, body) = replace("", DOCUMENT);
    assert_eq!((&answer["paragraphs"], &answer["characters"]), (&json!(0), &json!(0)));
    assert_eq!(body["requests"].as_array().map(Vec::len), Some(4));
    let empty = r#"{"body":{"content":[{"endIndex":1},{"startIndex":1,"endIndex":2}]}}"#;
    let (_, body) = replace("", empty);
    assert_eq!(body["requests"].as_array().map(Vec::len), Some(3));
}

fn fault(answers: &[Answer]) -> Fault {
    let gateway = answers.iter().cloned().fold(Gateway::new(), Gateway::answer);
    let fault = invoke(&CONNECTOR, "replace_content_with_markdown", r#"{"document_id":"d1","markdown":"x"}"#);
    assert_eq!(gateway.requests().len(), answers.len());
    fault.expect_err("a fault")
}

#[test]
fn a_change_meanwhile_is_a_conflict() {
    let error = r#"{"error":{"code":400,"message":"The revision is not the latest.","status":"FAILED_PRECONDITION"}}"#;
    let fault = fault(&[Answer::json(200, DOCUMENT), Answer::json(400, error)]);
    assert!(matches!(fault, Fault::Conflict(explanation) if explanation.detail.contains("d1")));
}

#[test]
fn another_refusal_is_passed_on() {
    let error = r#"{"error":{"code":400,"message":"Invalid requests[0]","status":"INVALID_ARGUMENT"}}"#;
    for (answers, status) in [
        (vec![Answer::json(404, r#"{"error":{"code":404}}"#)], 404),
        (vec![Answer::json(200, DOCUMENT), Answer::json(403, r#"{"error":{"code":403}}"#)], 403),
        (vec![Answer::json(200, DOCUMENT), Answer::json(400, error)], 400),
    ] {
        let Fault::Upstream(fault) = fault(&answers) else { panic!("{status}") };
        assert_eq!((fault.status, fault.body.is_some()), (status, true));
        assert!(fault.detail.contains("d1"), "{}", fault.detail);
    }
}

#[test]
fn a_document_without_a_body_is_not_understood() {
    for document in ["{}", r#"{"body":{"content":[]}}"#, r#"{"body":{"content":[{"paragraph":{}}]}}"#, "[]"] {
        assert!(matches!(fault(&[Answer::json(200, document)]), Fault::Http(_)), "{document}");
    }
}
