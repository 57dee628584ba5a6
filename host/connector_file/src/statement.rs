//! The whole file: its statements, and the connector that they make.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use contract::{
    Additions, AuthAdditions, AuthScheme, DeclaredRow, Imprint, LastItem, Manifest, Operation, Setting, Upstream,
    UpstreamAdditions,
};
use rows::Lists;
use serde_json::{Map, Value};

use crate::field::documentation;
use crate::inbox::inbox;
use crate::node::{Mistakes, Table, TableEntry};
use crate::operation::{self, Context};
use crate::places::Places;
use crate::service::{address_part, header, rate_limit, settings, upstream};
use crate::trigger::trigger;
use crate::{Connector, auth};

/// The sections with a limit on the number of their entries, with their names in the rules.
const SECTIONS: [(&str, &str); 7] = [
    ("upstreams", "upstreams"),
    ("parts of the address", "address"),
    ("rate limits", "rate_limits"),
    ("settings", "settings"),
    ("inboxes", "inboxes"),
    ("triggers", "triggers"),
    ("operations", "operations"),
];

/// The connector of a file. A part with a mistake is left out.
pub(crate) fn connector(mut table: Table<'_>, folder: &Path, mistakes: &mut Mistakes) -> Option<Connector> {
    let mut places = Places::default();
    for (part, section) in SECTIONS {
        places.note(part, &table, section);
    }
    let identifier = required_text(&mut table, "identifier", &mut places, mistakes);
    let version = required_text(&mut table, "version", &mut places, mistakes);
    let title = required_text(&mut table, "title", &mut places, mistakes);
    let description = text(&mut table, "doc", &mut places, mistakes).map(|text| documentation(&text));
    let imprint = imprint(&mut table, folder, &mut places, mistakes);
    let answers = answers(&mut table, folder, mistakes);
    let lists = table.take("lists").and_then(|entry| lists(entry, mistakes));
    let (scheme, auth_additions) = authentication(&mut table, &mut places, mistakes);
    let has_account = !matches!(scheme, None | Some(AuthScheme::None));
    let upstreams = upstreams(&mut table, has_account, &mut places, mistakes);
    let address = table.inner("address", "the section `[address]`", mistakes);
    let parts = address.into_iter().filter_map(|entry| address_part(entry, &mut places, mistakes)).collect();
    let limits = table.inner("rate_limits", "the section `[rate_limits]`", mistakes);
    let rate_limits: Vec<_> = limits.into_iter().filter_map(|entry| rate_limit(entry, &mut places, mistakes)).collect();
    let declared = table.inner("settings", "the section `[settings]`", mistakes);
    let settings = settings(declared, &mut places, mistakes);
    let schemas = schemas(&settings);
    let headers = table.inner("headers", "the section `[headers]` with `X-Name = \"value\"`", mistakes);
    let context = Context {
        upstreams: upstreams.iter().map(|(upstream, _)| upstream.name.as_str()).collect(),
        headers: headers.into_iter().filter_map(|entry| header(entry, &schemas, &mut places, mistakes)).collect(),
        settings: schemas,
        rate_limits: rate_limits.iter().map(|limit| limit.name.as_str()).collect(),
        lists: lists.unwrap_or(Lists::Joined(Cow::Borrowed(","))),
        answers: answers.as_ref().map(|(_, answers)| answers),
    };
    let inboxes = table.inner("inboxes", "inboxes: a section `[inboxes.NAME]` for each", mistakes);
    let inboxes = inboxes.into_iter().filter_map(|entry| inbox(entry, &mut places, mistakes)).collect();
    let triggers = table.inner("triggers", "types of events: a section `[triggers.NAME]` for each", mistakes);
    let triggers = triggers.into_iter().filter_map(|entry| trigger(entry, &mut places, mistakes)).collect();
    let declared = table.inner("operations", "operations: a section `[operations.NAME]` for each", mistakes);
    table.end("statement", mistakes);
    if let Some((at, answers)) = &answers {
        check_answers(answers, *at, &declared, mistakes);
    }
    let (operations, rows, pages) = operations(declared, &context, &mut places, mistakes);
    let sites = upstreams.iter().filter_map(|(upstream, site)| Some((upstream.name.clone(), site.clone()?)));
    let additions = Additions {
        auth: auth_additions,
        upstreams: UpstreamAdditions { parts, sites: sites.collect() },
        rows,
        pages,
        inboxes,
        triggers,
    };
    let manifest = Manifest {
        identifier: identifier?,
        version: version?,
        title: title?,
        description: description.unwrap_or_default(),
        imprint,
        auth: scheme?,
        upstreams: upstreams.into_iter().map(|(upstream, _)| upstream).collect(),
        rate_limits,
        settings,
        operations,
    };
    // A part with a mistake is left out, so this would report its absence too.
    if mistakes.count() == 0 {
        check_contract(&manifest, &additions, &places, mistakes);
    }
    Some(Connector { manifest, additions })
}

