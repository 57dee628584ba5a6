//! Recordings of notifications: the requests of a service to an inbox, and the events that they
//! carry.
//!
//! The gateway's own code verifies and reads them. A file with `push` is such a recording:
//! `connectors/docs/testing.md` describes its members.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use connector_gateway::Connector;
use contract::Inbox;
use contract::trigger_types::Check;
use hooks::{Context, Item, Items, KeySet, Meaning, Notification};
use hyper::Method;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::module_file::FileError;

/// The version of the format. A file of another version is refused.
const FORMAT: u32 = 1;

/// Number of differences that are listed.
const SHOWN: usize = 5;

/// Number of events that are shown to an author who changes the connector.
const SHOWN_EVENTS: usize = 20;

/// Characters of an event that are shown to an author who changes the connector.
const SHOWN_CHARACTERS: usize = 400;

/// A recording of a notification.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pushed {
    format: u32,
    /// The inbox that it is for.
    inbox: String,
    push: Push,
    /// The secret of the inbox. Absent if no check needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
    /// Seconds since 1970 at which it arrives. If it is absent, it arrives now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<u64>,
    /// The address of the inbox, for which a JSON Web Token may be.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    url: String,
    /// The keys of the issuer of a JSON Web Token (JWKS).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keys: Option<Value>,
    /// Settings of the connector that a JSON Web Token is compared with.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    settings: BTreeMap<String, String>,
    events: Vec<PushedEvent>,
}

/// The request of the service.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Push {
    /// Without `?`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    query: String,
    headers: Vec<(String, String)>,
    /// The text as it was sent, because a signature is over its bytes.
    body: String,
}

/// An event that a notification carries or announces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PushedEvent {
    kind: String,
    /// The types of events that have this kind, whatever their conditions say.
    triggers: Vec<String>,
    data: Value,
}

/// Why a recording cannot be replayed.
#[derive(Debug, Error)]
pub enum PushedError {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file has another form.
    #[error("`{file}` is no recording of a notification: {reason}")]
    Unreadable {
        /// The file.
        file: String,
        /// The mistake in it.
        reason: String,
    },
    /// The recording names an inbox that the connector does not declare.
    #[error("the connector has no inbox `{0}`; `connectors check` lists its inboxes")]
    NoInbox(String),
    /// A check of the inbox does not hold.
    #[error("the notification is not verified: {0}")]
    Rejected(hooks::Rejection),
    /// The inbox declares another form of the body.
    #[error("the notification is not understood: {0}")]
    NotUnderstood(hooks::NotUnderstood),
}

impl Pushed {
    /// Reads the file. `None` if it is a recording of a call.
    ///
    /// # Errors
    /// `File` or `Unreadable`.
    pub(crate) fn read(file: &Path) -> Result<Option<Self>, PushedError> {
        let text = fs::read(file).map_err(|source| FileError { file: file.to_owned(), source })?;
        Self::parse(&text, file)
    }

    /// As [`Pushed::read`], with the text of the file.
    ///
    /// # Errors
    /// `Unreadable`.
    pub(crate) fn parse(text: &[u8], file: &Path) -> Result<Option<Self>, PushedError> {
        let text = json_text::without_mark(text);
        // A file that is no JSON is reported as a recording of a call.
        let is_push = serde_json::from_slice::<Value>(text).is_ok_and(|value| value.get("push").is_some());
        if !is_push {
            return Ok(None);
        }
        let unreadable = |reason: String| PushedError::Unreadable { file: file.display().to_string(), reason };
        let pushed: Self = serde_json::from_slice(text).map_err(|error| unreadable(error.to_string()))?;
        match pushed.format {
            FORMAT => Ok(Some(pushed)),
            other => Err(unreadable(format!("its format is {other}, and this gateway reads {FORMAT}"))),
        }
    }

