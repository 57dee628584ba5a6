//! The questions, and their answers.

use std::borrow::Cow;
use std::collections::BTreeMap;

use contract_rules::manifest::{About, AboutOperation, Violation, check_trigger_additions};
use contract_rules::schema::Kind;
use contract_rules::trigger::{Inbox, Trigger};
use contract_rules::{Broken, link, multipart, schema};
use rows::recording::{Asked, End, Recording};
use rows::table::{background, next_page, setting_type};
use rows::{
    Body, Connector, Content, Declaration, DeclaredHeader, Mistake, Part, Place, Refusal, Row, check_headers,
    check_triggers,
};
use serde::Deserialize;
use serde_json::{Value, json};

/// A question.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Question<'a> {
    /// The mistakes in the rows of a connector.
    #[serde(borrow)]
    Check(Check<'a>),
    /// The request of a row for an input.
    Request(Box<Request>),
    /// The address of the next page in the values of a header `Link`.
    Link(Vec<String>),
    /// The rule that a part of a form breaks.
    Part(Named),
    /// The answers of a recorded call, and the differences to it.
    Replay(Replay),
}

#[derive(Deserialize)]
struct Check<'a> {
    #[serde(borrow)]
    upstreams: Vec<Cow<'a, str>>,
    #[serde(borrow)]
    settings: Vec<(Cow<'a, str>, Value)>,
    /// The headers of all rows.
    headers: Vec<DeclaredHeader>,
    rows: Vec<Declared>,
    /// The fields of operations, and the settings.
    #[serde(default)]
    fields: Vec<Fields>,
    /// The examples of operations.
    #[serde(default)]
    examples: Vec<Example>,
    /// Set if the connector declares inboxes or types of events.
    #[serde(borrow, default)]
    events: Option<Events<'a>>,
}

/// The inboxes and types of events, with the parts of the connector that they refer to.
#[derive(Deserialize)]
struct Events<'a> {
    has_oauth2: bool,
    /// The operation whose answer identifies an account.
    #[serde(borrow)]
    identity: Option<Cow<'a, str>>,
    #[serde(borrow)]
    operations: Vec<Operation<'a>>,
    inboxes: Vec<Inbox>,
    triggers: Vec<Trigger>,
}

#[derive(Deserialize)]
struct Operation<'a> {
    #[serde(borrow)]
    path: Cow<'a, str>,
    envelope: bool,
    background: bool,
    paged: bool,
    answers_json: bool,
}

/// A row with the schema of its operation's input.
#[derive(Deserialize)]
struct Declared {
    operation: String,
    row: Declaration,
    input: Value,
    /// The effect of the operation: `read`, `write` or `destructive`.
    #[serde(default)]
    effect: Option<String>,
}

/// The fields of an operation. Without an operation, the settings of the connector.
#[derive(Deserialize)]
struct Fields {
    operation: Option<String>,
    fields: Vec<schema::Field>,
    /// The pointer in `pages` to the field that takes the next page.
    #[serde(default)]
    into: Option<String>,
    /// `true` if the operation runs in the background.
    #[serde(default)]
    background: bool,
}

/// The example of an operation with these fields.
#[derive(Deserialize)]
struct Example {
    operation: String,
    fields: Vec<schema::Field>,
    example: Value,
}

#[derive(Deserialize)]
struct Request {
    row: Declaration,
    /// JSON text.
    input: String,
    /// JSON texts by their names.
    settings: BTreeMap<String, String>,
}

/// A part of a form without its content.
#[derive(Deserialize)]
struct Named {
    file_name: Option<String>,
    content_type: Option<String>,
}

/// A recording, with all that an operation did.
#[derive(Deserialize)]
struct Replay {
    /// The text of the file.
    recording: String,
    /// The requests, in their order.
    #[serde(default)]
    asked: Vec<Asked>,
    /// Set once the operation has ended.
    end: Option<End>,
}

struct Settings(BTreeMap<String, String>);

impl rows::Settings for Settings {
    fn get(&self, name: &str) -> Option<Cow<'_, str>> {
        self.0.get(name).map(|json| Cow::Borrowed(json.as_str()))
    }
}