/// A text of the head that every connector has.
fn required_text(
    table: &mut Table<'_>,
    name: &'static str,
    places: &mut Places,
    mistakes: &mut Mistakes,
) -> Option<String> {
    let value = text(table, name, places, mistakes);
    if value.is_none() {
        mistakes.at(0, format!("a connector has `{name}`: write `{name} = \"…\"` before the first section"));
    }
    value
}

/// A text of the head. Its line is kept, for mistakes in this part of the manifest.
fn text(table: &mut Table<'_>, name: &'static str, places: &mut Places, mistakes: &mut Mistakes) -> Option<String> {
    let entry = table.take(name)?;
    let part = if name == "doc" { "description" } else { name };
    places.add(part.to_owned(), entry.at);
    entry.node.text(&format!("a text: `{name} = \"…\"`"), mistakes).map(str::to_owned)
}

fn imprint(table: &mut Table<'_>, folder: &Path, places: &mut Places, mistakes: &mut Mistakes) -> Imprint {
    let mut text = |name: &'static str, mistakes: &mut Mistakes| {
        let entry = table.take(name)?;
        places.add(format!("imprint.{name}"), entry.at);
        let text = entry.node.text(&format!("a text: `{name} = \"…\"`"), mistakes)?;
        Some((entry.at, text.to_owned()))
    };
    let license = text("license", mistakes).map(|(_, text)| text).unwrap_or_default();
    let homepage = text("homepage", mistakes).map(|(_, text)| text);
    let author = text("author", mistakes).map(|(_, text)| text);
    let icon = text("icon", mistakes).and_then(|(at, file)| match read(folder, &file) {
        Ok(icon) => Some(icon),
        Err(error) => {
            mistakes.at(at, format!("the icon cannot be read; its path is relative to this file: {error}"));
            None
        }
    });
    Imprint { license, homepage, author, icon }
}

/// `answer_examples = "answers.json"`: an answer for each operation.
fn answers(table: &mut Table<'_>, folder: &Path, mistakes: &mut Mistakes) -> Option<(usize, Map<String, Value>)> {
    let entry = table.take("answer_examples")?;
    let file = entry.node.text("the path of a JSON file", mistakes)?;
    let answers = match read(folder, file) {
        Ok(text) => {
            serde_json::from_str(&text).map_err(|error| format!("the file is not a JSON object of answers: {error}"))
        }
        Err(error) => Err(format!("the file cannot be read; its path is relative to this file: {error}")),
    };
    match answers {
        Ok(answers) => Some((entry.at, answers)),
        Err(reason) => {
            mistakes.at(entry.at, reason);
            None
        }
    }
}

