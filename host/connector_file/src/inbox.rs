//! How the service notifies the gateway: `[inboxes.NAME]`. A file has no functions, and so nothing
//! that could tell the service an address. So each inbox has the scope `application`.

use contract::trigger_types::{
    AccountKey, Check, CheckEncoding, CheckHash, CheckPart, CheckSecret, Claim, EchoMember, Handshake, HmacCheck,
    HmacQuery, Inbox, InboxScope, JwtAudience, JwtCheck, Lifecycle, Place, Visibility,
};

use crate::node::{Mistakes, Node, Table, TableEntry};
use crate::places::Places;
use crate::section::Section;

const CHECK: &str = "a check: `{ hmac = { signature = … } }`, `{ token = … }` or `{ jwt = { place = … } }`";
const HANDSHAKE: &str = "a handshake: `{ echo_member = { when = [\"/type\", \"…\"], member = \"/challenge\" } }` or \
                         `{ hmac_query = { parameter = \"…\", member = \"…\" } }`";

/// The largest body unless the file says otherwise, in bytes.
const MAX_BODY: u32 = 1 << 20;

pub(crate) fn inbox(entry: TableEntry<'_>, places: &mut Places, mistakes: &mut Mistakes) -> Option<Inbox> {
    let mut section = Section::new("inbox", entry, places, mistakes)?;
    let inbox = Inbox {
        name: entry.name.to_owned(),
        scope: InboxScope::Application,
        checks: section.items("checks", check),
        handshakes: section.items("handshakes", handshake),
        decode: section.text("decode"),
        items: section.text("items"),
        id: section.items("id", place),
        kind: section.items("kind", place),
        data: section.text("data").unwrap_or_default(),
        time: section.read("time", place),
        accounts: section.items("accounts", account_key),
        visibility: section.read("visibility", visibility),
        ignored: section.texts("ignored"),
        lifecycle: section.read("lifecycle", lifecycle).unwrap_or_default(),
        max_body: section.number("max_body").unwrap_or(MAX_BODY),
    };
    section.end();
    Some(inbox)
}

/// `{ header = "X-Id" }`, or a text for a place that needs no name.
pub(crate) fn place(node: Node<'_>, mistakes: &mut Mistakes) -> Option<Place> {
    const FORM: &str = "a place: `{ header = \"X-Id\" }`, `{ header_field = [\"X-Signature\", \"v1\"] }`, \
                        `{ pointer = \"/id\" }`, `{ query = \"token\" }` or `\"body_hash\"`";
    if node.value.as_str() == Some("body_hash") {
        return Some(Place::BodyHash);
    }
    let (name, value) = node.case(FORM, mistakes)?;
    let mut text = || value.text(FORM, mistakes).map(str::to_owned);
    match name {
        "header" => text().map(Place::Header),
        "pointer" => text().map(Place::Pointer),
        "query" => text().map(Place::Query),
        "header_field" => pair(value, FORM, mistakes).map(Place::HeaderField),
        _ => node.expected(FORM, mistakes),
    }
}

fn pair(node: Node<'_>, form: &str, mistakes: &mut Mistakes) -> Option<(String, String)> {
    match <[String; 2]>::try_from(node.texts(form, mistakes)?) {
        Ok([one, other]) => Some((one, other)),
        Err(_) => node.expected(form, mistakes),
    }
}

fn check(node: Node<'_>, mistakes: &mut Mistakes) -> Option<Check> {
    let (name, value) = node.case(CHECK, mistakes)?;
    match name {
        "hmac" => hmac(value, mistakes).map(Check::Hmac),
        "token" => place(value, mistakes).map(Check::Token),
        "jwt" => jwt(value, mistakes).map(Check::Jwt),
        _ => node.expected(CHECK, mistakes),
    }
}

