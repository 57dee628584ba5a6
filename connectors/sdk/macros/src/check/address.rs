//! The parts of accounts' addresses, and the sites of upstreams.

use contract_rules::account_address::{is_in_host, part_name, site};
use contract_rules::manifest::{Part, PartSource, UpstreamAdditions};
use contract_rules::{limit, pointer};

use crate::errors::Errors;
use crate::parse::address;
use crate::parse::table::Table;

/// The texts of a table that the rules about URLs of accounts need.
pub(super) struct Texts<'a> {
    table: &'a Table,
    names: Vec<String>,
    sites: Vec<(String, String)>,
}

impl<'a> Texts<'a> {
    pub(super) fn of(table: &'a Table) -> Self {
        let site = |upstream: &crate::parse::statement::Upstream| {
            Some((upstream.name.to_string(), upstream.site.as_ref()?.value()))
        };
        Self {
            table,
            names: table.address.iter().map(|part| part.name.to_string()).collect(),
            sites: table.upstreams.iter().filter_map(site).collect(),
        }
    }

    pub(super) fn additions(&self) -> UpstreamAdditions<'_> {
        let parts = self.table.address.iter().zip(&self.names).map(|(part, name)| Part {
            name,
            title: &part.title,
            form: part.form,
            max_length: part.max_length,
            source: PartSource::User,
        });
        let sites = self.sites.iter().map(|(upstream, site)| (upstream.as_str(), site.as_str()));
        UpstreamAdditions { parts: parts.collect(), sites: sites.collect() }
    }
}

pub(super) fn check(table: &Table, errors: &mut Errors) {
    for (index, part) in table.address.iter().enumerate() {
        let name = part.name.to_string();
        errors.rule(part.name.span(), part_name(&name));
        if table.address.iter().take(index).any(|known| known.name == part.name) {
            errors.at(part.name.span(), format!("`{name}` is declared twice"));
        }
        if table.upstreams.iter().any(|upstream| upstream.name == part.name) {
            errors.at(
                part.name.span(),
                format!("`{name}` is an upstream, and base URLs have both in braces; use another name"),
            );
        }
        if part.title.is_empty() {
            errors.at(part.name.span(), "say in a `///` comment, in a few words, what the user gives or what it is");
        } else if part.title.len() > limit::TITLE_BYTES || part.title.contains('\n') {
            errors.at(part.name.span(), "its comment is one line of at most 256 bytes, which users see beside a field");
        }
        if !(1..=part.form.most()).contains(&part.max_length) {
            errors.at(part.length_span, format!("the maximum is 1 to {} characters", part.form.most()));
        }
        if let address::PartSource::Account(at) = &part.source {
            errors.rule(at.span(), pointer::check(&at.value()));
        }
    }
    if let Some(part) = table.address.get(limit::ADDRESS_PARTS) {
        errors.at(part.name.span(), format!("an address has at most {} parts", limit::ADDRESS_PARTS));
    }
    for upstream in &table.upstreams {
        let Some(domain) = &upstream.site else { continue };
        errors.rule(domain.span(), site(&domain.value()));
        if !is_in_host(&upstream.base_url.value()) {
            errors.at(
                domain.span(),
                "the host of this upstream has no part of the account's address, so it needs no site",
            );
        }
    }
}
