//! The parts of accounts' addresses that the document declares.

use serde_json::Value;

use crate::bindings::gateway::connector::upstream_additions::{Part, PartForm, PartSource, declare_part, declare_site};
use crate::{scheme, text};

/// Declares `address`, a list of parts such as `{"name": "sub", "form": "label"}`, and `sites`, a
/// list of pairs of an upstream and a domain. A part with the member `pointer` is in the answer of
/// the operation that identifies accounts. The user gives the others.
pub(crate) fn declare(service: &Value) {
    for part in service["address"].as_array().into_iter().flatten() {
        let (form, longest) = match text(part, "form") {
            "host" => (PartForm::Host, 253),
            "segment" => (PartForm::Segment, 253),
            _ => (PartForm::Label, 63),
        };
        declare_part(&Part {
            name: text(part, "name").to_owned(),
            title: format!("Your {}", text(part, "name")),
            form,
            max_length: part["max"].as_u64().and_then(|most| most.try_into().ok()).unwrap_or(longest),
            source: match part["pointer"].as_str() {
                Some(pointer) => PartSource::Account(pointer.to_owned()),
                None => PartSource::User,
            },
        });
    }
    for (upstream, site) in scheme::pairs(&service["sites"]) {
        declare_site(&upstream, &site);
    }
}
