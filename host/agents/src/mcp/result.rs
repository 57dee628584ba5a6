//! From an answer, or a problem, to the result of a tool.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::BodyExt;
use hyper::Response;
use hyper::header::CONTENT_TYPE;
use serde_json::{Value, json};

use body::Body;
use body::media_type::{essence, is_json};
use contract::words::shortened;
use gateway::Gateway;
use mcp::Revision;
use mcp::compact::Beginning;
use mcp::output_schema::structured;
use pipeline::{UnmatchedField, unmatched_fields};
use problem::{self, Problem};
use registry::Operation;

/// The media types of files that a model reads as they are. A file of another type is a link if the
/// call can be run again, else it comes in its JSON form.
pub(super) const READABLE_FILES: &str = "image/png, image/jpeg, image/gif, image/webp, text/plain, text/csv, text/html, \
                                         text/markdown, text/calendar, text/xml";

/// The largest image that is a part of a result, in bytes.
pub(super) const MAX_IMAGE: usize = 4 << 20;

/// The most characters of a service's own words about an error.
const MAX_WORDS_OF_SERVICE: usize = 2000;

/// The result of a tool that ends a call.
pub(super) fn complete(revision: Revision, content: &Value, is_error: bool) -> String {
    let mut result = json!({"content": [content]});
    if is_error {
        result["isError"] = true.into();
    }
    if revision.is_stateless() {
        result["resultType"] = "complete".into();
    }
    result.to_string()
}

/// The form of the results of an operation.
#[derive(Clone, Default)]
pub(super) struct Form {
    /// The schema of the structured form. `None` if a result has none.
    output: Option<Arc<Value>>,
    /// `true` if the answer can be shaped with `response_fields`.
    has_fields: bool,
    /// `true` if the answer has pages.
    has_pages: bool,
}

impl Form {
    /// The form of the results of this operation.
    pub(super) fn of(operation: &Operation, output: Option<Arc<Value>>) -> Self {
        let manifest = &operation.manifest;
        Self { output, has_fields: manifest.envelope, has_pages: manifest.pagination.is_some() }
    }

    /// The way to a smaller result, as far as the operation has one.
    fn advice(&self) -> &'static str {
        match (self.has_fields, self.has_pages) {
            (true, true) => " For less, ask for a smaller page, or name the fields that you need in `response_fields`.",
            (true, false) => " For less, name the fields that you need in `response_fields`.",
            (false, true) => " For less, ask for a smaller page.",
            (false, false) => "",
        }
    }
}

/// A result of text. It is the usual result, so it is written without a document in between.
pub(super) fn text(revision: Revision, text: &str) -> String {
    text_and_note(revision, text, None)
}