fn hmac(node: Node<'_>, mistakes: &mut Mistakes) -> Option<HmacCheck> {
    let mut table = node.table(CHECK, mistakes)?;
    let Keyed { hash, secret, encoding } = keyed(&mut table, CheckEncoding::Hex, mistakes);
    let text = match table.take("text") {
        Some(entry) => {
            let parts = entry.node.items("the parts of the text: `text = [\"timestamp\", \"body\"]`", mistakes)?;
            parts.into_iter().filter_map(|part| check_part(part, mistakes)).collect()
        }
        None => vec![CheckPart::Body],
    };
    let check = HmacCheck {
        hash,
        secret,
        encoding,
        text,
        separator: table.text("separator", mistakes).unwrap_or_default(),
        signature: required(&mut table, "signature", node, mistakes)?,
        prefix: table.text("prefix", mistakes).unwrap_or_default(),
        list_separator: table.text("list_separator", mistakes),
        timestamp: table.take("timestamp").and_then(|entry| place(entry.node, mistakes)),
        tolerance_seconds: table.number("tolerance_seconds", mistakes).unwrap_or(300),
    };
    table.end("key", mistakes);
    Some(check)
}

/// A place that has to be there.
fn required(table: &mut Table<'_>, key: &'static str, of: Node<'_>, mistakes: &mut Mistakes) -> Option<Place> {
    match table.take(key) {
        Some(entry) => place(entry.node, mistakes),
        None => of.expected(CHECK, mistakes),
    }
}

fn check_part(node: Node<'_>, mistakes: &mut Mistakes) -> Option<CheckPart> {
    const FORM: &str = "`\"body\"`, `\"timestamp\"`, `{ header = \"…\" }` or `{ literal = \"…\" }`";
    match node.value.as_str() {
        Some("body") => return Some(CheckPart::Body),
        Some("timestamp") => return Some(CheckPart::Timestamp),
        _ => {}
    }
    let (name, value) = node.case(FORM, mistakes)?;
    let text = value.text(FORM, mistakes)?.to_owned();
    match name {
        "header" => Some(CheckPart::Header(text)),
        "literal" => Some(CheckPart::Literal(text)),
        _ => node.expected(FORM, mistakes),
    }
}

/// The members that every HMAC has.
struct Keyed {
    hash: CheckHash,
    secret: CheckSecret,
    encoding: CheckEncoding,
}

fn keyed(table: &mut Table<'_>, by_default: CheckEncoding, mistakes: &mut Mistakes) -> Keyed {
    const HASHES: [(&str, CheckHash); 3] =
        [("sha1", CheckHash::Sha1), ("sha256", CheckHash::Sha256), ("sha512", CheckHash::Sha512)];
    const SECRETS: [(&str, CheckSecret); 2] = [("text", CheckSecret::Text), ("base64", CheckSecret::Base64)];
    const ENCODINGS: [(&str, CheckEncoding); 2] = [("hex", CheckEncoding::Hex), ("base64", CheckEncoding::Base64)];
    Keyed {
        hash: table.word("hash", &HASHES, mistakes).unwrap_or(CheckHash::Sha256),
        secret: table.word("secret", &SECRETS, mistakes).unwrap_or(CheckSecret::Text),
        encoding: table.word("encoding", &ENCODINGS, mistakes).unwrap_or(by_default),
    }
}

fn jwt(node: Node<'_>, mistakes: &mut Mistakes) -> Option<JwtCheck> {
    let mut table = node.table(CHECK, mistakes)?;
    let place = required(&mut table, "place", node, mistakes)?;
    let issuers = table.texts("issuers", mistakes).unwrap_or_default();
    let jwks_url = table.text("jwks_url", mistakes).unwrap_or_default();
    let audience = match table.take("audience") {
        Some(entry) => audience(entry.node, mistakes)?,
        None => JwtAudience::Address,
    };
    let claims = table.inner("claims", "claims: `claims = { email = \"…\" }`", mistakes);
    let claims = claims.into_iter().filter_map(|entry| Some((entry.name.to_owned(), claim(entry.node, mistakes)?)));
    let claims = claims.collect();
    table.end("key", mistakes);
    Some(JwtCheck { place, issuers, jwks_url, audience, claims })
}

fn audience(node: Node<'_>, mistakes: &mut Mistakes) -> Option<JwtAudience> {
    const FORM: &str = "`audience = \"address\"` or `audience = { setting = \"…\" }`";
    if node.value.as_str() == Some("address") {
        return Some(JwtAudience::Address);
    }
    match node.case(FORM, mistakes)? {
        ("setting", value) => value.text(FORM, mistakes).map(|name| JwtAudience::Setting(name.to_owned())),
        _ => node.expected(FORM, mistakes),
    }
}

