//! Names, limits, addresses and references of a manifest.

use std::collections::HashSet;

use serde_json::Value;

use super::violations::Violations;
use super::{Imprint, Manifest, Operation, Setting, Upstream, Violation, auth, shorten, texts, upstream_additions};
use crate::limit::{
    ANSWER_EXAMPLE_BYTES, ICON_BYTES, IMPRINT_BYTES, OPERATIONS, RATE_LIMITS, SETTING_SCHEMA_BYTES, SETTINGS,
    TEXT_BYTES, UPSTREAMS, VERSION_BYTES,
};
use crate::{Broken, address, ensure, link, name, pointer, schema};

/// Checks a manifest, without parsing its schemas. Returns every rule that it breaks.
#[must_use]
pub fn check(manifest: &Manifest<'_>) -> Vec<Violation> {
    let mut found = Violations(Vec::new());
    found.add(format!("identifier `{}`", shorten(manifest.identifier)), name::identifier(manifest.identifier));
    let version = (1..=VERSION_BYTES).contains(&manifest.version.len());
    found.add("version", ensure(version, "a version is 1 to 64 characters"));
    found.add("title", text(manifest.title));
    found.add("description", text(manifest.description));
    check_imprint(&manifest.imprint, &mut found);
    let upstreams = manifest.upstreams.iter().map(|upstream| upstream.name);
    distinct("upstream", upstreams, UPSTREAMS, name::plain, &mut found);
    for (index, upstream) in manifest.upstreams.iter().enumerate() {
        check_upstream(manifest, upstream, index, &mut found);
    }
    let limits = manifest.rate_limits.iter().map(|limit| limit.name);
    let limits = distinct("rate limit", limits, RATE_LIMITS, name::plain, &mut found);
    for limit in &manifest.rate_limits {
        let counts = limit.requests > 0 && limit.period_seconds > 0;
        found.add(
            format!("rate limit `{}`", shorten(limit.name)),
            ensure(counts, "the number of requests and the period are at least 1"),
        );
    }
    let settings = manifest.settings.iter().map(|setting| setting.name);
    distinct("setting", settings, SETTINGS, name::setting, &mut found);
    for setting in &manifest.settings {
        found.add(format!("setting `{}`", shorten(setting.name)), check_setting(setting));
    }
    found.add("operations", ensure(!manifest.operations.is_empty(), "a connector has at least one operation"));
    let operations = manifest.operations.iter().map(|operation| operation.path);
    let operations = distinct("operation", operations, OPERATIONS, name::operation, &mut found);
    for operation in &manifest.operations {
        check_operation(operation, &limits, &mut found);
    }
    auth::check(manifest, &operations, &mut found);
    upstream_additions::check(manifest, &mut found);
    texts::check(manifest, &mut found);
    found.0
}

/// Checks the schemas and examples of a manifest: that they are JSON, that inputs refuse members
/// that they do not name, that examples and pages fit them. Returns every rule that they break.
#[must_use]
pub fn check_schemas(manifest: &Manifest<'_>) -> Vec<Violation> {
    let mut found = Violations(Vec::new());
    for setting in &manifest.settings {
        let json = |what: &str, text: &str| is_json(what, text);
        let both =
            json("schema", setting.schema).and_then(|()| setting.default.map_or(Ok(()), |text| json("default", text)));
        found.add(format!("setting `{}`", shorten(setting.name)), both);
    }
    for operation in &manifest.operations {
        let part = || format!("operation `{}`", shorten(operation.path));
        match schema::input(operation.input_schema) {
            Ok(input) => {
                check_input(operation, &input, &part(), &mut found);
                if manifest.auth.account_operation() == Some(operation.path) {
                    found.add("auth", auth::takes_no_input(operation.path, &input));
                }
            }
            Err(broken) => found.add(part(), Err(broken)),
        }
        if let Some(answer) = operation.answer_schema {
            found.add(part(), is_json("schema of the answer", answer));
        }
        if let Some(answer) = operation.answer_example {
            found.add(part(), is_json("example of the answer", answer));
        }
    }
    found.0
}

fn check_imprint(imprint: &Imprint<'_>, found: &mut Violations) {
    let short = |text: &str| ensure(text.len() <= IMPRINT_BYTES, "at most 256 bytes");
    found.add("imprint.license", short(imprint.license));
    found.add("imprint.author", short(imprint.author.unwrap_or_default()));
    found.add("imprint.homepage", imprint.homepage.map_or(Ok(()), address::homepage));
    let icon = imprint.icon.unwrap_or_default();
    found.add("imprint.icon", ensure(icon.len() <= ICON_BYTES, "an icon has at most 16 KiB"));
    found.add(
        "imprint.icon",
        ensure(imprint.icon.is_none_or(is_svg), "an icon is an SVG image that begins with `<svg`"),
    );
}

