//! Declarations that break one rule each.

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

#[track_caller]
fn only_inbox(change: impl FnOnce(&mut Inbox), part: &str, rule: &str) {
    only(|declared| change(&mut declared.inboxes[1]), &format!("inbox `hook`, {part}"), rule);
}

#[track_caller]
fn only_check(check: Check, part: &str, rule: &str) {
    only_inbox(|inbox| inbox.checks = vec![check], &format!("check {part}"), rule);
}

#[track_caller]
fn only_trigger(change: impl FnOnce(&mut Trigger), part: &str, rule: &str) {
    only(|declared| change(&mut declared.triggers[0]), &format!("trigger `message`, {part}"), rule);
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

#[test]
fn an_inbox_has_its_parts_in_their_limits() {
    only_inbox(|inbox| inbox.checks.clear(), "checks", "1 to 4 checks");
    only_inbox(|inbox| inbox.checks = vec![Check::Token(header("X-A")); 5], "checks", "1 to 4 checks");
    only_inbox(|inbox| inbox.handshakes = vec![Handshake::EchoQuery("a".to_owned()); 5], "handshakes", "at most 4");
    only_inbox(|inbox| inbox.id.clear(), "id", "1 to 8");
    only_inbox(|inbox| inbox.id = vec![Place::BodyHash; 9], "id", "1 to 8");
    only_inbox(|inbox| inbox.kind.clear(), "kind", "1 to 4");
    only_inbox(|inbox| inbox.kind = vec![Place::BodyHash], "kind", "for ids only");
    only_inbox(|inbox| inbox.time = Some(Place::BodyHash), "time", "for ids only");
    only_inbox(|inbox| inbox.max_body = 1023, "max-body", "1024 to 26214400");
    only_inbox(|inbox| inbox.max_body = 26_214_401, "max-body", "1024 to 26214400");
    only_inbox(|inbox| inbox.ignored = texts(65), "ignored", "at most 64");
    only_inbox(|inbox| inbox.ignored = vec![String::new()], "ignored", "not empty");
    only_inbox(|inbox| inbox.ignored.push("ping".to_owned()), "ignored `ping`", "twice");
    only_inbox(|inbox| inbox.lifecycle = vec![("gone".to_owned(), Lifecycle::Gone); 2], "lifecycle `gone`", "twice");
    only_inbox(|inbox| inbox.lifecycle = vec![("ping".to_owned(), Lifecycle::Read)], "lifecycle `ping`", "ignored");
}

#[test]
fn places_have_the_form_of_their_kind() {
    only_inbox(|inbox| inbox.decode = Some("message".to_owned()), "decode", "begins with `/`");
    only_inbox(|inbox| inbox.items = Some("/a~2".to_owned()), "items", "`~0`");
    only_inbox(|inbox| inbox.data = "/a\nb".to_owned(), "data", "line break");
    only_inbox(|inbox| inbox.data = format!("/{}", "a".repeat(256)), "data", "at most 256 bytes");
    only_inbox(|inbox| inbox.id = vec![header("X Id")], "id", "name of a header");
    let field = |name: &str, field: &str| Place::HeaderField((name.to_owned(), field.to_owned()));
    only_inbox(|inbox| inbox.id = vec![field("X-Sig", "t=")], "id", "no `=`");
    only_inbox(|inbox| inbox.id = vec![field("X:", "t")], "id", "name of a header");
    only_inbox(|inbox| inbox.id = vec![Place::Query(String::new())], "id", "not empty");
}

#[test]
fn only_an_inbox_of_an_application_names_accounts() {
    let key = || AccountKey { place: to("/team_id"), account: "/team".to_owned() };
    only_inbox(|inbox| inbox.accounts.push(key()), "accounts", "no account keys");
    let of_app = |change: fn(&mut Inbox), part: &str, rule: &str| {
        only(|all| change(&mut all.inboxes[0]), &format!("inbox `app`, {part}"), rule);
    };
    of_app(|inbox| inbox.accounts.clear(), "accounts", "1 to 4 account keys");
    of_app(|inbox| inbox.accounts[0].account = "team".to_owned(), "accounts", "begins with `/`");
    of_app(|inbox| inbox.accounts[0].place = Place::BodyHash, "accounts", "for ids only");
    only(
        |all| all.manifest.auth = Auth::Oauth2(Oauth2 { identity: None, ..oauth2() }),
        "inbox `app`, accounts",
        "`identity` or `check`",
    );
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

#[test]
fn visibility_is_a_request_to_an_upstream() {
    only_inbox(|inbox| inbox.visibility = Some(visibility()), "visibility", "of an application");
    let of_app = |change: fn(&mut Visibility), rule: &str| {
        let mut declared = visibility();
        change(&mut declared);
        only(|all| all.inboxes[0].visibility = Some(declared), "inbox `app`, visibility", rule);
    };
    of_app(|declared| declared.upstream = "apis".to_owned(), "no upstream `apis`");
    of_app(|declared| declared.path = "list".to_owned(), "begins with `/`");
    of_app(|declared| declared.path = "/list?a=1".to_owned(), "no query");
    of_app(|declared| declared.context = "context".to_owned(), "begins with `/`");
    of_app(|declared| declared.parameter.clear(), "not empty");
    of_app(|declared| declared.accounts = "a".to_owned(), "begins with `/`");
    of_app(|declared| declared.cursor.0 = "a".to_owned(), "begins with `/`");
    of_app(|declared| declared.cursor.1.clear(), "not empty");
}

#[test]
fn each_mistake_of_an_hmac_is_found() {
    let broken = |change: fn(&mut HmacCheck), part: &str, rule: &str| {
        let mut declared = hmac();
        change(&mut declared);
        only_check(Check::Hmac(declared), &format!("`hmac`{part}"), rule);
    };
    broken(|hmac| hmac.text.retain(|part| *part != CheckPart::Body), "", "`body` once");
    broken(|hmac| hmac.text.push(CheckPart::Body), "", "`body` once");
    broken(|hmac| hmac.text.extend(vec![CheckPart::Timestamp; 14]), "", "1 to 16 parts");
    broken(|hmac| hmac.timestamp = None, "", "if, and only if");
    broken(|hmac| hmac.text = vec![CheckPart::Body], "", "if, and only if");
    broken(|hmac| hmac.timestamp = Some(to("/t")), ", timestamp", "in a header");
    broken(|hmac| hmac.signature = to("/s"), ", signature", "in a header");
    broken(|hmac| hmac.signature = header(""), ", signature", "name of a header");
    broken(|hmac| hmac.text.push(CheckPart::Header("X:".to_owned())), "", "name of a header");
    broken(|hmac| hmac.text.push(CheckPart::Literal("x".repeat(257))), "", "at most 256 bytes");
    broken(|hmac| hmac.separator = "x".repeat(257), ", separator", "at most 256 bytes");
    broken(|hmac| hmac.prefix = "a\n".to_owned(), ", prefix", "line break");
    broken(|hmac| hmac.list_separator = Some(String::new()), ", list-separator", "not empty");
    broken(|hmac| hmac.tolerance_seconds = 0, ", tolerance-seconds", "1 to 3600");
    broken(|hmac| hmac.tolerance_seconds = 3601, ", tolerance-seconds", "1 to 3600");
}

#[test]
fn each_mistake_of_a_token_is_found() {
    only_check(Check::Token(Place::BodyHash), "`token`", "no hash");
    only_check(Check::Token(header("X:")), "`token`", "name of a header");
    let broken = |change: fn(&mut JwtCheck), part: &str, rule: &str| {
        let mut declared = jwt();
        change(&mut declared);
        only_check(Check::Jwt(declared), &format!("`jwt`, {part}"), rule);
    };
    broken(|jwt| jwt.place = to("/token"), "place", "in a header");
    broken(|jwt| jwt.issuers.clear(), "issuers", "1 to 4");
    broken(|jwt| jwt.issuers = vec![String::new()], "issuer", "not empty");
    broken(|jwt| jwt.jwks_url = "http://acme.example/certs".to_owned(), "jwks-url", "https://");
    broken(|jwt| jwt.audience = JwtAudience::Setting("aud".to_owned()), "audience", "no setting `aud`");
    broken(|jwt| jwt.claims = vec![("a".to_owned(), Claim::Setting("b".to_owned()))], "claim `a`", "no setting `b`");
    broken(|jwt| jwt.claims = vec![("a".to_owned(), Claim::Literal("b".to_owned())); 2], "claim `a`", "twice");
    broken(|jwt| jwt.claims = vec![(String::new(), Claim::Literal("b".to_owned()))], "claim", "not empty");
}

#[test]
fn handshakes_name_what_they_answer() {
    let broken = |handshake: Handshake, rule: &str| {
        only_inbox(|inbox| inbox.handshakes.push(handshake), "handshake", rule);
    };
    broken(Handshake::EchoQuery(String::new()), "not empty");
    let member = |pointer: &str, text: &str, member: &str| {
        Handshake::EchoMember(EchoMember { when: (pointer.to_owned(), text.to_owned()), member: member.to_owned() })
    };
    broken(member("type", "url_verification", "/challenge"), "begins with `/`");
    broken(member("/type", "", "/challenge"), "not empty");
    broken(member("/type", "url_verification", "challenge"), "begins with `/`");
    let hmac = |parameter: &str, member: &str, prefix: &str| {
        Handshake::HmacQuery(HmacQuery {
            parameter: parameter.to_owned(),
            hash: CheckHash::Sha256,
            secret: CheckSecret::Text,
            encoding: CheckEncoding::Base64,
            member: member.to_owned(),
            prefix: prefix.to_owned(),
        })
    };
    broken(hmac("", "response_token", ""), "not empty");
    broken(hmac("crc_token", "", ""), "not empty");
    broken(hmac("crc_token", "response_token", "\n"), "line break");
    only(
        |all| all.inboxes[0].handshakes.push(Handshake::EchoQuery("token".to_owned())),
        "inbox `app`, handshake",
        "inbox of a subscription",
    );
}

#[test]
fn a_trigger_has_sound_texts_and_schemas() {
    only_trigger(|trigger| trigger.title.clear(), "title", "1 to 256 bytes");
    only_trigger(|trigger| trigger.title = "a\nb".to_owned(), "title", "line break");
    only_trigger(|trigger| trigger.description = "a".repeat(65 << 10), "description", "64 KiB");
    only_trigger(|trigger| trigger.description = "\u{202e}".to_owned(), "description", "control or format");
    only_trigger(|trigger| trigger.parameters = "{".to_owned(), "parameters", "not JSON");
    only_trigger(
        |trigger| trigger.parameters = r#"{"type":"object"}"#.to_owned(),
        "parameters",
        "additionalProperties",
    );
    only_trigger(|trigger| trigger.payload = "true".to_owned(), "payload", "a JSON object");
    only_trigger(|trigger| trigger.payload = "{".to_owned(), "payload", "not JSON");
    only_trigger(|trigger| trigger.example = "{".to_owned(), "example", "not JSON");
    only_trigger(|trigger| trigger.example = format!("\"{}\"", "a".repeat(16 << 10)), "example", "16 KiB");
    only_trigger(|trigger| trigger.lifetime_seconds = Some(59), "lifetime-seconds", "at least 60");
    only_trigger(|trigger| trigger.poll_seconds = 59, "poll-seconds", "60 to 86400");
    only_trigger(|trigger| trigger.poll_seconds = 86_401, "poll-seconds", "60 to 86400");
    only_trigger(|trigger| trigger.scopes = vec![String::new()], "scopes", "not empty");
    only_trigger(|trigger| trigger.kinds = vec!["a".to_owned(); 2], "kinds `a`", "twice");
}

#[test]
fn scopes_need_oauth() {
    let mut declared = declared();
    declared.manifest.auth = Auth::None;
    declared.inboxes.remove(0);
    assert_eq!(broken(&declared), ["trigger `message`, scopes: scopes need the auth scheme `oauth2`"]);
}

#[test]
fn a_trigger_names_inboxes_members_and_settings_that_exist() {
    only_trigger(|trigger| trigger.inboxes.push("other".to_owned()), "inbox `other`", "no inbox of this name");
    only_trigger(|trigger| trigger.inboxes.push("hook".to_owned()), "inbox `hook`", "twice");
    only_trigger(|trigger| trigger.key.push("channels".to_owned()), "key `channels`", "no such member");
    only_trigger(|trigger| trigger.key.push("channel".to_owned()), "key `channel`", "twice");
    only_trigger(
        |trigger| trigger.requires_setting = Some("topic".to_owned()),
        "requires-setting",
        "no setting `topic`",
    );
    let mut with_setting = declared();
    with_setting.manifest.settings.push(Setting { name: "topic", schema: "{}", default: None, documentation: "" });
    with_setting.triggers[0].requires_setting = Some("topic".to_owned());
    assert_eq!(broken(&with_setting), [""; 0]);
}

#[test]
fn conditions_compare_values_that_exist() {
    let broken = |change: fn(&mut Condition), rule: &str| {
        only_trigger(|trigger| change(&mut trigger.conditions[0]), "condition", rule);
    };
    broken(|condition| condition.place = Place::BodyHash, "for ids only");
    broken(|condition| condition.place = to("channel"), "begins with `/`");
    broken(|condition| condition.value = ConditionValue::Parameter("/room".to_owned()), "no such member");
    broken(|condition| condition.value = ConditionValue::Parameter(String::new()), "leads to a member");
    broken(|condition| condition.value = ConditionValue::Account("id".to_owned()), "begins with `/`");
    broken(|condition| condition.value = ConditionValue::Literal(String::new()), "not empty");
    broken(|condition| condition.pattern = "<@>".to_owned(), "has `{}` once");
    broken(|condition| condition.pattern = "{}{}".to_owned(), "has `{}` once");
    let of_event = trigger("message").conditions.remove(0);
    only_trigger(|trigger| trigger.conditions = vec![of_event; 17], "conditions", "at most 16");
    let mut polled = declared();
    polled.triggers[0] = Trigger { inboxes: Vec::new(), subscribe: None, unsubscribe: None, ..trigger("message") };
    assert_eq!(super::tests::broken(&polled), [""; 0]);
    polled.triggers[0].conditions[0].place = header("X-Channel");
    assert!(super::tests::broken(&polled)[0].contains("without an inbox"));
}

#[test]
fn the_source_decides_which_parts_a_trigger_has() {
    let carried = |trigger: &mut Trigger| {
        trigger.source = TriggerSource::Carried;
        trigger.kinds = vec!["message".to_owned()];
        trigger.read = None;
    };
    only_trigger(|trigger| trigger.read = None, "read", "names an operation that reads");
    only_trigger(
        |trigger| {
            carried(trigger);
            trigger.kinds.clear();
        },
        "kinds",
        "has kinds",
    );
    only_trigger(
        |trigger| {
            carried(trigger);
            (trigger.inboxes, trigger.subscribe, trigger.unsubscribe) = (Vec::new(), None, None);
        },
        "inboxes",
        "has an inbox",
    );
    only_trigger(|trigger| trigger.inboxes.clear(), "subscribe", "has an inbox");
    only_trigger(
        |trigger| (trigger.subscribe, trigger.unsubscribe) = (None, None),
        "inbox `hook`",
        "tells its address",
    );
    let of_app = |change: fn(&mut Trigger), part: &str| {
        only_trigger(
            |trigger| {
                trigger.inboxes = vec!["app".to_owned()];
                (trigger.subscribe, trigger.unsubscribe) = (None, None);
                change(trigger);
            },
            part,
            "for a trigger with `subscribe`",
        );
    };
    of_app(|trigger| trigger.renew = Some("watch".to_owned()), "renew");
    of_app(|trigger| trigger.unsubscribe = Some("stop".to_owned()), "unsubscribe");
    of_app(|trigger| trigger.recover = Some("stop".to_owned()), "recover");
    of_app(|trigger| trigger.requires_setting = Some("contact".to_owned()), "requires-setting");
}

#[test]
fn the_operations_of_a_trigger_are_code_that_answers_json() {
    only_trigger(|trigger| trigger.read = Some("other".to_owned()), "read `other`", "no operation of this name");
    only_trigger(|trigger| trigger.renew = Some("stop".to_owned()), "unsubscribe `stop`", "as `renew` too");
    let of_read = |change: fn(&mut Operation<'static>), rule: &str| {
        only(|all| change(&mut all.manifest.operations[3]), "trigger `message`, read `changes`", rule);
    };
    of_read(|operation| operation.envelope = true, "no envelope");
    of_read(|operation| operation.background = true, "in the background");
    of_read(|operation| operation.answers_json = false, "answers JSON");
    of_read(|read| read.pagination = operation("list").pagination, "no pages");
    let mut row = declared();
    row.manifest.auth = Auth::Oauth2(Oauth2 { identity: None, ..oauth2() });
    row.inboxes.remove(0);
    row.manifest.operations[0] = internal("list");
    row.triggers[0].read = Some("list".to_owned());
    assert!(broken(&row)[0].contains("is code, and no row"));
    let mut identity = declared();
    identity.manifest.auth =
        Auth::Oauth2(Oauth2 { identity: Some(Identity { operation: "changes", pointers: vec!["/id"] }), ..oauth2() });
    assert!(broken(&identity)[0].contains("to identify accounts"));
}
