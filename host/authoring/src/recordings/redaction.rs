//! Takes personal data and secrets out of a recording.
//!
//! 1. The value of a member, query parameter or form field is taken out if its name says that it is
//!    a person's data or a secret ([`is_personal`]), or if the author names it. Everything below
//!    such a member is taken out.
//! 2. Every e-mail address in any text is taken out, also percent-encoded ones. Addresses below the
//!    reserved names `example.com`, `example.org`, `example.net`, `.example`, `.test` and
//!    `.invalid` stay.
//!
//! A value is replaced by a stand-in. The same value gets the same stand-in wherever it is a whole
//! value: in the input, in requests and responses, and in segments and parameters of paths. So an
//! operation that is called with the stand-ins sends the recorded requests.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;

use super::json::member;
use super::{Body, Json, Part, Recording, Request};

/// Ends of names whose values are a person's data. Case, `_`, `-` and a plural `s` of a name are
/// ignored.
const PERSONAL: [&str; 21] = [
    "address1",
    "address2",
    "avatarurl",
    "birthdate",
    "birthday",
    "dateofbirth",
    "displayname",
    "email",
    "emailaddress",
    "familyname",
    "firstname",
    "fullname",
    "givenname",
    "lastname",
    "mobile",
    "nickname",
    "phone",
    "phonenumber",
    "realname",
    "streetaddress",
    "surname",
];

/// Whole names whose values are a person's data or a secret.
const WHOLE: [&str; 14] = [
    "accesstoken",
    "apikey",
    "authorization",
    "clientsecret",
    "fax",
    "idtoken",
    "login",
    "mail",
    "password",
    "privatekey",
    "refreshtoken",
    "secret",
    "username",
    "userprincipalname",
];

/// The rule for one recording, and the stand-ins so far.
pub(super) struct Redaction {
    named: Vec<String>,
    values: HashMap<String, String>,
    numbers: HashMap<String, String>,
    addresses: HashMap<String, String>,
    /// The text of the recording. A stand-in must not occur in it.
    text: String,
    count: usize,
}

/// Returns `true` if a name says that its value is a person's data or a secret.
fn is_personal(name: &str) -> bool {
    let name = plain(name);
    PERSONAL.iter().any(|end| name.ends_with(end)) || WHOLE.contains(&name.as_str())
}

fn plain(name: &str) -> String {
    let mut name = name.to_lowercase().replace(['_', '-'], "");
    if name.ends_with('s') && !name.ends_with("ss") {
        name.pop();
    }
    name
}

impl Redaction {
    /// A rule with further names.
    pub(super) fn new(named: &[String]) -> Self {
        Self {
            named: named.iter().map(|name| plain(name)).collect(),
            values: HashMap::new(),
            numbers: HashMap::new(),
            addresses: HashMap::new(),
            text: String::new(),
            count: 0,
        }
    }

    /// Takes out what the rule names.
    pub(super) fn apply(&mut self, recording: &mut Recording) {
        self.text = recording.write().unwrap_or_default();
        self.collect(&recording.input);
        for (name, value) in &recording.settings {
            self.collect_member(name, value, false);
        }
        for exchange in &recording.exchanges {
            self.collect_request(&exchange.request);
            if let Some(Body::Json(body)) = &exchange.response.body {
                self.collect(body);
            }
        }
        for end in recording.answer.iter().chain(&recording.problem) {
            self.collect(end);
        }
        self.replace(&mut recording.input);
        recording.settings.iter_mut().for_each(|(_, value)| self.replace(value));
        for exchange in &mut recording.exchanges {
            let request = &mut exchange.request;
            for target in request.path.iter_mut().chain(&mut request.link) {
                *target = self.target(target);
            }
            let headers = request.headers.iter_mut().chain(&mut exchange.response.headers);
            headers.for_each(|(name, value)| {
                let has_addresses = matches!(name.as_str(), "link" | "location");
                *value = if has_addresses { self.target(value) } else { self.text(value) };
            });
            for body in request.body.iter_mut().chain(&mut exchange.response.body) {
                match body {
                    Body::Json(json) => self.replace(json),
                    Body::Form(fields) => fields.iter_mut().for_each(|(_, value)| *value = self.value(value)),
                    Body::Multipart(parts) => parts.iter_mut().for_each(|part| self.replace_part(part)),
                    Body::Text(text) => *text = self.text(text),
                    Body::Base64(_) => {}
                }
            }
        }
        for end in recording.answer.iter_mut().chain(&mut recording.problem) {
            self.replace(end);
        }
    }