/// `lists = "repeated"` or `lists = { joined = "," }`
fn lists(entry: TableEntry<'_>, mistakes: &mut Mistakes) -> Option<Lists> {
    const FORM: &str = "`lists = \"repeated\"` or `lists = { joined = \",\" }`";
    if entry.node.value.as_str() == Some("repeated") {
        return Some(Lists::Repeated);
    }
    let mut table = entry.node.table(FORM, mistakes)?;
    let separator = table.text("joined", mistakes);
    table.end("form", mistakes);
    separator.map(|separator| Lists::Joined(Cow::Owned(separator)))
}

/// How users authenticate, and the further ways in `[auth_additions]`.
fn authentication(
    table: &mut Table<'_>,
    places: &mut Places,
    mistakes: &mut Mistakes,
) -> (Option<AuthScheme>, AuthAdditions) {
    let auth = table.take("auth");
    if auth.is_none() {
        mistakes.at(0, "say how users authenticate: `auth = \"none\"` if they need no account");
    }
    for part in ["auth", "oauth2", "api-key", "scope"] {
        places.add(part.to_owned(), auth.map_or(0, |entry| entry.at));
    }
    let scheme = auth.and_then(|entry| auth::scheme(entry, places, mistakes));
    let additions = table.take("auth_additions").and_then(|entry| {
        places.add("auth-additions".to_owned(), entry.at);
        auth::additions(entry, places, mistakes)
    });
    (scheme, additions.unwrap_or_default())
}

/// The upstreams, with their sites. If users have an account, requests to the first upstream carry
/// the user's credential by default.
fn upstreams(
    table: &mut Table<'_>,
    has_account: bool,
    places: &mut Places,
    mistakes: &mut Mistakes,
) -> Vec<(Upstream, Option<String>)> {
    let entries = table.inner("upstreams", "the section `[upstreams]` with `name = \"https://…\"`", mistakes);
    entries
        .into_iter()
        .enumerate()
        .filter_map(|(index, entry)| upstream(entry, index == 0 && has_account, places, mistakes))
        .collect()
}

/// The settings by their names, with the schemas of their values.
fn schemas(settings: &[Setting]) -> Vec<(&str, Value)> {
    // The schemas were just made.
    let schema = |setting: &Setting| serde_json::from_str(&setting.schema).unwrap_or_default();
    settings.iter().map(|setting| (setting.name.as_str(), schema(setting))).collect()
}

/// Refuses answers of operations that are not declared.
fn check_answers(answers: &Map<String, Value>, at: usize, declared: &[TableEntry<'_>], mistakes: &mut Mistakes) {
    for name in answers.keys().filter(|name| !declared.iter().any(|entry| entry.name == name.as_str())) {
        mistakes.at(at, format!("the file has an answer of `{name}`, but there is no such operation"));
    }
}

/// The operations, their requests, and the last items that lead to next pages.
fn operations(
    declared: Vec<TableEntry<'_>>,
    context: &Context<'_>,
    places: &mut Places,
    mistakes: &mut Mistakes,
) -> (Vec<Operation>, Vec<DeclaredRow>, Vec<LastItem>) {
    if declared.is_empty() {
        mistakes.at(0, "a connector has at least one operation");
    }
    let (mut operations, mut rows, mut pages) = (Vec::new(), Vec::new(), Vec::new());
    for entry in declared {
        if let Some(declared) = operation::operation(entry, context, places, mistakes) {
            operations.push(declared.operation);
            rows.push(declared.row);
            pages.extend(declared.last_item);
        }
    }
    (operations, rows, pages)
}

/// Refuses what breaks a rule of the contract.
fn check_contract(manifest: &Manifest, additions: &Additions, places: &Places, mistakes: &mut Mistakes) {
    for violation in contract::check(manifest, additions) {
        let (at, message) = places.of(&violation);
        mistakes.at(at, message);
    }
}

/// A file that the author names.
fn read(folder: &Path, file: &str) -> io::Result<String> {
    io::read_to_string(files::open_regular(&folder.join(file))?)
}