fn check_upstream(manifest: &Manifest<'_>, upstream: &Upstream<'_>, index: usize, found: &mut Violations) {
    let part = || format!("upstream `{}`", shorten(upstream.name));
    let earlier = manifest.upstreams.iter().take(index).map(|known| known.name);
    let base_url = manifest.upstream_additions.example_url(upstream.base_url, Some(upstream.name));
    found.add(format!("{}, base-url", part()), base_url.and_then(|url| address::base_url(&url, earlier)));
    for host in &upstream.link_hosts {
        found.add(format!("{}, link host `{}`", part(), shorten(host)), address::link_host(host));
    }
    found.add(part(), ensure(upstream.concurrency != Some(0), "the concurrency of a pacing is at least 1"));
    let has_field = auth::form_field(&manifest.auth).is_some();
    found.add(
        format!("{}, credential", part()),
        ensure(
            has_field || !upstream.credential_in_form,
            "its credential goes into a form field, so the auth scheme names the field (`form-field`)",
        ),
    );
}

fn check_setting(setting: &Setting<'_>) -> Result<(), Broken> {
    text(setting.documentation)?;
    ensure(setting.schema.len() <= SETTING_SCHEMA_BYTES, "the schema of a setting has at most 16 KiB")
}

fn check_operation(operation: &Operation<'_>, limits: &HashSet<&str>, found: &mut Violations) {
    let part = || format!("operation `{}`", shorten(operation.path));
    found.add(part(), text(operation.summary));
    found.add(part(), text(operation.description));
    found.add(part(), schema::size(operation.input_schema));
    found.add(part(), schema::size(operation.answer_schema.unwrap_or_default()));
    let example = operation.answer_example.unwrap_or_default();
    found.add(part(), ensure(example.len() <= ANSWER_EXAMPLE_BYTES, "the example of an answer has at most 16 KiB"));
    if let Some(limit) = operation.rate_limit.filter(|limit| !limits.contains(limit)) {
        found.add(part(), Err(format!("there is no rate limit `{}`", shorten(limit)).into()));
    }
    if let Some(pages) = &operation.pagination {
        // A link may be in a header, so that no pointer leads to it.
        let next = pages.next.filter(|next| pages.parameter.is_none() || *next != link::HEADER);
        for text in [Some(pages.items), next, Some(pages.input)].into_iter().flatten() {
            found.add(format!("{}, pagination `{}`", part(), shorten(text)), pointer::check(text));
        }
    }
}

fn check_input(operation: &Operation<'_>, input: &Value, part: &str, found: &mut Violations) {
    let properties = input.get("properties").and_then(Value::as_object);
    let named = |name: &str| properties.is_some_and(|properties| properties.contains_key(name));
    for member in name::ENVELOPE_MEMBERS.into_iter().filter(|member| named(member) && operation.envelope) {
        found.add(part, name::field(member, true));
    }
    found.add(
        format!("{part}, background"),
        ensure(
            named("waiting") || !operation.background,
            "the schema of an operation that may run in the background declares `waiting`, a boolean",
        ),
    );
    if let Some(example) = operation.example {
        found.add(part, schema::example(input, example));
    }
    if let Some(pages) = &operation.pagination
        && !(pages.input.len() > 1 && schema::names(input, pages.input))
    {
        let part = format!("{part}, pagination `{}`", shorten(pages.input));
        found.add(part, Err("the input schema does not name this member".into()));
    }
}

/// Returns `true` if a text begins with the element `svg`, behind an XML declaration, comments and
/// a document type.
fn is_svg(text: &str) -> bool {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    for (begin, end) in [("<?xml", "?>"), ("<!--", "-->"), ("<!DOCTYPE", ">"), ("<!--", "-->")] {
        if rest.starts_with(begin) {
            rest = rest.split_once(end).map(|(_, after)| after.trim_start()).unwrap_or_default();
        }
    }
    rest.strip_prefix("<svg")
        .is_some_and(|after| after.starts_with(|next: char| next.is_whitespace() || matches!(next, '>' | '/')))
}

fn is_json(what: &str, text: &str) -> Result<(), Broken> {
    match serde_json::from_str::<Value>(text) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("the {what} is not JSON: {error}").into()),
    }
}

fn text(text: &str) -> Result<(), Broken> {
    ensure(text.len() <= TEXT_BYTES, "a text has at most 64 KiB")
}

/// Checks number, form and uniqueness of names, and returns them as a set.
pub(super) fn distinct<'a>(
    what: &str,
    names: impl Iterator<Item = &'a str>,
    most: usize,
    form: fn(&str) -> Result<(), Broken>,
    found: &mut Violations,
) -> HashSet<&'a str> {
    let mut seen = HashSet::new();
    let mut count = 0;
    for name in names {
        count += 1;
        let part = || format!("{what} `{}`", shorten(name));
        found.add(part(), form(name));
        found.add(part(), ensure(seen.insert(name), "the name is there twice"));
    }
    if count > most {
        let plural = if what.ends_with('x') { "es" } else { "s" };
        found.add(format!("{what}{plural}"), Err(format!("at most {most}; there are {count}").into()));
    }
    seen
}