/// A result of text, and a second text about it.
fn text_and_note(revision: Revision, text: &str, note: Option<&str>) -> String {
    const BEGIN: &str = r#"{"content":[{"type":"text","text":"#;
    let mut result = Vec::with_capacity(BEGIN.len() + text.len() + text.len() / 4 + 64);
    result.extend_from_slice(BEGIN.as_bytes());
    // Writing a text into memory does not fail.
    let _ = serde_json::to_writer(&mut result, text);
    if let Some(note) = note {
        result.extend_from_slice(br#"},{"type":"text","text":"#);
        let _ = serde_json::to_writer(&mut result, note);
    }
    result.extend_from_slice(match revision.is_stateless() {
        true => br#"}],"resultType":"complete"}"#,
        false => b"}]}",
    });
    String::from_utf8(result).unwrap_or_default()
}

/// A result that says why there is none.
pub(super) fn error(revision: Revision, text: &str) -> String {
    complete(revision, &json!({"type": "text", "text": text}), true)
}

/// A result of JSON text, cut at the limit of the operator, and of a note about it.
fn of_json(gateway: &Gateway, revision: Revision, document: &str, form: &Form, note: Option<&str>) -> String {
    let mut beginning = Beginning::new(gateway.config.mcp.max_result_bytes, true);
    beginning.push(document.as_bytes());
    of_beginning(revision, beginning, form, note)
}

/// A result of text, of its structured form if there is one, and of a note about it.
fn of_beginning(revision: Revision, beginning: Beginning, form: &Form, note: Option<&str>) -> String {
    let Some(output) = form.output.as_deref() else {
        return text_and_note(revision, &with_advice(beginning, form.advice()), note);
    };
    if beginning.is_cut() {
        // A part of a document has no structured form, and clients refuse a result without one.
        return error(revision, &with_advice(beginning, form.advice()));
    }
    let document = beginning.into_text();
    let mut result = text_and_note(revision, &document, note);
    result.pop();
    result.push_str(&format!(r#","structuredContent":{}}}"#, structured(output, &document)));
    result
}

/// The result of a job that has ended, from its record. `None` if it has not ended.
pub(super) fn of_job(gateway: &Gateway, revision: Revision, record: &str, form: &Form) -> Option<String> {
    let members = json_text::members(record).ok()?;
    let member = |name: &str| members.iter().find(|(member, _)| member == name).map(|(_, raw)| raw.get());
    match member("status")? {
        "\"succeeded\"" => {
            let unmatched: Option<Vec<UnmatchedField>> =
                member("response_fields_unmatched").and_then(|raw| serde_json::from_str(raw).ok());
            let note = unmatched_in_words(&unmatched.unwrap_or_default());
            Some(of_json(gateway, revision, member("result")?, form, note.as_deref()))
        }
        "\"failed\"" => {
            let document: Value = serde_json::from_str(member("error")?).ok()?;
            Some(error(revision, &in_words(&document, None)))
        }
        _ => None,
    }
}

/// A result of text of the gateway itself, cut at the limit of the operator. `advice` is the way to
/// a smaller one.
pub(super) fn of_text(gateway: &Gateway, revision: Revision, document: &str, advice: &str) -> String {
    let mut beginning = Beginning::new(gateway.config.mcp.max_result_bytes, false);
    beginning.push(document.as_bytes());
    text(revision, &with_advice(beginning, advice))
}

/// Returns `true` if a model reads files of this type as they are.
pub(super) fn is_readable(media_type: &str) -> bool {
    is_json(media_type) || READABLE_FILES.split(", ").any(|readable| readable.eq_ignore_ascii_case(media_type))
}

/// The result of an answer, whose body is read to its end.
///
/// # Errors
/// If the answer breaks off, or there is no memory for it.
pub(super) async fn of_answer(
    gateway: &Gateway,
    revision: Revision,
    answer: Response<Body>,
    form: &Form,
) -> Result<String, Problem> {
    let (head, mut body) = answer.into_parts();
    let note = unmatched_in_words(&unmatched_fields(&head.headers));
    let media_type =
        head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(essence).unwrap_or_default();
    let is_image = media_type.starts_with("image/");
    let limit = if is_image { MAX_IMAGE } else { gateway.config.mcp.max_result_bytes };
    let mut beginning = Beginning::new(limit, is_json(media_type));
    let mut held = gateway.egress.memory().part();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            problem::UPSTREAM_NOT_UNDERSTOOD.with_detail(format!("The answer of the service broke off: {error}."))
        })?;
        let Ok(piece) = frame.into_data() else { continue };
        // The result holds the text once more, with escapes or in base64.
        held.grow_to(3 * limit.min(beginning.total() + piece.len())).map_err(problem::no_memory)?;
        compute::run(piece.len(), || beginning.push(&piece)).await;
    }
    if !is_image {
        return Ok(of_beginning(revision, beginning, form, note.as_deref()));
    }
    if beginning.is_cut() {
        let bytes = beginning.total();
        return Ok(text(
            revision,
            &format!("The image has {bytes} bytes, which is more than a result can have ({MAX_IMAGE})."),
        ));
    }
    let data = STANDARD.encode(beginning.into_bytes());
    Ok(complete(revision, &json!({"type": "image", "data": data, "mimeType": media_type}), false))
}

/// The text, and if it was cut, its size and the way to a smaller one.
fn with_advice(beginning: Beginning, advice: &str) -> String {
    let (is_cut, total) = (beginning.is_cut(), beginning.total());
    let mut text = beginning.into_text();
    if is_cut {
        let kept = text.len();
        text.push_str(&format!("\n\n[This is the beginning: {kept} of {total} bytes.{advice}]"));
    }
    text
}

/// The fields that led nowhere, in words. `None` if there are none.
fn unmatched_in_words(fields: &[UnmatchedField]) -> Option<String> {
    if fields.is_empty() {
        return None;
    }
    let said = fields.iter().map(|UnmatchedField { path, nearest }| match nearest {
        Some(nearest) => format!("`{}`, did you mean `{}`?", shortened(path), shortened(nearest)),
        None => format!("`{}`", shortened(path)),
    });
    let said: Vec<String> = said.collect();
    Some(format!("The answer has none of these `response_fields`: {}", said.join("; ")))
}

/// A problem in words for a model: what happened, each violation, and what to do.
pub(super) fn of_problem(problem: &Problem, request_id: &str) -> String {
    in_words(&problem.document(request_id), problem.retry_after_s())
}

