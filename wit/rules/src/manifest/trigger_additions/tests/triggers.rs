//! Types of events and their operations.

use super::*;

#[track_caller]
fn only_trigger(change: impl FnOnce(&mut Trigger), part: &str, rule: &str) {
    only(|declared| change(&mut declared.triggers[0]), &format!("trigger `message`, {part}"), rule);
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
    let refused = |change: fn(&mut Condition), rule: &str| {
        only_trigger(|trigger| change(&mut trigger.conditions[0]), "condition", rule);
    };
    refused(|condition| condition.place = Place::BodyHash, "for ids only");
    refused(|condition| condition.place = to("channel"), "begins with `/`");
    refused(|condition| condition.value = ConditionValue::Parameter("/room".to_owned()), "no such member");
    refused(|condition| condition.value = ConditionValue::Parameter(String::new()), "leads to a member");
    refused(|condition| condition.value = ConditionValue::Account("id".to_owned()), "begins with `/`");
    refused(|condition| condition.value = ConditionValue::Literal(String::new()), "not empty");
    refused(|condition| condition.pattern = "<@>".to_owned(), "has `{}` once");
    refused(|condition| condition.pattern = "{}{}".to_owned(), "has `{}` once");
    let of_event = trigger("message").conditions.remove(0);
    only_trigger(|trigger| trigger.conditions = vec![of_event; 17], "conditions", "at most 16");
    let mut polled = declared();
    polled.triggers[0] = Trigger { inboxes: Vec::new(), subscribe: None, unsubscribe: None, ..trigger("message") };
    assert_eq!(super::broken(&polled), [""; 0]);
    polled.triggers[0].conditions[0].place = header("X-Channel");
    assert!(super::broken(&polled)[0].contains("without an inbox"));
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
    only_trigger(
        |trigger| {
            (trigger.inboxes, trigger.subscribe, trigger.unsubscribe) = (Vec::new(), None, None);
            trigger.identify = Some("stop".to_owned());
        },
        "identify",
        "with an inbox",
    );
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