    fn names(&self, name: &str) -> bool {
        is_personal(name) || self.named.contains(&plain(name))
    }

    fn collect(&mut self, json: &Json) {
        match json {
            Json::Plain(_) | Json::Text(_) => {}
            Json::Array(items) => items.iter().for_each(|item| self.collect(item)),
            Json::Object(members) => {
                // A `name` next to an address is a person's name.
                let has_address = ["email", "emailAddress", "email_address", "mail"];
                let is_person = has_address.iter().any(|name| member(members, name).is_some());
                for (name, value) in members {
                    self.collect_member(name, value, is_person && name == "name");
                }
            }
        }
    }

    fn collect_member(&mut self, name: &str, value: &Json, is_name: bool) {
        if is_name || self.names(name) { self.collect_all(value) } else { self.collect(value) }
    }

    /// Collects every text and number of a value.
    fn collect_all(&mut self, json: &Json) {
        match json {
            Json::Text(text) => self.collect_value(text),
            Json::Plain(text) if text.bytes().any(|byte| byte.is_ascii_digit()) => {
                if !self.numbers.contains_key(text) {
                    let number = self.free(|count| (1_000_000 + count).to_string());
                    self.numbers.insert(text.clone(), number);
                }
            }
            Json::Plain(_) => {}
            Json::Array(items) => items.iter().for_each(|item| self.collect_all(item)),
            Json::Object(members) => members.iter().for_each(|(_, value)| self.collect_all(value)),
        }
    }

    fn collect_value(&mut self, text: &str) {
        // Addresses are found everywhere. An empty text has no data.
        if text.is_empty() || self.values.contains_key(text) || self.text(text) != text {
            return;
        }
        if !is_reserved_address(text) {
            let stand_in = self.free(|count| format!("redacted-{count}"));
            self.values.insert(text.to_owned(), stand_in);
        }
    }

    fn collect_request(&mut self, request: &Request) {
        for target in request.path.iter().chain(&request.link) {
            let query = target.split_once('?').map(|(_, query)| query).unwrap_or_default();
            for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
                if self.names(&name) {
                    self.collect_value(&value);
                }
            }
        }
        match &request.body {
            Some(Body::Json(body)) => self.collect(body),
            Some(Body::Form(fields)) => {
                for (name, value) in fields {
                    if self.names(name) {
                        self.collect_value(value);
                    }
                }
            }
            Some(Body::Multipart(parts)) => {
                for part in parts {
                    if let Some(text) = part.text.as_ref().filter(|_| self.names(&part.name)) {
                        self.collect_value(text);
                    }
                }
            }
            Some(Body::Text(_) | Body::Base64(_)) | None => {}
        }
    }

    /// A file stays as it is, like other content in base64.
    fn replace_part(&mut self, part: &mut Part) {
        for text in part.file_name.iter_mut().chain(&mut part.text) {
            *text = self.value(text);
        }
    }

    /// A stand-in that the recording does not have.
    fn free(&mut self, stand_in: impl Fn(usize) -> String) -> String {
        loop {
            self.count += 1;
            let stand_in = stand_in(self.count);
            if !self.text.contains(&stand_in) {
                return stand_in;
            }
        }
    }

    fn replace(&mut self, json: &mut Json) {
        match json {
            Json::Plain(text) => {
                if let Some(number) = self.numbers.get(text) {
                    *text = number.clone();
                }
            }
            Json::Text(text) => *text = self.value(text),
            Json::Array(items) => items.iter_mut().for_each(|item| self.replace(item)),
            Json::Object(members) => {
                for (name, value) in members {
                    *name = self.text(name);
                    self.replace(value);
                }
            }
        }
    }

    /// A whole value. It may be a value that is taken out, or an address.
    fn value(&mut self, text: &str) -> String {
        match self.values.get(text) {
            Some(stand_in) => stand_in.clone(),
            // URLs, which requests may follow.
            None if ["https://", "http://", "/"].iter().any(|start| text.starts_with(start)) => self.target(text),
            None => self.text(text),
        }
    }

    /// A path or URL. Its segments and the values of its query are whole values.
    fn target(&mut self, target: &str) -> String {
        let mut out = String::new();
        let mut rest = target;
        while !rest.is_empty() {
            let end = rest.find(['/', '?', '&', '=', '#']).unwrap_or(rest.len());
            let (part, behind) = rest.split_at(end);
            let decoded = percent_decode_str(&part.replace('+', " ")).decode_utf8_lossy().into_owned();
            match self.values.get(&decoded).or_else(|| self.numbers.get(part)) {
                Some(stand_in) => out.push_str(stand_in),
                None => out.push_str(&self.text(part)),
            }
            let separator = behind.chars().next();
            out.extend(separator);
            rest = behind.get(separator.map_or(0, char::len_utf8)..).unwrap_or_default();
        }
        out
    }

    /// A text without e-mail addresses.
    fn text(&mut self, text: &str) -> String {
        if !text.contains('@') && !text.contains("%40") {
            return text.to_owned();
        }
        let units = units(text);
        let mut out = String::new();
        let mut done = 0;
        let mut at = 0;
        while let Some(sign) = (at..units.len()).find(|index| units.get(*index).is_some_and(|unit| unit.0 == '@')) {
            at = sign + 1;
            let before = units.get(done..sign).unwrap_or_default();
            let local = before.iter().rev().take_while(|unit| is_local(unit.0)).count();
            let behind = units.get(at..).unwrap_or_default();
            let domain = domain_length(behind);
            if local == 0 || domain == 0 {
                continue;
            }
            let begin = sign - local;
            let decoded = |units: &[(char, &str)]| units.iter().map(|unit| unit.0).collect::<String>().to_lowercase();
            let address = decoded(units.get(begin..at + domain).unwrap_or_default());
            out.extend(units.get(done..begin).unwrap_or_default().iter().map(|unit| unit.1));
            if is_reserved_address(&address) {
                out.extend(units.get(begin..at + domain).unwrap_or_default().iter().map(|unit| unit.1));
            } else {
                let spelled = units.get(sign).map_or("@", |unit| unit.1);
                out.push_str(&self.person(address).replace('@', spelled));
            }
            done = at + domain;
            at = done;
        }
        out.extend(units.get(done..).unwrap_or_default().iter().map(|unit| unit.1));
        out
    }

    /// The stand-in of an address.
    fn person(&mut self, address: String) -> String {
        if let Some(known) = self.addresses.get(&address) {
            return known.clone();
        }
        let stand_in = self.free(|count| format!("person-{count}@example.com"));
        self.addresses.insert(address, stand_in.clone());
        stand_in
    }
}

