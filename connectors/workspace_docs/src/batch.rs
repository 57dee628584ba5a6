//! Documents of Google Docs: how the connector reads one, and the requests that change one.

use connector_sdk::http::{self, Error, Response};
use connector_sdk::json::Kind;
use connector_sdk::{Document, Fault, Request};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::flow::Style;

/// A change of a document. It has the names of Google's `Request`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum Change {
    InsertText { location: Location, text: String },
    InsertPageBreak { location: Location },
    InsertTable { location: Location, rows: usize, columns: usize },
    InsertInlineImage(Image),
    DeleteContentRange { range: Range },
    DeleteParagraphBullets { range: Range },
    CreateParagraphBullets { range: Range, bullet_preset: &'static str },
    UpdateParagraphStyle { range: Range, paragraph_style: Style, fields: String },
    UpdateTextStyle { range: Range, text_style: Style, fields: String },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Image {
    pub(crate) location: Location,
    pub(crate) uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) object_size: Option<Box<RawValue>>,
}

/// A place in the body of the first tab.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Location {
    pub(crate) index: i64,
}

/// A part of the body of the first tab. The end is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Range {
    pub(crate) start_index: i64,
    pub(crate) end_index: i64,
}

impl Change {
    /// Sets members of a paragraph style. Other members do not change.
    pub(crate) fn paragraph(range: Range, style: Style) -> Self {
        Self::UpdateParagraphStyle { range, fields: style.fields(), paragraph_style: style }
    }

    /// Sets members of a text style. Other members do not change.
    pub(crate) fn text(range: Range, style: Style) -> Self {
        Self::UpdateTextStyle { range, fields: style.fields(), text_style: style }
    }

    /// Turns the paragraphs in a range into normal paragraphs without bullets.
    pub(crate) fn plain_paragraphs(range: Range) -> [Self; 2] {
        [
            // Google adds an indent where it deletes bullets, so the style is reset after that.
            Self::DeleteParagraphBullets { range },
            Self::UpdateParagraphStyle { range, paragraph_style: Style::default(), fields: "*".to_owned() },
        ]
    }

    /// Turns the text in a range into normal text.
    pub(crate) fn plain_text(range: Range) -> Self {
        Self::UpdateTextStyle { range, text_style: Style::default(), fields: "*".to_owned() }
    }
}

/// A document that was read. It stays in the gateway.
pub(crate) struct Content {
    document: Document,
    /// The structural elements of the body.
    pub(crate) elements: Document,
    /// The index after the last line end of the body.
    pub(crate) end: i64,
    /// The lists by id. `None` if the document has no lists.
    pub(crate) lists: Option<Document>,
    /// The pictures and drawings by id. `None` if the document has no such object.
    pub(crate) inline_objects: Option<Document>,
}

impl Content {
    /// Reads a document. `field` is the input field with its id, and `role` is its name in an
    /// error.
    ///
    /// # Errors
    /// [`Fault::Upstream`] that names the document, if Google refuses it.
    pub(crate) fn read(field: &str, id: &str, role: &str) -> Result<Self, Fault> {
        let request = Request::get("docs", "/documents").segment(field, id)?;
        let document = send(request, role, id)?.document()?;
        let elements = document.pointer("/body/content").filter(|content| content.kind() == Kind::Array);
        let elements = elements.ok_or_else(|| not_understood("the document has no `body.content`"))?;
        let last = elements.length().checked_sub(1).and_then(|last| elements.item(last));
        let end = last.and_then(|last| index(&last, "/endIndex"));
        let end = end.ok_or_else(|| not_understood("the last element of the body has no `endIndex`"))?;
        let (lists, inline_objects) = (document.pointer("/lists"), document.pointer("/inlineObjects"));
        Ok(Self { document, elements, end, lists, inline_objects })
    }

    /// The number of the first element that ends after an index. Elements are in the order of their
    /// indices.
    pub(crate) fn first_after(&self, at: i64) -> u32 {
        let (mut low, mut high) = (0, self.elements.length());
        while low < high {
            let middle = low + (high - low) / 2;
            let end = self.elements.item(middle).and_then(|element| index(&element, "/endIndex"));
            if end.unwrap_or_default() <= at {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The revision that was read. Google gives it to users who may change the document.
    pub(crate) fn revision(&self) -> Option<String> {
        self.document.string("/revisionId")
    }
}

/// An index at a JSON Pointer.
pub(crate) fn index(document: &Document, pointer: &str) -> Option<i64> {
    document.pointer(pointer)?.text().parse().ok()
}

/// The fault for a response that does not have Google's documented form. `problem` is a clause that
/// says what is wrong.
pub(crate) fn not_understood(problem: &str) -> Fault {
    Error::BadAnswer(format!("Google's response is not in the documented form: {problem}")).into()
}

/// Applies changes to a document in their order, all or none, and returns Google's response.
///
/// # Errors
/// [`Fault::Conflict`] if the document is no longer at `revision`. [`Fault::Upstream`] that names
/// the document, if Google refuses the changes otherwise.
pub(crate) fn apply(
    field: &str,
    id: &str,
    role: &str,
    revision: Option<String>,
    requests: &[Change],
) -> Result<Document, Fault> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Body<'a> {
        requests: &'a [Change],
        #[serde(skip_serializing_if = "Option::is_none")]
        write_control: Option<WriteControl>,
    }
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct WriteControl {
        required_revision_id: String,
    }
    let write_control = revision.map(|required_revision_id| WriteControl { required_revision_id });
    let body = serde_json::to_string(&Body { requests, write_control })
        .map_err(|error| Fault::Failed(format!("The changes cannot be written as JSON: {error}")))?;
    let mut request = Request::post("docs", "/documents").segment(field, id)?;
    request.path.push_str(":batchUpdate");
    match send(request.json(body), role, id) {
        Err(Fault::Upstream(fault)) if fault.status == 400 && is_outdated(fault.body.as_deref()) => {
            Err(Fault::conflict(format!(
                "Someone changed the {role} {id} meanwhile, so nothing was written. Repeat the call."
            )))
        }
        response => Ok(response?.document()?),
    }
}

/// The revision after a change.
pub(crate) fn revision(response: &Document) -> Option<String> {
    response.string("/writeControl/requiredRevisionId")
}

/// The status with which Google refuses a change of a revision that is not the latest.
fn is_outdated(body: Option<&str>) -> bool {
    let body = body.and_then(|body| Document::parse(body).ok());
    body.and_then(|body| body.string("/error/status")).as_deref() == Some("FAILED_PRECONDITION")
}

/// Sends a request. An error names the document.
fn send(request: Request, role: &str, id: &str) -> Result<Response, Fault> {
    http::send(request)?.successful().map_err(|fault| match fault {
        Fault::Upstream(mut fault) => {
            fault.detail = match fault.status {
                404 => format!("Google does not find the {role} {id}. Check the id."),
                403 => format!("Google does not allow the user to use the {role} {id}. Ask its owner to share it."),
                status => format!("Google answered with status {status} for the {role} {id}."),
            };
            Fault::Upstream(fault)
        }
        other => other,
    })
}
