//! The declarations of a component in addition to its manifest: the parts of accounts' addresses, and the
//! sites of upstreams.

#[cfg(target_family = "wasm")]
use contract_rules::account_address::PartForm;
#[cfg(not(target_family = "wasm"))]
use contract_rules::manifest as rules;

#[cfg(target_family = "wasm")]
use crate::bindings::gateway::connector::upstream_additions as wit;
use crate::table::{AddressPart, Connector, PartSource};

/// Declares everything. The functions trap in `invoke`.
#[cfg(target_family = "wasm")]
pub(crate) fn declare(connector: &Connector) {
    for AddressPart { name, title, form, max_length, source } in connector.address {
        wit::declare_part(&wit::Part {
            name: (*name).to_owned(),
            title: (*title).to_owned(),
            form: match form {
                PartForm::Label => wit::PartForm::Label,
                PartForm::Host => wit::PartForm::Host,
                PartForm::Segment => wit::PartForm::Segment,
            },
            max_length: *max_length,
            source: match source {
                PartSource::User => wit::PartSource::User,
                PartSource::Account(pointer) => wit::PartSource::Account((*pointer).to_owned()),
            },
        });
    }
    for upstream in connector.upstreams {
        if let Some(site) = upstream.site {
            wit::declare_site(upstream.name, site);
        }
    }
}

/// The declarations of a component, in the form that the rules take.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn view(connector: &Connector) -> rules::UpstreamAdditions<'_> {
    let part = |part: &'static AddressPart| rules::Part {
        name: part.name,
        title: part.title,
        form: part.form,
        max_length: part.max_length,
        source: match part.source {
            PartSource::User => rules::PartSource::User,
            PartSource::Account(pointer) => rules::PartSource::Account(pointer),
        },
    };
    let sites = connector.upstreams.iter().filter_map(|upstream| Some((upstream.name, upstream.site?)));
    rules::UpstreamAdditions { parts: connector.address.iter().map(part).collect(), sites: sites.collect() }
}