    /// The lines in which the events differ from the recorded events. With `update`, the events
    /// are written into the file.
    ///
    /// # Errors
    /// If the notification is not accepted, or the file cannot be written.
    pub(crate) fn replay(
        mut self,
        connector: &Connector,
        file: &Path,
        update: bool,
    ) -> Result<Vec<String>, PushedError> {
        let found = self.events_at(connector)?;
        if update && found != self.events {
            self.events = found;
            let write = || -> io::Result<()> { fs::write(file, serde_json::to_string_pretty(&self)? + "\n") };
            write().map_err(|source| FileError { file: file.to_owned(), source })?;
            return Ok(Vec::new());
        }
        Ok(differences(&self.events, &found, usize::MAX))
    }

    /// Lines with the events of the notification, and those in which they differ from the recorded
    /// events. Long lists and events are cut.
    ///
    /// # Errors
    /// If the notification is not accepted.
    pub(crate) fn shown(&self, connector: &Connector) -> Result<Vec<String>, PushedError> {
        Ok(shown(&self.events, &self.events_at(connector)?))
    }

    /// The events of the notification.
    fn events_at(&self, connector: &Connector) -> Result<Vec<PushedEvent>, PushedError> {
        let inbox = connector.inboxes().iter().find(|inbox| inbox.name == self.inbox);
        let inbox = inbox.ok_or_else(|| PushedError::NoInbox(self.inbox.clone()))?;
        let mut settings: BTreeMap<String, String> =
            connector.settings().iter().map(|(name, json)| (name.clone(), hooks::setting_text(json))).collect();
        settings.extend(self.settings.clone());
        let items = self.items_at(inbox, &settings)?;
        let events = items.iter().filter(|item| item.meaning == Meaning::Event).map(|item| {
            let of_inbox = connector.triggers().iter().filter(|trigger| trigger.inboxes.contains(&self.inbox));
            let triggers = of_inbox.filter(|trigger| hooks::kind_is(&trigger.kinds, &item.kind));
            PushedEvent {
                kind: item.kind.clone(),
                triggers: triggers.map(|trigger| trigger.name.clone()).collect(),
                data: serde_json::from_str(item.data()).unwrap_or_default(),
            }
        });
        Ok(events.collect())
    }

    /// The notifications of the request, verified.
    fn items_at(&self, inbox: &Inbox, settings: &BTreeMap<String, String>) -> Result<Vec<Item>, PushedError> {
        let headers = self.headers()?;
        let notification = Notification {
            method: &Method::POST,
            headers: &headers,
            query: &self.push.query,
            body: self.push.body.as_bytes(),
        };
        let secrets: Vec<SecretString> = self.secret.iter().map(|secret| SecretString::from(secret.as_str())).collect();
        let now = self.at.map_or_else(SystemTime::now, |at| SystemTime::UNIX_EPOCH + Duration::from_secs(at));
        let context = Context { url: &self.url, settings, keys: &self.keys_of(inbox)? };
        let verified = hooks::verify(inbox, &notification, &secrets, &context, now).map_err(PushedError::Rejected)?;
        let Items { items, unverified: _, ignored } = hooks::items(inbox, &notification, &verified);
        if let Some(reason) = ignored.into_iter().next() {
            return Err(PushedError::NotUnderstood(reason));
        }
        Ok(items)
    }

    /// The keys of the recording, as those at each URL that the inbox declares.
    fn keys_of(&self, inbox: &Inbox) -> Result<BTreeMap<String, Arc<KeySet>>, PushedError> {
        let Some(keys) = &self.keys else { return Ok(BTreeMap::new()) };
        let reason = "`keys` is no JSON Web Key Set".to_owned();
        let keys = KeySet::parse(keys.to_string().as_bytes())
            .ok_or_else(|| PushedError::Unreadable { file: "push".to_owned(), reason })?;
        let keys = Arc::new(keys);
        let urls = inbox.checks.iter().filter_map(|check| match check {
            Check::Jwt(check) => Some(check.jwks_url.clone()),
            Check::Hmac(_) | Check::Token(_) => None,
        });
        Ok(urls.map(|url| (url, Arc::clone(&keys))).collect())
    }

