//! The `upstream-additions` interface: what `describe` declares of upstreams in addition to the
//! manifest.

use contract::{AddressPart, PartForm, PartSource};
use contract_rules::limit::{ADDRESS_PARTS, UPSTREAMS};

use super::bindings::gateway::connector::upstream_additions as wit;
use super::guest::Guest;

impl wit::Host for Guest {
    fn declare_part(&mut self, part: wit::Part) -> wasmtime::Result<()> {
        let parts = &mut self.declarations("upstream-additions.declare-part", &part)?.upstreams.parts;
        // The rules of the manifest refuse one more than the limit. More are not kept.
        if parts.len() <= ADDRESS_PARTS {
            parts.push(of_guest(part));
        }
        Ok(())
    }

    fn declare_site(&mut self, upstream: String, site: String) -> wasmtime::Result<()> {
        let declared = (upstream, site);
        let sites = &mut self.declarations("upstream-additions.declare-site", &declared)?.upstreams.sites;
        // The rules of the manifest refuse a second site of an upstream, so one of these is refused.
        if sites.len() <= UPSTREAMS {
            sites.push(declared);
        }
        Ok(())
    }
}

fn of_guest(part: wit::Part) -> AddressPart {
    AddressPart {
        name: part.name,
        title: part.title,
        form: match part.form {
            wit::PartForm::Label => PartForm::Label,
            wit::PartForm::Host => PartForm::Host,
            wit::PartForm::Segment => PartForm::Segment,
        },
        max_length: part.max_length,
        source: match part.source {
            wit::PartSource::User => PartSource::User,
            wit::PartSource::Account(pointer) => PartSource::Account(pointer),
        },
    }
}