/// The answer to a question: `{"ok": …}`, `{"fault": …}` with the fault of an input that makes no
/// request, or `{"unknown": …}` for a text that is no question.
#[must_use]
pub fn answer_to(question: &[u8]) -> String {
    let answer = match serde_json::from_slice(question) {
        Ok(Question::Check(asked)) => json!({"ok": check(&asked)}),
        Ok(Question::Request(asked)) => request(*asked),
        Ok(Question::Link(values)) => json!({"ok": link::next_of(values.iter().map(String::as_str))}),
        Ok(Question::Part(named)) => json!({"ok": broken(&named)}),
        Ok(Question::Replay(asked)) => json!({"ok": replay(asked)}),
        Err(error) => json!({"unknown": error.to_string()}),
    };
    answer.to_string()
}

/// The mistakes in the fields, then in the headers, in the rows and in the examples, in their order, then
/// in the events.
fn check(asked: &Check<'_>) -> Value {
    let upstreams: Vec<&str> = asked.upstreams.iter().map(AsRef::as_ref).collect();
    let settings: Vec<(&str, Value)> =
        asked.settings.iter().map(|(name, schema)| (name.as_ref(), schema.clone())).collect();
    let of_fields = asked.fields.iter().flat_map(check_fields);
    let of_headers = check_headers(&asked.headers, &settings).into_iter().map(|mistake| (None, mistake));
    let of_rows = asked.rows.iter().flat_map(|declared| {
        let connector = Connector { upstreams: &upstreams, settings: &settings, input: &declared.input };
        let mut mistakes = Row::declared(&declared.row, &connector).err().unwrap_or_default();
        if declared.effect.as_deref() == Some("read") {
            mistakes.extend(declared.row.check_read().err());
        }
        // All rows have the headers of the connector.
        let own = mistakes.into_iter().filter(|Mistake { place, .. }| !matches!(place, Place::Header(_)));
        own.map(|mistake| (Some(&declared.operation), mistake))
    });
    // A mistake in a row can cause one of these, so the mistakes of rows are first.
    let of_triggers = check_triggers(asked.rows.iter().map(|declared| (&declared.row, &declared.input)));
    let of_triggers = of_triggers.into_iter().map(|mistake| (None, mistake));
    let mistakes = of_headers.chain(of_rows).chain(of_triggers);
    let mistakes = mistakes.map(|(operation, mistake)| json!({"operation": operation, "mistake": mistake.to_string()}));
    let mistakes = of_fields.chain(mistakes);
    let of_examples = asked.examples.iter().filter_map(|given| {
        check_example(given).map(|mistake| json!({"operation": given.operation, "mistake": mistake}))
    });
    let mistakes = mistakes.chain(of_examples);
    let of_events = asked.events.iter().flat_map(|events| check_events(asked, events));
    mistakes.chain(of_events.map(|mistake| json!({"operation": null, "mistake": mistake.to_string()}))).collect()
}

/// The mistakes in the types of fields or settings.
fn check_fields(declared: &Fields) -> Vec<Value> {
    let is_setting = declared.operation.is_none();
    let what = if is_setting { "setting" } else { "field" };
    let of_setting = |field: &schema::Field| Some((field.name.clone(), setting_type(&field.kind).err()?));
    let mut broken: Vec<_> = declared.fields.iter().filter(|_| is_setting).filter_map(of_setting).collect();
    check_types("", &declared.fields, &mut broken);
    let mistakes = broken.into_iter().map(|(name, rule)| format!("{what} `{}`: {rule}", name.escape_debug()));
    let of_operation = declared.operation.iter().flat_map(|operation| check_operation(operation, declared));
    let mistake = |mistake: String| json!({"operation": declared.operation, "mistake": mistake});
    mistakes.chain(of_operation).map(mistake).collect()
}

/// The mistakes in the parts of an operation that refer to its fields.
fn check_operation(operation: &str, Fields { fields, into, background: is_in_background, .. }: &Fields) -> Vec<String> {
    let pages = into.as_deref().and_then(|into| next_page(operation, fields, into).err());
    let waiting = if *is_in_background { background(fields).err() } else { None };
    pages.map(|rule| format!("`into`: {rule}")).into_iter().chain(waiting.map(|rule| rule.to_string())).collect()
}

