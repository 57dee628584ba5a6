//! Shaping of answers of about a megabyte, compared with serde_json's `Value` and with `jq`. The
//! figures compare CPU time. Both sides must give the same answer.

use std::fs;
use std::hint::black_box;
use std::io;
use std::process::{Command, Stdio};

use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use shape::Shape;
use tempfile::NamedTempFile;

use crate::settings::{Outcome, Settings};
use crate::table::{Figure, Goal, Unit};
use crate::values::Filter;
use crate::{documents, machine, values};

const VALUE_GOAL: f64 = 5.0;

/// The same for a text, over which `serde_json` also steps without work for each byte.
const TEXT_GOAL: f64 = 3.0;
const JQ_GOAL: f64 = 50.0;

/// Number of events in the document for `jq`. It is large, so that the start of `jq` does not
/// count.
const JQ_EVENTS: usize = 20_000;

/// A document and how it is shaped.
struct Case<'a> {
    name: &'static str,
    document: &'a [u8],
    fields: &'a [&'a str],
    filter: Option<Filter<'a>>,
    /// The goal, compared with serde_json's `Value`.
    goal: f64,
    /// The same shape as a program of `jq`; `None` if `jq` is not measured.
    program: Option<&'static str>,
}

const EVENT_FIELDS: &[&str] =
    &["items.id", "items.summary", "items.start.dateTime", "items.attendees.email", "timeZone"];

/// Measures the section.
pub(crate) fn measure(settings: &Settings) -> Outcome<Vec<Figure>> {
    let events = documents::events(2000);
    let indented = documents::indented(&events)?;
    let (large_text, nested) = (documents::large_text(), documents::nested(2000, 8));
    let case =
        |name, document, fields, filter| Case { name, document, fields, filter, goal: VALUE_GOAL, program: None };
    let confirmed = || Some(Filter { root: Some("items"), field_name: "status", values: &["confirmed"] });
    let accepted =
        Filter { root: None, field_name: "items.attendees.responseStatus", values: &["accepted", "tentative"] };
    let deep: &[&str] = &["tree.child.child.child.child.child.child.child.child.name"];
    let cases = [
        Case {
            program: Some(
                "{timeZone, items: [.items[] | {id, summary, start: {dateTime: .start.dateTime}, \
                 attendees: [.attendees[] | {email}]}]}",
            ),
            ..case("events, fields", &events, EVENT_FIELDS, None)
        },
        Case {
            program: Some(
                "{timeZone, items: [.items[] | select(.status == \"confirmed\") | {id, summary, \
                 start: {dateTime: .start.dateTime}, attendees: [.attendees[] | {email}]}]}",
            ),
            ..case("events, filter and fields", &events, EVENT_FIELDS, confirmed())
        },
        case("events, filter in lists of lists", &events, EVENT_FIELDS, Some(accepted)),
        case("indented events, fields", &indented, EVENT_FIELDS, None),
        Case { goal: TEXT_GOAL, ..case("one large text, fields", &large_text, &["id", "subject"], None) },
        case("nested lists, innermost field", &nested, deep, None),
    ];
    let large = documents::events(JQ_EVENTS);
    let mut figures = Vec::new();
    for case in &cases {
        let shape = case.shape()?;
        let ours = speed(settings, case.document, || Ok(shape.apply(case.document)?))?;
        let theirs = speed(settings, case.document, || case.with_values(case.document))?;
        case.compare(&shape.apply(case.document)?, &case.with_values(case.document)?, "serde_json")?;
        let figure = |ours| Figure::new(format!("shaping: {}", case.name), Unit::BytesPerSecond, ours);
        figures.push(figure(ours).against("serde_json Value", theirs).goal(Goal::Ratio(case.goal)));
        if let Some(program) = case.program
            && let Some((answer, theirs)) = jq(program, &large)?
        {
            case.compare(&shape.apply(&large)?, &answer, "jq")?;
            let ours = speed(settings, &large, || Ok(shape.apply(&large)?))?;
            figures.push(figure(ours).against("jq", theirs).goal(Goal::Ratio(JQ_GOAL)));
        }
    }
    Ok(figures)
}

impl Case<'_> {
    fn shape(&self) -> Outcome<Shape> {
        let filters: Vec<Value> = self
            .filter
            .iter()
            .map(|filter| {
                json!({"type": "string_list", "root": filter.root, "field_name": filter.field_name, "values": filter.values})
            })
            .collect();
        let (fields, filters) = (to_raw_value(&self.fields)?, to_raw_value(&filters)?);
        Shape::from_members(Some(&fields), Some(&filters))
            .map_err(|violations| format!("{}: the shape is wrong: {violations:?}", self.name).into())
    }

    fn with_values(&self, document: &[u8]) -> Outcome<Vec<u8>> {
        values::shape(document, self.fields, self.filter.as_slice())
    }

    fn compare(&self, ours: &[u8], theirs: &[u8], peer: &str) -> Outcome<()> {
        let (ours, theirs): (Value, Value) = (serde_json::from_slice(ours)?, serde_json::from_slice(theirs)?);
        if ours == theirs { Ok(()) } else { Err(format!("{}: {peer} gives another answer", self.name).into()) }
    }
}

/// Bytes of the document that are shaped in a second of CPU time. The best of several batches
/// counts, because disturbances only make a batch slower.
fn speed(settings: &Settings, document: &[u8], shape: impl Fn() -> Outcome<Vec<u8>>) -> Outcome<f64> {
    let mut best = f64::MAX;
    for _ in 0..settings.pick(4, 2) {
        let started = machine::own_thread_seconds()?;
        let (mut count, mut seconds) = (0, 0.0);
        while seconds < settings.pick(0.3, 0.1) {
            black_box(shape()?);
            count += 1;
            seconds = machine::own_thread_seconds()? - started;
        }
        best = best.min(seconds / f64::from(count));
    }
    Ok(document.len() as f64 / best)
}

/// The answer of `jq` and its speed in bytes per second; `None` if `jq` is not installed.
fn jq(program: &str, document: &[u8]) -> Outcome<Option<(Vec<u8>, f64)>> {
    let file = NamedTempFile::new()?;
    fs::write(file.path(), document)?;
    let mut command = Command::new("jq");
    command.args(["--compact-output", program]).arg(file.path()).stderr(Stdio::inherit());
    let before = machine::former_children_seconds()?;
    let output = match command.output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    if !output.status.success() {
        return Err(format!("jq ended with {}", output.status).into());
    }
    let seconds = machine::former_children_seconds()? - before;
    Ok(Some((output.stdout, document.len() as f64 / seconds)))
}
