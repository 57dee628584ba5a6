//! The service of a connector: its upstreams and the parts of their URLs, and what all operations
//! share.

use std::borrow::Cow;

use contract::{AddressPart, CredentialUse, Pacing, PartForm, PartSource, RateLimit, Setting, Upstream};
use rows::{DeclaredHeader, Trigger};
use serde_json::Value;
use toml::de::DeValue;

use crate::field::{self, Field};
use crate::node::{Mistakes, Node, TableEntry};
use crate::places::Places;

/// An upstream and its site: `api = "https://…"`, or a table with `url`. `has_credential` is `true`
/// if its requests carry the user's credential unless the file says otherwise.
pub(crate) fn upstream(
    entry: TableEntry<'_>,
    has_credential: bool,
    places: &mut Places,
    mistakes: &mut Mistakes,
) -> Option<(Upstream, Option<String>)> {
    const FORM: &str = "a base URL, or a table such as `{ url = \"https://…\", links = [\"files.example.com\"] }`";
    places.add(format!("upstream `{}`", entry.name), entry.at);
    let by_default = if has_credential { CredentialUse::Standard } else { CredentialUse::None };
    let mut upstream = Upstream {
        name: entry.name.to_owned(),
        base_url: String::new(),
        credential: by_default,
        link_hosts: Vec::new(),
        pacing: None,
    };
    let (mut site, mut url_at) = (None, entry.at);
    if let DeValue::String(url) = entry.node.value {
        upstream.base_url = url.to_string();
    } else {
        let mut table = entry.node.table(FORM, mistakes)?;
        for (part, clause) in [("base-url", "url"), ("link host", "links"), ("credential", "credential")] {
            places.note(format!("upstream `{}`, {part}", entry.name), &table, clause);
        }
        url_at = table.place("url").unwrap_or(entry.at);
        match table.text("url", mistakes) {
            Some(url) => upstream.base_url = url,
            None => mistakes.at(entry.at, format!("expected {FORM}")),
        }
        if let Some(credential) = table.take("credential") {
            upstream.credential = self::credential(credential.node, mistakes)?;
        }
        upstream.link_hosts = table.texts("links", mistakes).unwrap_or_default();
        upstream.pacing = table.take("pacing").and_then(|entry| pacing(entry.node, mistakes));
        if let Some(entry) = table.take("site") {
            site = entry.node.text("a domain", mistakes).map(str::to_owned);
            places.add(format!("site `{}`", site.as_deref().unwrap_or_default()), entry.at);
        }
        table.end("clause", mistakes);
    }
    if upstream.base_url.ends_with('/') {
        mistakes.at(url_at, "a base URL has no `/` at its end: paths begin with one");
    }
    Some((upstream, site))
}

fn credential(node: Node<'_>, mistakes: &mut Mistakes) -> Option<CredentialUse> {
    match node.value.as_str() {
        Some("standard") => Some(CredentialUse::Standard),
        Some("none") => Some(CredentialUse::None),
        Some("form_field") => Some(CredentialUse::FormField),
        _ => node.expected("`standard`, `none` or `form_field`", mistakes),
    }
}

fn pacing(node: Node<'_>, mistakes: &mut Mistakes) -> Option<Pacing> {
    const FORM: &str = "`{ interval_ms = …, concurrency = …, max_wait_ms = … }` with whole numbers and a concurrency of at \
                        least 1";
    let mut table = node.table(FORM, mistakes)?;
    let interval = table.number("interval_ms", mistakes);
    let concurrency = table.number("concurrency", mistakes);
    let wait = table.number("max_wait_ms", mistakes);
    table.end("key", mistakes);
    match (interval, concurrency, wait) {
        (Some(interval_ms), Some(concurrency @ 1..), Some(max_wait_ms)) => {
            Some(Pacing { interval_ms, concurrency, max_wait_ms })
        }
        _ => node.expected(FORM, mistakes),
    }
}

/// A part of accounts' addresses: `subdomain = { title = "…", form = "label", from = "user" }`
pub(crate) fn address_part(entry: TableEntry<'_>, places: &mut Places, mistakes: &mut Mistakes) -> Option<AddressPart> {
    const FORM: &str = "a part such as `subdomain = { title = \"Subdomain\", form = \"label\" }`";
    places.add(format!("part `{}` of the address", entry.name), entry.at);
    let mut table = entry.node.table(FORM, mistakes)?;
    let title = table.text("title", mistakes);
    let form = match table.take("form").map(|entry| entry.node) {
        None => PartForm::Label,
        Some(node) => match node.value.as_str() {
            Some("label") => PartForm::Label,
            Some("host") => PartForm::Host,
            Some("segment") => PartForm::Segment,
            _ => node.expected("`label`, `host` or `segment`", mistakes)?,
        },
    };
    let max_length = table.number("max", mistakes).unwrap_or(form.most());
    let from = table.text("from", mistakes).unwrap_or_else(|| "user".to_owned());
    table.end("key", mistakes);
    let source = if from == "user" { PartSource::User } else { PartSource::Account(from) };
    match title {
        Some(title) => Some(AddressPart { name: entry.name.to_owned(), title, form, max_length, source }),
        None => entry.node.expected(FORM, mistakes),
    }
}