/// The rules that fields, and the fields inside of them, break. `outer` is before the name of each field.
fn check_types(outer: &str, fields: &[schema::Field], broken: &mut Vec<(String, Broken)>) {
    for field in fields {
        let name = format!("{outer}{}", field.name);
        let of_pattern = field.pattern.as_deref().and_then(|pattern| schema::check_pattern(pattern).err());
        let rules = field.inconsistencies().into_iter().map(|(_, rule)| rule).chain(of_pattern);
        broken.extend(rules.map(|rule| (name.clone(), rule)));
        let kind: &Kind = if let Kind::List(item) = &field.kind { item } else { &field.kind };
        if let Kind::Members(members) = kind {
            check_types(&format!("{name}."), members, broken);
        }
    }
}

/// Checks whether the fields accept the example. Patterns and formats are not checked.
fn check_example(given: &Example) -> Option<String> {
    if !given.example.is_object() {
        return Some("an example is an object: `{ … }`".to_owned());
    }
    schema::accept_object(&given.fields, &given.example).err().map(|mismatch| mismatch.of_example())
}

fn check_events(asked: &Check<'_>, events: &Events<'_>) -> Vec<Violation> {
    let operations = events.operations.iter().map(|operation| AboutOperation {
        path: &operation.path,
        envelope: operation.envelope,
        background: operation.background,
        paged: operation.paged,
        answers_json: operation.answers_json,
        is_row: asked.rows.iter().any(|declared| declared.operation == operation.path),
    });
    let about = About {
        has_oauth2: events.has_oauth2,
        identity: events.identity.as_deref(),
        upstreams: asked.upstreams.iter().map(AsRef::as_ref).collect(),
        settings: asked.settings.iter().map(|(name, _)| name.as_ref()).collect(),
        operations: operations.collect(),
    };
    check_trigger_additions(&about, &events.inboxes, &events.triggers)
}

fn request(asked: Request) -> Value {
    let row = Row::of(&asked.row);
    match row.request(&asked.input, &Settings(asked.settings)) {
        Ok(rows::Request { method, upstream, path, headers, body }) => json!({"ok": {
            "method": method,
            "upstream": upstream,
            "path": path,
            "headers": headers,
            "body": body.map(body_json),
        }}),
        Err(Refusal::Input { pointer, detail }) => {
            json!({"fault": {"tag": "invalid-input", "val": [{"pointer": pointer, "detail": detail}]}})
        }
        Err(Refusal::Setting(detail)) => json!({"fault": {"tag": "failed", "val": detail}}),
    }
}

/// The rule that the file name or the media type of a part breaks.
fn broken(Named { file_name, content_type }: &Named) -> Option<String> {
    let name = file_name.as_deref().map_or(Ok(()), multipart::file_name);
    let media_type = content_type.as_deref().map_or(Ok(()), multipart::media_type);
    name.and(media_type).err().map(|broken| broken.to_string())
}

/// The call of a recording, the answer to the last request, and the differences if the operation has ended.
fn replay(Replay { recording, asked, end }: Replay) -> Value {
    let mut recording = match Recording::read(&recording) {
        Ok(recording) => recording,
        Err(why) => return json!({"refused": why}),
    };
    let Recording { operation, input, settings, .. } = &recording;
    let mut found = json!({"operation": operation, "input": input, "settings": settings});
    let mut last = None;
    for asked in &asked {
        last = Some(recording.take(asked));
    }
    match last {
        Some(Ok(answer)) => {
            found["end"] = json!(End::forwarded(answer.status, &answer.body));
            found["answer"] = json!(answer);
        }
        Some(Err(why)) => found["denied"] = json!(why),
        None => {}
    }
    if let Some(end) = end {
        found["differences"] = json!(recording.differences(&end));
    }
    found
}

fn body_json(body: Body) -> Value {
    match body {
        Body::Json(text) => json!({"tag": "json", "val": text}),
        Body::Form(pairs) => json!({"tag": "form", "val": pairs}),
        Body::Parts(parts) => json!({"tag": "parts", "val": parts.into_iter().map(part).collect::<Value>()}),
    }
}

/// A part as the interface `multipart` has it, with its place in the input.
fn part(part: Part) -> Value {
    let Part { name, file_name, content_type, content, place } = part;
    let content = match content {
        Content::Text(text) => json!({"tag": "text", "val": text}),
        Content::Base64(text) => json!({"tag": "base64", "val": text}),
    };
    json!({"name": name, "file_name": file_name, "content_type": content_type, "content": content, "place": place})
}
