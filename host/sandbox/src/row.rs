//! Operations that are one request: the gateway makes the request of a declared row, and no guest
//! runs.

use std::borrow::Cow;

use bytes::Bytes;
use contract_rules::limit::PARTS;
use egress::{Multipart, PartContent};
use memory::{Exhausted, MemoryBudget};
use rows::{Refusal, Row};

use super::bindings::gateway::connector::outcome::Violation;
use super::bindings::gateway::connector::row_additions as wit;
use super::guest::Guest;
use super::http::Request;
use super::invocation::{Fault, Settings};
use super::multipart::boundary;
use contract::DeclaredRow;
use contract_rules::limit::OPERATIONS;

/// The values of a connector's settings.
struct Values<'a>(&'a Settings);

impl rows::Settings for Values<'_> {
    fn get(&self, name: &str) -> Option<Cow<'_, str>> {
        self.0.get(name).map(|json| Cow::Borrowed(json.as_str()))
    }
}

/// The request of a row for an input, which is JSON text that the schema of the operation has
/// accepted. The bytes of a form with files count in `memory`.
///
/// # Errors
/// If there is no memory for a form with files.
pub fn request(
    row: &Row,
    input: &str,
    settings: &Settings,
    memory: &MemoryBudget,
) -> Result<Result<Request, Fault>, Exhausted> {
    let made = match row.request(input, &Values(settings)) {
        Ok(made) => made,
        Err(Refusal::Input { pointer, detail }) => return Ok(Err(refused(pointer, detail))),
        Err(Refusal::Setting(why)) => return Ok(Err(Fault::Failed(why))),
    };
    let rows::Request { method, upstream, path, headers, body } = made;
    let body = match body {
        None => egress::Body::Empty,
        Some(rows::Body::Json(text)) => egress::Body::Json(text.into()),
        Some(rows::Body::Form(pairs)) => egress::Body::Form(pairs),
        Some(rows::Body::Parts(parts)) => match multipart(&parts, memory)? {
            Ok(built) => egress::Body::Multipart(built),
            Err(fault) => return Ok(Err(fault)),
        },
    };
    Ok(Ok(Request::of_row(method, upstream, path, headers, body)))
}

fn refused(pointer: String, detail: String) -> Fault {
    Fault::InvalidInput(vec![Violation { pointer, detail }])
}

fn multipart(parts: &[rows::Part], memory: &MemoryBudget) -> Result<Result<Multipart, Fault>, Exhausted> {
    if let Some(part) = parts.get(PARTS) {
        return Ok(Err(refused(part.place.clone(), format!("Give at most {PARTS} parts."))));
    }
    let Ok(boundary) = boundary() else {
        return Ok(Err(Fault::Failed("The operating system gives no random values.".to_owned())));
    };
    let sent: Vec<egress::Part<'_>> = parts.iter().map(to_send).collect();
    let mut held = memory.part();
    held.grow_to(Multipart::most_bytes(&sent, &boundary))?;
    let built = Multipart::build(&sent, &boundary, |body: Bytes| held.tie_to(body));
    Ok(built.map_err(|broken| {
        let place = parts.get(broken.index).map(|part| part.place.clone()).unwrap_or_default();
        refused(place, broken.detail)
    }))
}

fn to_send(part: &rows::Part) -> egress::Part<'_> {
    egress::Part {
        name: &part.name,
        file_name: part.file_name.as_deref(),
        content_type: part.content_type.as_deref(),
        content: match &part.content {
            rows::Content::Text(text) => PartContent::Bytes(text.as_bytes()),
            rows::Content::Base64(text) => PartContent::Base64(text),
        },
    }
}

impl wit::Host for Guest {
    fn declare_row(&mut self, operation: String, row: wit::Row) -> wasmtime::Result<()> {
        let Some(additions) = self.additions.as_deref_mut() else {
            wasmtime::bail!(
                "it called `row-additions.declare-row` in `invoke`; `describe` calls it, before it returns the manifest"
            );
        };
        // The rules of the manifest refuse one more than it can have. More are not kept.
        if additions.rows.len() <= OPERATIONS {
            additions.rows.push(DeclaredRow { operation, row: of_guest(row) });
        }
        Ok(())
    }
}

fn of_guest(row: wit::Row) -> rows::Declaration {
    let wit::Row { method, upstream, path, fields, default_query, headers, fixed_body, encoding } = row;
    rows::Declaration {
        method: super::http::method_of_row(method),
        upstream,
        path,
        fields: fields.into_iter().map(field).collect(),
        default_query: default_query
            .into_iter()
            .map(|wit::DefaultQuery { parameter, unless }| rows::DefaultQuery {
                parameter: parameter.into(),
                unless: unless.into_iter().map(Cow::Owned).collect(),
            })
            .collect(),
        headers: headers.into_iter().map(header).collect(),
        fixed_body,
        encoding: match encoding {
            wit::BodyEncoding::Json => rows::BodyEncoding::Json,
            wit::BodyEncoding::Form => rows::BodyEncoding::Form,
            wit::BodyEncoding::Multipart => rows::BodyEncoding::Multipart,
        },
    }
}

fn header(header: wit::Header) -> rows::DeclaredHeader {
    let wit::Header { name, value, when } = header;
    let when = when.into_iter().map(|wit::Trigger { parameter, unless }| rows::Trigger {
        parameter: parameter.into(),
        unless: unless.map(Cow::Owned),
    });
    rows::DeclaredHeader { name, value, when: when.collect() }
}

fn field(field: wit::Field) -> rows::Field {
    let wit::Field { name, location, required, integer, lists, max_bytes, default, nullable } = field;
    rows::Field {
        name: name.into(),
        location: match location {
            wit::Location::Path(encoding) => rows::Location::Path(match encoding {
                wit::PathEncoding::Segment => rows::Encoding::Segment,
                wit::PathEncoding::Path => rows::Encoding::Path,
                wit::PathEncoding::OdataString => rows::Encoding::ODataString,
            }),
            wit::Location::Query(name) => rows::Location::Query(name.into()),
            wit::Location::QueryEntries => rows::Location::QueryEntries,
            wit::Location::Body(names) => rows::Location::Body(names.into_iter().map(Cow::Owned).collect()),
            wit::Location::WholeBody => rows::Location::WholeBody,
            wit::Location::File(name) => rows::Location::File(name.into()),
            wit::Location::Header(name) => rows::Location::Header(name.into()),
            wit::Location::HeaderEntries => rows::Location::HeaderEntries,
        },
        required,
        integer,
        lists: match lists {
            wit::Lists::AsTheyAre => rows::Lists::AsTheyAre,
            wit::Lists::Joined(separator) => rows::Lists::Joined(separator.into()),
            wit::Lists::Repeated => rows::Lists::Repeated,
        },
        max_bytes: max_bytes.and_then(|bytes| usize::try_from(bytes).ok()),
        default: default.map(Cow::Owned),
        nullable,
    }
}