    fn headers(&self) -> Result<HeaderMap, PushedError> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.push.headers {
            let header = HeaderName::from_bytes(name.as_bytes()).ok().zip(HeaderValue::from_str(value).ok());
            let (name, value) = header.ok_or_else(|| PushedError::Unreadable {
                file: "push".to_owned(),
                reason: format!("`{name}` is no header"),
            })?;
            headers.append(name, value);
        }
        Ok(headers)
    }
}

impl fmt::Display for PushedEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, triggers, data } = self;
        let triggers = if triggers.is_empty() { "no trigger".to_owned() } else { format!("[{}]", triggers.join(", ")) };
        write!(formatter, "kind `{kind}` of {triggers} with {data}")
    }
}

/// The lines about events that were found. See [`Pushed::shown`].
fn shown(expected: &[PushedEvent], found: &[PushedEvent]) -> Vec<String> {
    let events = found.iter().enumerate().take(SHOWN_EVENTS);
    let mut lines: Vec<String> = events
        .map(|(index, event)| format!("event {}: {}", index + 1, cut(event.to_string(), SHOWN_CHARACTERS)))
        .collect();
    match found.len() {
        0 => lines.push("the notification carries no event".to_owned()),
        number if number > SHOWN_EVENTS => lines.push(format!("the notification carries {number} events")),
        _ => {}
    }
    lines.extend(differences(expected, found, SHOWN_CHARACTERS));
    lines
}