/// `searches = "300 per minute"`, `searches = "300 per 15 minutes"`
pub(crate) fn rate_limit(entry: TableEntry<'_>, places: &mut Places, mistakes: &mut Mistakes) -> Option<RateLimit> {
    const FORM: &str = "a rate such as `300 per minute` or `300 per 15 minutes`";
    places.add(format!("rate limit `{}`", entry.name), entry.at);
    let node = entry.node;
    let words: Vec<&str> = node.text(FORM, mistakes)?.split_whitespace().collect();
    let (requests, count, unit) = match words.as_slice() {
        [requests, "per", unit] => (*requests, "1", *unit),
        [requests, "per", count, unit] => (*requests, *count, *unit),
        _ => return node.expected(FORM, mistakes),
    };
    let (Ok(requests), Ok(count)) = (requests.parse::<u32>(), count.parse::<u32>()) else {
        return node.expected(FORM, mistakes);
    };
    let seconds: u32 = match unit.trim_end_matches('s') {
        "second" => 1,
        "minute" => 60,
        "hour" => 3600,
        "day" => 86_400,
        _ => return node.expected("`second`, `minute`, `hour` or `day`", mistakes),
    };
    if requests == 0 || count == 0 {
        mistakes.at(node.at, "the numbers of a rate limit are at least 1");
    }
    Some(RateLimit { name: entry.name.to_owned(), requests, period_seconds: count.saturating_mul(seconds) })
}

/// The values that the operator may set.
pub(crate) fn settings(declared: Vec<TableEntry<'_>>, places: &mut Places, mistakes: &mut Mistakes) -> Vec<Setting> {
    let fields = field::fields(declared, mistakes);
    field::check_names(&fields, mistakes);
    for field in &fields {
        places.add(format!("setting `{}`", field.row.spec.name), field.at);
        field::check_setting(field, mistakes);
    }
    fields.iter().map(setting).collect()
}

fn setting(field: &Field) -> Setting {
    // The default and the documentation are separate members of the declaration.
    let mut spec = field.row.spec.clone();
    let default = spec.default.take();
    let documentation = std::mem::take(&mut spec.documentation);
    Setting {
        name: spec.name.clone(),
        schema: spec.schema().to_string(),
        default: default.as_ref().map(Value::to_string),
        documentation,
    }
}

/// `X-Name = "value"`, or `X-Name = { value = "value", when = ["$search"] }`. All rows have it, so
/// its mistakes are told here. `settings` are those that it may refer to.
pub(crate) fn header(
    entry: TableEntry<'_>,
    settings: &[(&str, Value)],
    places: &mut Places,
    mistakes: &mut Mistakes,
) -> Option<DeclaredHeader> {
    places.add(format!("header `{}`", entry.name), entry.at);
    let header = read_header(entry, mistakes)?;
    for mistake in rows::check_headers(std::slice::from_ref(&header), settings) {
        mistakes.at(entry.at, mistake);
    }
    Some(header)
}

fn read_header(entry: TableEntry<'_>, mistakes: &mut Mistakes) -> Option<DeclaredHeader> {
    const FORM: &str = "a value, or a table such as `{ value = \"eventual\", when = [\"$search\"] }`";
    let name = entry.name.to_owned();
    if let DeValue::String(value) = entry.node.value {
        return Some(DeclaredHeader { name, value: value.to_string(), when: Vec::new() });
    }
    let mut table = entry.node.table(FORM, mistakes)?;
    let value = table.text("value", mistakes);
    let when = match table.take("when") {
        Some(entry) => entry.node.items("a list of query parameters", mistakes)?,
        None => Vec::new(),
    };
    table.end("key", mistakes);
    let when = when.into_iter().filter_map(|item| trigger(item, mistakes)).collect();
    match value {
        Some(value) => Some(DeclaredHeader { name, value, when }),
        None => entry.node.expected(FORM, mistakes),
    }
}

fn trigger(node: Node<'_>, mistakes: &mut Mistakes) -> Option<Trigger> {
    const FORM: &str = "the name of a query parameter, or `{ name = \"$count\", unless = \"false\" }`";
    if let DeValue::String(name) = node.value {
        return Some(Trigger { parameter: Cow::Owned(name.to_string()), unless: None });
    }
    let mut table = node.table(FORM, mistakes)?;
    let (name, unless) = (table.text("name", mistakes), table.text("unless", mistakes));
    table.end("key", mistakes);
    match name {
        Some(name) => Some(Trigger { parameter: Cow::Owned(name), unless: unless.map(Cow::Owned) }),
        None => node.expected(FORM, mistakes),
    }
}
