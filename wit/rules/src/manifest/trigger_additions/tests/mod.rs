//! Declarations that break one rule each.
//!
//! - here: declarations that break none, and the rules of all of them together
//! - `inboxes`: inboxes and their checks
//! - `triggers`: types of events and their operations

mod inboxes;
mod triggers;

use super::super::tests::{manifest, oauth2, operation};
use super::super::{Auth, Identity, Manifest, Oauth2, Operation, Setting};
use super::*;
use crate::trigger::*;

struct Declared {
    manifest: Manifest<'static>,
    inboxes: Vec<Inbox>,
    triggers: Vec<Trigger>,
}

fn header(name: &str) -> Place {
    Place::Header(name.to_owned())
}

fn to(pointer: &str) -> Place {
    Place::Pointer(pointer.to_owned())
}

fn hmac() -> HmacCheck {
    HmacCheck {
        hash: CheckHash::Sha256,
        secret: CheckSecret::Text,
        encoding: CheckEncoding::Hex,
        text: vec![CheckPart::Literal("v0".to_owned()), CheckPart::Timestamp, CheckPart::Body],
        separator: ":".to_owned(),
        signature: header("X-Signature"),
        prefix: "v0=".to_owned(),
        list_separator: None,
        timestamp: Some(header("X-Timestamp")),
        tolerance_seconds: 300,
    }
}

fn jwt() -> JwtCheck {
    JwtCheck {
        place: header("Authorization"),
        issuers: vec!["https://accounts.acme.example".to_owned()],
        jwks_url: "https://accounts.acme.example/certs".to_owned(),
        audience: JwtAudience::Setting("contact".to_owned()),
        claims: vec![("email_verified".to_owned(), Claim::Literal("true".to_owned()))],
    }
}

fn inbox(name: &str, scope: InboxScope) -> Inbox {
    let account = AccountKey { place: to("/team_id"), account: "/team".to_owned() };
    Inbox {
        name: name.to_owned(),
        scope,
        checks: vec![Check::Hmac(hmac())],
        handshakes: Vec::new(),
        decode: None,
        items: Some("/events".to_owned()),
        id: vec![to("/event_id"), Place::BodyHash],
        kind: vec![to("/event/type")],
        data: "/event".to_owned(),
        time: Some(to("/event_time")),
        accounts: if scope == InboxScope::Application { vec![account] } else { Vec::new() },
        visibility: None,
        ignored: vec!["ping".to_owned()],
        lifecycle: vec![("gone".to_owned(), Lifecycle::Gone)],
        max_body: 1 << 20,
    }
}

fn trigger(name: &str) -> Trigger {
    Trigger {
        name: name.to_owned(),
        title: "A message".to_owned(),
        description: String::new(),
        parameters: r#"{"type":"object","properties":{"channel":{"type":"string"}},"additionalProperties":false}"#
            .to_owned(),
        payload: r#"{"type":"object"}"#.to_owned(),
        example: "{}".to_owned(),
        source: TriggerSource::Read,
        kinds: Vec::new(),
        scopes: vec!["read".to_owned()],
        inboxes: vec!["hook".to_owned()],
        key: vec!["channel".to_owned()],
        conditions: vec![Condition {
            place: to("/channel"),
            comparison: Comparison::Equals,
            value: ConditionValue::Parameter("/channel".to_owned()),
            pattern: String::new(),
        }],
        subscribe: Some("watch".to_owned()),
        renew: None,
        unsubscribe: Some("stop".to_owned()),
        read: Some("changes".to_owned()),
        recover: None,
        identify: None,
        requires_setting: None,
        lifetime_seconds: Some(3600),
        poll_seconds: 300,
    }
}

fn internal(path: &'static str) -> Operation<'static> {
    Operation { envelope: false, pagination: None, ..operation(path) }
}

/// A connector with an inbox of an application, one of subscriptions, and a type of events.
fn declared() -> Declared {
    let mut manifest = manifest();
    manifest.operations.extend(["watch", "stop", "changes"].map(internal));
    manifest.auth =
        Auth::Oauth2(Oauth2 { identity: Some(Identity { operation: "list", pointers: vec!["/id"] }), ..oauth2() });
    Declared {
        manifest,
        inboxes: vec![inbox("app", InboxScope::Application), inbox("hook", InboxScope::Subscription)],
        triggers: vec![trigger("message")],
    }
}

fn broken(declared: &Declared) -> Vec<String> {
    let Declared { manifest, inboxes, triggers } = declared;
    check_trigger_additions(&About::of(manifest, &["list"]), inboxes, triggers)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[track_caller]
fn only(change: impl FnOnce(&mut Declared), part: &str, rule: &str) {
    let mut declared = declared();
    change(&mut declared);
    let found = broken(&declared);
    let [violation] = found.as_slice() else { panic!("{part}, {rule}: {found:?}") };
    assert!(violation.starts_with(part) && violation.contains(rule), "{violation}");
}

fn texts(number: usize) -> Vec<String> {
    (0..number).map(|number| format!("t{number}")).collect()
}

#[test]
fn declarations_that_keep_the_rules_break_none() {
    assert_eq!(broken(&declared()), [""; 0]);
    let mut several = declared();
    several.inboxes[1].checks.push(Check::Token(to("/clientState")));
    several.inboxes[1].checks.push(Check::Jwt(jwt()));
    several.inboxes[1].handshakes.push(Handshake::EchoQuery("validationToken".to_owned()));
    several.inboxes[0].visibility = Some(visibility());
    several.triggers.push(Trigger {
        source: TriggerSource::Carried,
        kinds: vec!["message".to_owned()],
        inboxes: vec!["app".to_owned()],
        subscribe: None,
        unsubscribe: None,
        read: None,
        requires_setting: None,
        ..trigger("carried")
    });
    // Types of events may share their operations.
    several.triggers.push(trigger("other"));
    assert_eq!(broken(&several), [""; 0]);
}

#[test]
fn inboxes_and_triggers_have_distinct_names_and_are_few() {
    only(|all| all.inboxes.push(inbox("app", InboxScope::Application)), "inbox `app`", "twice");
    only(|all| all.inboxes[0].name = "App".to_owned(), "inbox `App`", "begins with a letter");
    let five = ["a", "b", "c"].map(|name| inbox(name, InboxScope::Subscription));
    only(|all| all.inboxes.extend(five), "inboxes", "at most 4");
    only(|all| all.triggers.push(trigger("message")), "trigger `message`", "twice");
    only(|all| all.triggers[0].name = "a-b".to_owned(), "trigger `a-b`", "`a-z`");
    only(|all| all.triggers = texts(65).iter().map(|name| trigger(name)).collect(), "triggers", "at most 64");
}

fn visibility() -> Visibility {
    Visibility {
        upstream: "api".to_owned(),
        path: "/apps.event.authorizations.list".to_owned(),
        context: "/event_context".to_owned(),
        parameter: "event_context".to_owned(),
        accounts: "/authorizations".to_owned(),
        cursor: ("/response_metadata/next_cursor".to_owned(), "cursor".to_owned()),
    }
}