/// The characters of a text with their spellings, which may be percent-encoded.
fn units(text: &str) -> Vec<(char, &str)> {
    let mut units = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        // A character has at most four bytes, each in three characters.
        let encoded = (1..=4).find_map(|bytes| {
            let spelling = rest.get(..3 * bytes).filter(|spelling| is_encoded(spelling))?;
            let decoded = percent_decode_str(spelling).decode_utf8().ok()?;
            Some((decoded.chars().next()?, spelling))
        });
        let unit = encoded.unwrap_or((first, rest.get(..first.len_utf8()).unwrap_or_default()));
        rest = rest.get(unit.1.len()..).unwrap_or_default();
        units.push(unit);
    }
    units
}

fn is_encoded(spelling: &str) -> bool {
    spelling
        .as_bytes()
        .chunks(3)
        .all(|byte| matches!(byte, [b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit()))
}

fn is_local(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '.' | '_' | '-' | '+')
}

/// The length of the domain at the beginning, in units. 0 if it has no dot.
fn domain_length(units: &[(char, &str)]) -> usize {
    let mut length = units.iter().take_while(|unit| unit.0.is_alphanumeric() || matches!(unit.0, '.' | '-')).count();
    let is_mark = |index: usize| units.get(index).is_some_and(|unit| matches!(unit.0, '.' | '-'));
    while length > 0 && is_mark(length - 1) {
        length -= 1;
    }
    let has_dot = units.iter().take(length).any(|unit| unit.0 == '.');
    if has_dot && !is_mark(0) { length } else { 0 }
}

/// Returns `true` for an address that no one can have (RFC 2606, RFC 6761).
fn is_reserved_address(text: &str) -> bool {
    let Some((_, domain)) = text.rsplit_once('@') else { return false };
    let domain = domain.to_lowercase();
    let is_below = |name: &str| domain == name || domain.ends_with(&format!(".{name}"));
    ["example.com", "example.org", "example.net", "example", "test", "invalid"].into_iter().any(is_below)
}

#[cfg(test)]
#[path = "redaction_tests.rs"]
mod tests;
