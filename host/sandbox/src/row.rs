//! Requests of declared rows. The gateway makes the request of an operation that is one request,
//! and no guest runs. Other guests ask for the request of their operation.

use std::borrow::Cow;

use bytes::Bytes;
use egress::{Multipart, PartContent};
use memory::{Exhausted, MemoryBudget};
use rows::{Refusal, Row};

use super::bindings::gateway::connector::http as http_wit;
use super::bindings::gateway::connector::outcome::{Fault, Violation};
use super::bindings::gateway::connector::row_additions as wit;
pub use super::call::Declared;
use super::call::Settings;
use super::guest::Guest;
use super::http::Request;
use super::multipart::boundary;
use contract::{DeclaredRow, Purpose};
use contract_rules::limit::OPERATIONS;

/// A request has at most this many copies of its input while it is made: the members of its body as
/// JSON, and as files of a form.
const COPIES: usize = 2;

/// The values of a connector's settings.
struct Values<'a>(&'a Settings);

impl rows::Settings for Values<'_> {
    fn get(&self, name: &str) -> Option<Cow<'_, str>> {
        self.0.get(name).map(|json| Cow::Borrowed(json.as_str()))
    }
}

/// The most memory that the request of an input takes while it is made.
pub fn most_bytes(row: &Row, input: &str) -> usize {
    input.len().saturating_mul(COPIES).saturating_add(rows::form::most_bytes_of_row(row, input))
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
        Err(refusal) => return Ok(Err(refusal.into())),
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

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Input { pointer, detail } => refused(pointer, detail),
            Refusal::Setting(why) => Self::Failed(why),
        }
    }
}

fn refused(pointer: String, detail: String) -> Fault {
    Fault::InvalidInput(vec![Violation { pointer, detail }])
}

/// The parts of a form with files. A row makes no more than a body may have.
fn sent(parts: &[rows::Part]) -> Vec<egress::Part<'_>> {
    parts.iter().map(to_send).collect()
}

/// A part that breaks a rule, with the place of its value in the input.
fn refused_part(parts: &[rows::Part], broken: egress::BrokenPart) -> Fault {
    let place = parts.get(broken.index).map(|part| part.place.clone()).unwrap_or_default();
    refused(place, broken.detail)
}

fn multipart(parts: &[rows::Part], memory: &MemoryBudget) -> Result<Result<Multipart, Fault>, Exhausted> {
    let sent = sent(parts);
    let Ok(boundary) = boundary() else {
        return Ok(Err(Fault::Failed("The operating system gives no random values.".to_owned())));
    };
    let mut held = memory.part();
    held.grow_to(Multipart::most_bytes(&sent, &boundary))?;
    let built = Multipart::build(&sent, &boundary, |body: Bytes| held.tie_to(body));
    Ok(built.map_err(|broken| refused_part(parts, broken)))
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
        self.declare_row_for("row-additions.declare-row", operation, row, Purpose::Sent)
    }

    fn declare_request(&mut self, operation: String, row: wit::Row) -> wasmtime::Result<()> {
        self.declare_row_for("row-additions.declare-request", operation, row, Purpose::Made)
    }

    async fn make_request(&mut self) -> wasmtime::Result<Result<wit::Request, Fault>> {
        let Some(declared) = self.call.declared.clone() else {
            wasmtime::bail!(
                "it called `row-additions.make-request` in an operation whose request it has not declared with \
                 `declare-request`"
            );
        };
        let bytes = most_bytes(&declared.row, &declared.input);
        let make = |guest: &mut Self| {
            // The guest gets the request. A form with files stays, and is counted by itself.
            let _held = guest.host_memory.hold(bytes)?;
            let made = declared.row.request(&declared.input, &Values(&guest.call.settings));
            match made {
                Ok(made) => guest.request_of_row(made),
                Err(refusal) => Ok(Err(refusal.into())),
            }
        };
        self.compute(declared.input.len().saturating_mul(COPIES), make).await
    }
}

impl Guest {
    fn declare_row_for(
        &mut self,
        function: &str,
        operation: String,
        row: wit::Row,
        purpose: Purpose,
    ) -> wasmtime::Result<()> {
        let rows = &mut self.declarations(function, &(&operation, &row))?.rows;
        // The rules of the manifest refuse one more than it can have. More are not kept.
        if rows.len() <= OPERATIONS {
            rows.push(DeclaredRow { operation, row: of_guest(row), purpose });
        }
        Ok(())
    }

    /// The request as the contract has it. A form with files stays here.
    fn request_of_row(&mut self, request: rows::Request<'_>) -> wasmtime::Result<Result<wit::Request, Fault>> {
        let rows::Request { method, upstream, path, headers, body } = request;
        let body = match body {
            None => None,
            Some(rows::Body::Json(text)) => Some(http_wit::Body::Json(text)),
            Some(rows::Body::Form(pairs)) => Some(http_wit::Body::Form(pairs)),
            Some(rows::Body::Parts(parts)) => match self.keep_multipart(&sent(&parts), &boundary()?)? {
                Ok(content_type) => {
                    Some(http_wit::Body::Bytes(http_wit::TypedBytes { content_type, bytes: Vec::new() }))
                }
                Err(broken) => return Ok(Err(refused_part(&parts, broken))),
            },
        };
        Ok(Ok(wit::Request {
            method: super::http::method_for_guest(method),
            upstream: upstream.to_owned(),
            target: http_wit::Target::Path(path),
            headers,
            body,
            omit_credential: false,
        }))
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
