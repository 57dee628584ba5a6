//! The counts of all labels, and the colours of a new one.

use connector_sdk::http::{self, Response};
use connector_sdk::json::{Kind, quoted};
use connector_sdk::{Document, Fault, Outcome, Request, progress};

use crate::gmail::not_understood;
use crate::{CreateLabel, TotalEmailsPerLabel};

/// Gmail's path of labels.
const LABELS: &str = "/users/me/labels";

/// Number of labels that are read at a time.
const PARALLEL: usize = 5;

/// The members of a label in the answer, in Gmail's spelling: the type of each, and its value if
/// Gmail leaves it out.
const MEMBERS: [(&str, Kind, Option<&str>); 7] = [
    ("id", Kind::String, None),
    ("name", Kind::String, None),
    ("type", Kind::String, Some("null")),
    ("messagesTotal", Kind::Number, Some("0")),
    ("messagesUnread", Kind::Number, Some("0")),
    ("threadsTotal", Kind::Number, Some("0")),
    ("threadsUnread", Kind::Number, Some("0")),
];

/// The gateway has answered a caller who does not wait.
pub(crate) fn totals(_: TotalEmailsPerLabel) -> Result<Outcome, Fault> {
    // The list has no counts.
    let list = document(http::send(Request::get("api", LABELS))?)?;
    let listed: Vec<Document> = list.pointer("/labels").iter().flat_map(Document::items).collect();
    let mut labels = Vec::with_capacity(listed.len());
    for (chunk, some) in listed.chunks(PARALLEL).enumerate() {
        let (read, count) = (chunk * PARALLEL, listed.len());
        progress::report(read as f64 / count as f64, &format!("{read} of {count} labels are read"));
        let requests: Result<_, _> = some.iter().map(request).collect();
        for response in http::send_all(requests?) {
            let response = response?;
            // The label was deleted after the list was made.
            if response.status() != 404 {
                labels.push(label(&document(response)?)?);
            }
        }
    }
    Ok(Outcome::Reply(format!(r#"{{"labels":[{}],"total":{}}}"#, labels.join(","), labels.len())))
}

/// The request for a label of the list.
fn request(listed: &Document) -> Result<Request, Fault> {
    let id = listed.string("/id").ok_or_else(|| not_understood("a label has no `id`"))?;
    Request::get("api", LABELS).segment("label_id", &id)
}

/// The label of the answer, as JSON text.
fn label(label: &Document) -> Result<String, Fault> {
    let mut members = Vec::with_capacity(MEMBERS.len());
    for (name, kind, absent) in MEMBERS {
        let value = label.pointer(&format!("/{name}")).filter(|value| value.kind() != Kind::Null);
        let text = match (value, absent) {
            (Some(value), _) if value.kind() == kind => value.text(),
            (None, Some(absent)) => absent.to_owned(),
            _ => return Err(not_understood(&format!("a label has no valid `{name}`"))),
        };
        members.push(format!("{}:{text}", quoted(name)));
    }
    Ok(format!("{{{}}}", members.join(",")))
}

fn document(response: Response) -> Result<Document, Fault> {
    let document = response.successful()?.document()?;
    match document.kind() {
        Kind::Object => Ok(document),
        _ => Err(not_understood("it is not an object")),
    }
}

/// Gmail refuses a label that has only one of the colours.
pub(crate) fn both_colors_or_neither(input: &CreateLabel) -> Result<(), Fault> {
    let missing = match (&input.background_color, &input.text_color) {
        (Some(_), None) => "text_color",
        (None, Some(_)) => "background_color",
        _ => return Ok(()),
    };
    let detail = format!("Give `{missing}` as well, or leave both colours out.");
    Err(Fault::invalid_input(format!("/{missing}"), detail))
}