/// The document of a problem in words for a model.
pub(super) fn in_words(document: &Value, retry_after_s: Option<u64>) -> String {
    let member = |name: &str| document[name].as_str().unwrap_or_default();
    let mut words = format!("{}. {}", member("title"), member("detail"));
    for violation in document["errors"].as_array().into_iter().flatten() {
        let place = violation["pointer"].as_str().filter(|pointer| !pointer.is_empty()).unwrap_or("the arguments");
        words.push_str(&format!("\n- {place}: {}", violation["detail"].as_str().unwrap_or_default()));
    }
    if let Some(candidates) = document["candidates"].as_array().filter(|candidates| !candidates.is_empty()) {
        let candidates: Vec<String> =
            candidates.iter().map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned)).collect();
        words.push_str(&format!("\nCandidates: {}.", candidates.join(", ")));
    }
    if let Some(body) = document["upstream"].get("body").filter(|body| !body.is_null()) {
        let said = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
        let said: String = said.chars().take(MAX_WORDS_OF_SERVICE).collect();
        words.push_str(&format!("\nThe service says: {said}"));
    }
    words.push('\n');
    words.push_str(&repetition(document, retry_after_s));
    words.push_str(&format!("\nRequest id: {}.", member("instance")));
    words
}

/// Says if the same call may be sent again, and when.
fn repetition(document: &Value, retry_after_s: Option<u64>) -> String {
    if document["outcome"] == "unknown" {
        return "It is not known if data was changed: look before you call again.".to_owned();
    }
    match (retry_after_s, document["retryable"] == true, document["owner"].as_str()) {
        (Some(seconds), ..) => format!("Try again after {seconds} s."),
        (None, true, _) => "The same call may succeed later.".to_owned(),
        (None, false, Some("caller")) => "Change the call before you send it again.".to_owned(),
        (None, false, Some("user")) => "The same call fails until the user has acted.".to_owned(),
        (None, false, Some("operator")) => {
            "The same call fails until the operator of the gateway has acted.".to_owned()
        }
        (None, false, _) => "Do not send the same call again.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_names_each_violation_and_what_the_service_says() {
        let problem = problem::invalid("/a", "Must be a number.".to_owned());
        let words = of_problem(&problem, "r-1");
        assert!(words.contains("\n- /a: Must be a number.") && words.ends_with("Request id: r-1."), "{words}");
        assert!(words.contains("Change the call before you send it again."), "{words}");
        let problem = problem::UPSTREAM_REJECTED
            .with_detail("The service refused it.")
            .with("upstream", json!({"status": 409, "body": {"reason": "x".repeat(5000)}}))
            .retry_after(7);
        let words = of_problem(&problem, "r-1");
        assert!(words.contains("Try again after 7 s.") && words.len() < 2300, "{}", words.len());
    }

    #[test]
    fn a_text_that_was_cut_says_so() {
        let mut beginning = Beginning::new(4, true);
        beginning.push(b"[1, 2, 3, 4]");
        let text = with_advice(beginning, " Ask for less.");
        assert!(text.starts_with("[1,2\n") && text.contains("4 of 9 bytes. Ask for less.]"), "{text}");
    }

    #[test]
    fn a_result_advises_what_the_operation_has() {
        let advice = |has_fields, has_pages| Form { output: None, has_fields, has_pages }.advice();
        assert!(advice(true, true).contains("page") && advice(true, true).contains("response_fields"));
        assert!(!advice(false, true).contains("response_fields") && !advice(true, false).contains("page,"));
        assert_eq!(advice(false, false), "");
    }

    #[test]
    fn fields_that_led_nowhere_are_named_in_a_second_text() {
        let field = |path: &str, nearest: Option<&str>| UnmatchedField {
            path: path.to_owned(),
            nearest: nearest.map(str::to_owned),
        };
        let note = unmatched_in_words(&[field("a.nmae", Some("a.name")), field("z", None)]);
        assert_eq!(
            note.as_deref(),
            Some("The answer has none of these `response_fields`: `a.nmae`, did you mean `a.name`?; `z`")
        );
        let result: Value = serde_json::from_str(&text_and_note(Revision::V2025_11_25, "{}", note.as_deref())).unwrap();
        assert_eq!(result["content"][0]["text"], "{}");
        assert_eq!(result["content"][1]["text"], note.unwrap());
        assert_eq!(unmatched_in_words(&[]), None);
    }

    #[test]
    fn a_problem_says_if_the_call_may_be_sent_again() {
        let said = |problem: &Problem| of_problem(problem, "r");
        assert!(said(&problem::UPSTREAM_RATE_LIMITED.with_detail("Slow.")).contains("may succeed later"));
        let unknown = problem::UPSTREAM_FAILED.with_detail("It broke.").of_unknown_outcome().retry_after(3);
        assert!(said(&unknown).contains("look before you call again") && !said(&unknown).contains("Try again"));
        assert!(said(&problem::UPSTREAM_REJECTED.with_detail("No.")).contains("before you send it again"));
    }
}
