//! The counts of all labels, and the colours of a new one.

use connector_sdk::http::{self, Error, Response};
use connector_sdk::{Fault, Outcome, Request, progress};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{CreateLabel, TotalEmailsPerLabel};

/// Gmail's path of labels.
const LABELS: &str = "/users/me/labels";

/// Number of labels that are read at a time.
const PARALLEL: usize = 5;

/// The answer.
#[derive(Serialize)]
struct Totals {
    labels: Vec<Label>,
    /// Number of labels.
    total: usize,
}

/// A label with its counts, in Gmail's spelling.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Label {
    id: String,
    name: String,
    r#type: Option<String>,
    #[serde(default)]
    messages_total: u64,
    #[serde(default)]
    messages_unread: u64,
    #[serde(default)]
    threads_total: u64,
    #[serde(default)]
    threads_unread: u64,
}

/// Gmail's list of labels, which has no counts.
#[derive(Deserialize)]
struct List {
    #[serde(default)]
    labels: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    id: String,
}

/// The gateway has answered a caller who does not wait.
pub(crate) fn totals(_: TotalEmailsPerLabel) -> Result<Outcome, Fault> {
    let list: List = parse(http::send(Request::get("api", LABELS))?)?;
    let mut labels = Vec::with_capacity(list.labels.len());
    let count = list.labels.len();
    for (chunk, listed) in list.labels.chunks(PARALLEL).enumerate() {
        let read = chunk * PARALLEL;
        progress::report(read as f64 / count as f64, &format!("{read} of {count} labels are read"));
        let requests = listed.iter().map(|label| Request::get("api", LABELS).segment("label_id", &label.id));
        for response in http::send_all(requests.collect::<Result<_, _>>()?) {
            let response = response?;
            // The label was deleted after the list was made.
            if response.status() != 404 {
                labels.push(parse::<Label>(response)?);
            }
        }
    }
    Outcome::json(&Totals { total: labels.len(), labels })
}

fn parse<T: DeserializeOwned>(response: Response) -> Result<T, Fault> {
    let text = response.successful()?.text()?;
    serde_json::from_str(&text)
        .map_err(|error| Error::BadAnswer(format!("Gmail's response is not in the documented form: {error}")).into())
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