/// The text, or its first `longest` characters.
fn cut(text: String, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// The first lines in which the events differ. Each event has at most `longest` characters there.
fn differences(expected: &[PushedEvent], found: &[PushedEvent], longest: usize) -> Vec<String> {
    let text = |event: Option<&PushedEvent>| match event {
        None => "none".to_owned(),
        Some(event) => cut(event.to_string(), longest),
    };
    let number = expected.len().max(found.len());
    let different = (0..number).filter(|index| expected.get(*index) != found.get(*index));
    let lines = different.map(|index| {
        let [expected, found] = [expected.get(index), found.get(index)].map(text);
        format!("event {}: the recording has {expected}; the inbox reads {found}", index + 1)
    });
    lines.take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use contract::trigger_types::{Claim, JwtAudience, JwtCheck, Place};
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
    use serde_json::json;

    use super::*;

    fn event(kind: &str, data: Value) -> PushedEvent {
        PushedEvent { kind: kind.to_owned(), triggers: vec!["issue".to_owned()], data }
    }

    #[test]
    fn events_that_differ_are_shown_with_both_forms() {
        let (opened, closed) = (event("issues/opened", json!({"a": 1})), event("issues/closed", json!({})));
        assert!(differences(from_ref(&opened), from_ref(&opened), usize::MAX).is_empty());
        assert_eq!(
            differences(from_ref(&opened), &[closed], usize::MAX),
            [
                "event 1: the recording has kind `issues/opened` of [issue] with {\"a\":1}; the inbox reads kind `issues/closed` of [issue] with {}"
            ]
        );
        assert_eq!(
            differences(&[], &[opened], usize::MAX),
            ["event 1: the recording has none; the inbox reads kind `issues/opened` of [issue] with {\"a\":1}"]
        );
    }

    #[test]
    fn an_author_sees_each_event_in_a_short_line_and_what_differs() {
        let (opened, closed) = (event("issues/opened", json!({"a": 1})), event("issues/closed", json!({})));
        let line = "event 1: kind `issues/opened` of [issue] with {\"a\":1}";
        assert_eq!(shown(from_ref(&opened), from_ref(&opened)), [line]);
        assert_eq!(
            shown(&[closed], from_ref(&opened)),
            [
                line,
                "event 1: the recording has kind `issues/closed` of [issue] with {}; the inbox reads kind `issues/opened` of [issue] with {\"a\":1}"
            ]
        );
        let of_none = PushedEvent { triggers: Vec::new(), ..opened.clone() };
        let none = "event 1: kind `issues/opened` of no trigger with {\"a\":1}";
        assert_eq!(shown(from_ref(&of_none), from_ref(&of_none)), [none]);
        assert_eq!(shown(&[], &[]), ["the notification carries no event"]);
        assert_eq!(
            shown(from_ref(&opened), &[]),
            [
                "the notification carries no event",
                "event 1: the recording has kind `issues/opened` of [issue] with {\"a\":1}; the inbox reads none"
            ]
        );
        let long = vec![event("long", json!("é".repeat(1_000))); SHOWN_EVENTS + 1];
        let lines = shown(&long, &long);
        assert_eq!(lines.len(), SHOWN_EVENTS + 1);
        assert!(lines[0].ends_with("é…") && lines[0].chars().count() < SHOWN_CHARACTERS + 20, "{}", lines[0]);
        assert_eq!(lines[SHOWN_EVENTS], "the notification carries 21 events");
    }

    #[test]
    fn a_file_without_a_push_is_a_recording_of_a_call() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.json");
        let read = |text: &str| {
            fs::write(&file, text).unwrap();
            Pushed::read(&file)
        };
        assert!(matches!(read(r#"{"format": 1, "operation": "define"}"#), Ok(None)));
        assert!(matches!(read("{"), Ok(None)));
        let push = r#"{"format": 1, "inbox": "hook", "push": {"headers": [], "body": ""}, "events": []}"#;
        assert!(matches!(read(push), Ok(Some(pushed)) if pushed.inbox == "hook"));
        let later = push.replace("\"format\": 1", "\"format\": 2");
        assert!(
            matches!(read(&later), Err(PushedError::Unreadable { reason, .. }) if reason.contains("its format is 2"))
        );
        assert!(matches!(read(r#"{"push": {}}"#), Err(PushedError::Unreadable { .. })));
    }

    #[test]
    fn a_token_is_verified_with_the_keys_the_address_and_the_settings_of_the_recording() {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap();
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
        let claims = json!({
            "iss": "https://id.example", "aud": "https://gateway.example/hooks/a", "email": "push@example.com",
            "iat": 1_000, "exp": 4_600,
        });
        let signed =
            [json!({"alg": "ES256", "kid": "1"}), claims].map(|part| encode(part.to_string().as_bytes())).join(".");
        let signature = encode(pair.sign(&random, signed.as_bytes()).unwrap().as_ref());
        let recording = json!({
            "format": 1,
            "inbox": "hook",
            "at": 2_000,
            "url": "https://gateway.example/hooks/a",
            "keys": {"keys": [{"kty": "EC", "crv": "P-256", "kid": "1", "x": encode(x), "y": encode(y)}]},
            "settings": {"account": "push@example.com"},
            "push": {
                "headers": [["Authorization", format!("Bearer {signed}.{signature}")], ["X-Event", "issues"]],
                "body": "{\"a\":1}",
            },
            "events": [],
        });
        let check = JwtCheck {
            place: Place::Header("Authorization".to_owned()),
            issuers: vec!["https://id.example".to_owned()],
            jwks_url: "https://id.example/certs".to_owned(),
            audience: JwtAudience::Address,
            claims: vec![("email".to_owned(), Claim::Setting("account".to_owned()))],
        };
        let inbox = Inbox { checks: vec![Check::Jwt(check)], ..contract::sample::inbox("hook") };
        let items = |recording: Value| {
            let pushed: Pushed = serde_json::from_value(recording).unwrap();
            pushed.items_at(&inbox, &pushed.settings.clone()).map(|items| items.len())
        };
        assert_eq!(items(recording.clone()).unwrap(), 1);
        for (member, other) in [
            ("keys", json!({"keys": []})),
            ("keys", Value::Null),
            ("url", json!("https://gateway.example/hooks/b")),
            ("settings", json!({"account": "other@example.com"})),
            ("at", json!(9_000)),
        ] {
            let mut changed = recording.clone();
            changed[member] = other;
            assert!(matches!(items(changed), Err(PushedError::Rejected(_))), "{member}");
        }
        let mut changed = recording;
        changed["keys"] = json!([]);
        assert!(matches!(items(changed), Err(PushedError::Unreadable { .. })));
    }
}