fn claim(node: Node<'_>, mistakes: &mut Mistakes) -> Option<Claim> {
    const FORM: &str = "the text of the claim, or `{ setting = \"…\" }`";
    if let Some(text) = node.value.as_str() {
        return Some(Claim::Literal(text.to_owned()));
    }
    match node.case(FORM, mistakes)? {
        ("setting", value) => value.text(FORM, mistakes).map(|name| Claim::Setting(name.to_owned())),
        _ => node.expected(FORM, mistakes),
    }
}

fn handshake(node: Node<'_>, mistakes: &mut Mistakes) -> Option<Handshake> {
    let (name, value) = node.case(HANDSHAKE, mistakes)?;
    let mut table = value.table(HANDSHAKE, mistakes)?;
    let handshake = match name {
        "echo_member" => {
            let when = table.take("when").and_then(|entry| pair(entry.node, HANDSHAKE, mistakes));
            let member = table.text("member", mistakes);
            when.zip(member).map(|(when, member)| Handshake::EchoMember(EchoMember { when, member }))
        }
        "hmac_query" => {
            let Keyed { hash, secret, encoding } = keyed(&mut table, CheckEncoding::Base64, mistakes);
            let (parameter, member) = (table.text("parameter", mistakes), table.text("member", mistakes));
            let prefix = table.text("prefix", mistakes).unwrap_or_default();
            parameter.zip(member).map(|(parameter, member)| {
                Handshake::HmacQuery(HmacQuery { parameter, hash, secret, encoding, member, prefix })
            })
        }
        _ => return node.expected(HANDSHAKE, mistakes),
    };
    table.end("key", mistakes);
    handshake.or_else(|| node.expected(HANDSHAKE, mistakes))
}

fn account_key(node: Node<'_>, mistakes: &mut Mistakes) -> Option<AccountKey> {
    const FORM: &str = "a key such as `{ place = { pointer = \"/team_id\" }, account = \"/team/id\" }`";
    let mut table = node.table(FORM, mistakes)?;
    let place = table.take("place").and_then(|entry| place(entry.node, mistakes));
    let account = table.text("account", mistakes);
    table.end("key", mistakes);
    match place.zip(account) {
        Some((place, account)) => Some(AccountKey { place, account }),
        None => node.expected(FORM, mistakes),
    }
}

fn visibility(node: Node<'_>, mistakes: &mut Mistakes) -> Option<Visibility> {
    const FORM: &str = "`upstream`, `path`, `context`, `parameter`, `accounts` and `cursor`, which is a pointer and a \
                        parameter";
    let mut table = node.table(FORM, mistakes)?;
    let texts = ["upstream", "path", "context", "parameter", "accounts"].map(|key| table.text(key, mistakes));
    let cursor = table.take("cursor").and_then(|entry| pair(entry.node, FORM, mistakes));
    table.end("key", mistakes);
    match (texts, cursor) {
        ([Some(upstream), Some(path), Some(context), Some(parameter), Some(accounts)], Some(cursor)) => {
            Some(Visibility { upstream, path, context, parameter, accounts, cursor })
        }
        _ => node.expected(FORM, mistakes),
    }
}

/// Kinds about the subscription: `{ app_removed = "gone" }`
fn lifecycle(node: Node<'_>, mistakes: &mut Mistakes) -> Option<Vec<(String, Lifecycle)>> {
    const FORM: &str =
        "kinds with `reauthorize`, `recreate`, `read` or `gone`: `lifecycle = { app_removed = \"gone\" }`";
    let kinds = node.table(FORM, mistakes)?.named().into_iter();
    let kind = |entry: TableEntry<'_>| {
        let meaning = match entry.node.value.as_str() {
            Some("reauthorize") => Lifecycle::Reauthorize,
            Some("recreate") => Lifecycle::Recreate,
            Some("read") => Lifecycle::Read,
            Some("gone") => Lifecycle::Gone,
            _ => return entry.node.expected(FORM, mistakes),
        };
        Some((entry.name.to_owned(), meaning))
    };
    Some(kinds.filter_map(kind).collect())
}
