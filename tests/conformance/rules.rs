//! Rules about inputs that a schema cannot express, so that a connector checks them by itself.
//! Generated inputs keep the rules. One input for each rule breaks it, to show that the rule is
//! there.

use serde_json::{Map, Value, json};

/// A rule about the inputs of one operation.
pub(crate) struct Rule {
    /// `connector/operation`.
    pub(crate) operation: &'static str,
    /// Changes an input, so that it keeps the rule. The second argument is the operation's example.
    keep: fn(&mut Map<String, Value>, &Value),
    /// Changes to the operation's example, after which it breaks the rule.
    pub(crate) broken: fn() -> Value,
}

/// The rules.
pub(crate) const RULES: &[Rule] = &[
    Rule {
        operation: "code_hosting/list_issues",
        // A cursor comes from an earlier answer.
        keep: |input, _| drop(input.shift_remove("page_cursor")),
        broken: || json!({"page_cursor": "not from an answer"}),
    },
    Rule {
        operation: "code_hosting/list_issues",
        keep: |input, _| drop(input.shift_remove("order_by")),
        broken: || json!({"sort": "created", "order_by": "updated"}),
    },
    Rule {
        operation: "code_hosting/list_issue_comments",
        keep: |input, _| {
            in_order(input, "created_after", "created_before");
            in_order(input, "updated_after", "updated_before");
        },
        broken: || json!({"updated_after": "2026-03-01T00:00:00Z", "updated_before": "2026-02-01T00:00:00Z"}),
    },
    Rule {
        operation: "code_hosting/search_issues",
        keep: |input, example| as_in(example, input, "repositories"),
        broken: || json!({"repositories": ["a/b/c"]}),
    },
    Rule {
        operation: "code_hosting/search_issues",
        // Each repository numbers its own milestones.
        keep: |input, _| drop(input.shift_remove("milestone")),
        broken: || json!({"repositories": ["one", "two"], "milestone": 3}),
    },
    Rule {
        operation: "code_hosting/search_issues",
        keep: |input, _| in_order(input, "since", "until"),
        broken: || json!({"since": "2026-03-02", "until": "2026-03-01"}),
    },
    Rule {
        operation: "microblog/get-users",
        keep: |input, example| exactly_one(input, example, &["id", "ids", "username", "usernames"]),
        broken: || json!({"id": "1", "username": "kim"}),
    },
    Rule {
        operation: "microblog/tweet_search",
        keep: |input, _| in_order(input, "start_time", "end_time"),
        broken: || json!({"start_time": "2026-03-02T00:00:00Z", "end_time": "2026-03-01T00:00:00Z"}),
    },
    Rule {
        operation: "office_calendar/list_events_in_time_range",
        // The schema takes any text, because a time may have no offset.
        keep: |input, example| {
            as_in(example, input, "start_date_time");
            as_in(example, input, "end_date_time");
        },
        broken: || json!({"start_date_time": "2026-03-02T00:00:00Z", "end_date_time": "2026-03-01T00:00:00Z"}),
    },
    Rule {
        operation: "office_calendar/update_calendar",
        keep: |input, example| at_least_one(input, example, &["name", "color", "is_default_calendar"]),
        broken: || json!({"name": null, "color": null, "is_default_calendar": null}),
    },
    Rule {
        operation: "office_drive/copy_item",
        keep: |input, example| at_least_one(input, example, &["name", "parent_reference"]),
        broken: || json!({"name": null, "parent_reference": null}),
    },
    Rule {
        operation: "office_drive/update_item",
        keep: |input, example| at_least_one(input, example, &["name", "parent_reference"]),
        broken: || json!({"name": null, "parent_reference": null}),
    },
    Rule {
        operation: "office_drive/upload_file",
        keep: |input, example| {
            as_in(example, input, "content_base64");
            as_in(example, input, "content_type");
        },
        broken: || json!({"content_base64": "not base64"}),
    },
    Rule {
        operation: "office_teamchat/reply_to_channel_message",
        keep: |input, example| as_in(example, input, "mentions"),
        broken: || json!({"mentions": [{"id": 7}]}),
    },
    Rule {
        operation: "office_teamchat/send_channel_message",
        keep: |input, example| as_in(example, input, "mentions"),
        broken: || json!({"mentions": [{"id": 7}]}),
    },
    Rule {
        operation: "office_teamchat/send_chat_message",
        keep: |input, example| as_in(example, input, "mentions"),
        broken: || json!({"mentions": [{"id": 7}]}),
    },
    Rule {
        operation: "preprint_archive/get_daily_updates",
        keep: |input, example| as_in(example, input, "categories"),
        broken: || json!({"categories": ["no such category"]}),
    },
    Rule {
        operation: "preprint_archive/get_paper_metadata",
        keep: |input, example| as_in(example, input, "paper_id"),
        broken: || json!({"paper_id": "not an id"}),
    },
    Rule {
        operation: "preprint_archive/download_paper",
        keep: |input, example| as_in(example, input, "paper_id"),
        broken: || json!({"paper_id": "not an id"}),
    },
    Rule {
        operation: "preprint_archive/search_papers",
        keep: |input, example| {
            as_in(example, input, "category");
            as_in(example, input, "id_list");
            as_in(example, input, "submitted_after");
            as_in(example, input, "submitted_before");
            at_least_one(input, example, &["search_query", "category", "title", "author", "abstract", "id_list"]);
        },
        broken: || json!({"category": "no such category"}),
    },
    Rule {
        operation: "team_chat/chat_post_message",
        keep: |input, example| at_least_one(input, example, &["text", "blocks", "attachments", "markdown_text"]),
        broken: || json!({"text": null}),
    },
    Rule {
        operation: "workspace_docs/copy_content",
        keep: |input, example| {
            for name in ["start_index", "end_index", "destination_index"] {
                as_in(example, input, name);
            }
        },
        broken: || json!({"start_index": 9, "end_index": 9}),
    },
    Rule {
        operation: "workspace_docs/create_reply",
        keep: |input, example| at_least_one(input, example, &["content", "action"]),
        broken: || json!({"content": null, "action": null}),
    },
    Rule {
        operation: "workspace_docs/list_comments",
        keep: |input, _| in_order(input, "modified_after", "modified_before"),
        broken: || json!({"modified_after": "2026-03-02T00:00:00Z", "modified_before": "2026-03-01T00:00:00Z"}),
    },
    Rule {
        operation: "workspace_docs/list_documents",
        keep: |input, example| as_in(example, input, "q"),
        broken: || json!({"q": "name contains 'plan"}),
    },
    Rule { operation: "workspace_mail/create_draft", keep: message, broken: || json!({"to": "no address"}) },
    Rule {
        operation: "workspace_mail/create_label",
        keep: |input, _| {
            if input.get("text_color").is_none_or(Value::is_null)
                || input.get("background_color").is_none_or(Value::is_null)
            {
                input.shift_remove("text_color");
                input.shift_remove("background_color");
            }
        },
        broken: || json!({"text_color": "#000000", "background_color": null}),
    },
    Rule { operation: "workspace_mail/messages_send", keep: message, broken: || json!({"to": "no address"}) },
    Rule { operation: "workspace_mail/update_draft", keep: message, broken: || json!({"to": "no address"}) },
    Rule {
        operation: "workspace_user_management/reset_user_password",
        keep: |input, _| input["password"] = json!("Correct-Horse-7"),
        broken: || json!({"password": "pässword-7"}),
    },
    Rule {
        operation: "workspace_user_management/update_group",
        keep: |input, example| at_least_one(input, example, &["email", "name", "description"]),
        broken: || json!({"email": null, "name": null, "description": null}),
    },
];

