//! The declarations of a connector in addition to its manifest, as calls with arguments in JSON.

use contract::{Additions, AddressPart, LastItem, PartForm, PartSource, Purpose};
use contract_rules::signature::{Region, TextPart};
use rows::{BodyEncoding, DeclaredHeader, Encoding, Field, Lists, Location};
use serde_json::{Value, json};

/// A call of a function of the contract.
pub(super) struct Declaration {
    pub(super) interface: &'static str,
    pub(super) function: &'static str,
    pub(super) arguments: Vec<Value>,
}

/// All declarations.
pub(super) fn of(additions: &Additions) -> Vec<Declaration> {
    let mut found = Vec::new();
    let mut add = |interface, function, arguments| found.push(Declaration { interface, function, arguments });
    let Additions { auth, upstreams, rows, pages, inboxes, triggers } = additions;
    if auth.client_credentials {
        add("auth-additions", "client-credentials", Vec::new());
    }
    if let Some(account) = &auth.service_account {
        let subject = if account.needs_subject { "required" } else { "optional" };
        add("auth-additions", "service-account", vec![json!({"audience": account.audience, "subject": subject})]);
    }
    if let Some(app) = &auth.app_installation {
        add("auth-additions", "app-installation", vec![json!({"upstream": app.upstream, "path": app.path})]);
    }
    if let Some(device) = &auth.device_code {
        let url = &device.device_authorization_url;
        add("auth-additions", "device-code", vec![json!({"device-authorization-url": url})]);
    }
    match &auth.signature {
        Some(contract::Signature::Aws(aws)) => {
            let region = match &aws.region {
                Region::Fixed(region) => json!({"fixed": region}),
                Region::Part(part) => json!({"address-part": part}),
            };
            add("auth-additions", "aws-signature-v4", vec![json!({"service": aws.service, "region": region})]);
        }
        Some(contract::Signature::Hmac(hmac)) => {
            let timestamp = hmac.timestamp.as_ref();
            let timestamp = timestamp.map(|time| json!({"header": time.header, "form": format!("{:?}", time.form)}));
            let declared = json!({
                "hash": format!("{:?}", hmac.hash),
                "secret": format!("{:?}", hmac.secret),
                "encoding": format!("{:?}", hmac.encoding),
                "text": hmac.text.iter().map(text_part).collect::<Value>(),
                "separator": hmac.separator,
                "timestamp": timestamp,
                "key-header": hmac.key_header,
            });
            add("auth-additions", "hmac-signature", vec![declared]);
        }
        None => {}
    }
    if !auth.ended_codes.is_empty() {
        add("auth-additions", "ended-codes", vec![json!(auth.ended_codes)]);
    }
    for part in &upstreams.parts {
        add("upstream-additions", "declare-part", vec![address_part(part)]);
    }
    for (upstream, site) in &upstreams.sites {
        add("upstream-additions", "declare-site", vec![json!(upstream), json!(site)]);
    }
    for declared in rows {
        let function = match declared.purpose {
            Purpose::Sent => "declare-row",
            Purpose::Made => "declare-request",
        };
        add("row-additions", function, vec![json!(declared.operation), row(&declared.row)]);
    }
    for LastItem { operation, more } in pages {
        add("page-additions", "declare-last-item", vec![json!(operation), json!(more)]);
    }
    for inbox in inboxes {
        add("trigger-additions", "declare-inbox", vec![json!(inbox)]);
    }
    for trigger in triggers {
        add("trigger-additions", "declare-trigger", vec![json!(trigger)]);
    }
    found
}

fn text_part(part: &TextPart<String>) -> Value {
    match part {
        TextPart::Literal(text) => json!({"literal": text}),
        other => json!(format!("{other:?}")),
    }
}

fn address_part(part: &AddressPart) -> Value {
    let form = match part.form {
        PartForm::Label => "label",
        PartForm::Host => "host",
        PartForm::Segment => "segment",
    };
    let source = match &part.source {
        PartSource::User => json!("user"),
        PartSource::Account(pointer) => json!({"account": pointer}),
    };
    json!({"name": part.name, "title": part.title, "form": form, "max-length": part.max_length, "source": source})
}

fn row(row: &rows::Declaration) -> Value {
    let header = |header: &DeclaredHeader| {
        let when = header.when.iter().map(|when| json!({"parameter": when.parameter, "unless": when.unless}));
        json!({"name": header.name, "value": header.value, "when": when.collect::<Value>()})
    };
    let default = |default: &rows::DefaultQuery| json!({"parameter": default.parameter, "unless": default.unless});
    json!({
        "method": row.method.name(),
        "upstream": row.upstream,
        "path": row.path,
        "fields": row.fields.iter().map(field).collect::<Value>(),
        "default-query": row.default_query.iter().map(default).collect::<Value>(),
        "headers": row.headers.iter().map(header).collect::<Value>(),
        "fixed-body": row.fixed_body,
        "encoding": match row.encoding {
            BodyEncoding::Json => "json",
            BodyEncoding::Form => "form",
            BodyEncoding::Multipart => "multipart",
        },
    })
}

fn field(field: &Field) -> Value {
    let location = match &field.location {
        Location::Path(Encoding::Segment) => json!({"path": "segment"}),
        Location::Path(Encoding::Path) => json!({"path": "path"}),
        Location::Path(Encoding::ODataString) => json!({"path": "odata-string"}),
        Location::Query(name) => json!({"query": name}),
        Location::QueryEntries => json!("query-entries"),
        Location::Body(steps) => json!({"body": steps}),
        Location::WholeBody => json!("whole-body"),
        Location::File(name) => json!({"file": name}),
        Location::Header(name) => json!({"header": name}),
        Location::HeaderEntries => json!("header-entries"),
    };
    let lists = match &field.lists {
        Lists::AsTheyAre => json!("as-they-are"),
        Lists::Joined(separator) => json!({"joined": separator}),
        Lists::Repeated => json!("repeated"),
    };
    json!({
        "name": field.name,
        "location": location,
        "required": field.required,
        "integer": field.integer,
        "lists": lists,
        "max-bytes": field.max_bytes,
        "default": field.default,
        "nullable": field.nullable,
    })
}