/// Changes a generated input, so that it keeps the rules of its operation.
pub(crate) fn keep(operation: &str, input: &mut Value, example: &Value) {
    let input = input.as_object_mut().expect("an input is an object");
    for rule in RULES.iter().filter(|rule| rule.operation == operation) {
        (rule.keep)(input, example);
    }
}

/// At least one of these members is there. If there is none, the example's are added.
fn at_least_one(input: &mut Map<String, Value>, example: &Value, names: &[&str]) {
    let is_given = |value: &Value| !value.is_null() && value != &json!([]);
    if !names.iter().any(|name| input.get(*name).is_some_and(is_given)) {
        for name in names {
            input.shift_remove(*name);
        }
        let given = names.iter().filter_map(|name| example.get(*name).map(|value| ((*name).to_owned(), value.clone())));
        input.extend(given);
    }
}

/// Exactly one of these members is there. If there is none, the example's is added.
fn exactly_one(input: &mut Map<String, Value>, example: &Value, names: &[&str]) {
    at_least_one(input, example, names);
    let given = names.iter().filter(|name| input.get(**name).is_some_and(|value| !value.is_null()));
    for name in given.skip(1).copied().collect::<Vec<_>>() {
        input.shift_remove(name);
    }
}

/// A message of mail has addresses, and attachments as in the example.
fn message(input: &mut Map<String, Value>, example: &Value) {
    for name in ["to", "cc", "bcc", "sender"] {
        match input.get_mut(name) {
            Some(Value::Array(addresses)) => {
                addresses.iter_mut().for_each(|address| *address = json!("Zoë <zoe@example.com>"))
            }
            Some(text @ Value::String(_)) => *text = json!("kim@example.com"),
            _ => {}
        }
    }
    if let Some(text @ Value::String(_)) = input.get_mut("in_reply_to") {
        *text = json!("<id@example.com>");
    }
    as_in(example, input, "attachments");
    at_least_one(input, example, &["to"]);
}

/// A member, if it is there, is the example's. If the example has none, it is left out.
fn as_in(example: &Value, input: &mut Map<String, Value>, name: &str) {
    if input.shift_remove(name).is_some_and(|value| !value.is_null()) {
        input.extend(example.get(name).map(|value| (name.to_owned(), value.clone())));
    }
}

/// The value of one member is less than the value of another one.
fn in_order(input: &mut Map<String, Value>, first: &str, second: &str) {
    let text = |name: &str| input.get(name).and_then(Value::as_str).map(str::to_owned);
    if let (Some(one), Some(other)) = (text(first), text(second)) {
        let (least, most) = if one < other { (one, other) } else { (other, one) };
        input.insert(first.to_owned(), json!(least));
        input.insert(second.to_owned(), json!(most));
    }
}
