//! The examples of answers in the description of the API, against the specifications of the
//! providers.
//!
//! Examples are shortened, so a member that a provider always sends may be absent. Every other
//! member must be one that the provider describes, and of its type.

use serde_json::Value;
use support::catalogue::text;

use crate::check::violations;
use crate::operations::{Connector, Operation};
use crate::specifications::{Answer, Method};
use crate::table;

const HEAD: [&str; 4] = ["connector", "operations", "answers checked", "differences"];

/// Functions that answer as a call of their service does. Other functions compose their answers,
/// and their tests cover them.
const FORWARDING: [&str; 17] = [
    "dex_market_data/get_pairs_by_token",
    "microblog/get-users",
    "microblog/tweet_search",
    "office_drive/upload_file",
    "office_mail/create_message_in_folder",
    "office_teamchat/reply_to_channel_message",
    "office_teamchat/send_channel_message",
    "office_teamchat/send_chat_message",
    "workspace_docs/list_comments",
    "workspace_docs/list_documents",
    "workspace_mail/create_draft",
    "workspace_mail/get_draft",
    "workspace_mail/get_thread",
    "workspace_mail/messages_get",
    "workspace_mail/messages_send",
    "workspace_mail/update_draft",
    "workspace_user_management/reset_user_password",
];

/// Differences that are right, each as the beginning of its sentence and the reason.
const ACCEPTED: [(&str, &str); 13] = [
    ("workspace_mail/get_draft: /message/payload/body/data", DECODED),
    ("workspace_mail/messages_get: /payload/body/data", DECODED),
    ("office_sites/list_list_items: /value/*/fields", "the document lacks what `$expand` adds"),
    ("office_calendar/get_schedule: /value/*/workingHours/startTime", "Microsoft's times of day have no time zone"),
    ("office_calendar/get_schedule: /value/*/workingHours/endTime", "Microsoft's times of day have no time zone"),
    ("office_teamchat/list_chat_members: /value/*/userId", DERIVED),
    ("office_teamchat/list_chat_members: /value/*/email", DERIVED),
    ("office_teamchat/list_team_members: /value/*/userId", DERIVED),
    ("office_teamchat/list_team_members: /value/*/email", DERIVED),
    ("dex_market_data/get_token_profiles: ", LIST),
    ("dex_market_data/get_token_boosts: ", LIST),
    ("dex_market_data/get_top_token_boosts: ", LIST),
    ("dex_market_data/get_recently_updated_token_profiles: ", LIST),
];

const DECODED: &str = "the connector has decoded the body";
const DERIVED: &str = "a member of the type that `@odata.type` names";
const LIST: &str = "the document describes an item of the list that the service returns";

/// Checks all examples, prints the table, and returns what is wrong, each as a sentence.
pub(crate) fn wrong(connectors: &[Connector], description: &Value) -> Vec<String> {
    let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
    let mut unchecked = Vec::new();
    let mut differences = Vec::new();
    for connector in connectors {
        let (mut checked, mut found) = (0, 0);
        for operation in &connector.operations {
            let name = format!("{}/{}", connector.id, operation.path);
            let described = &description["paths"][format!("/connectors/{name}")]["post"]["responses"]["200"];
            match check(&name, operation, &described["content"]["application/json"]["example"]) {
                Ok(new) => {
                    checked += 1;
                    found += new.len();
                    differences.extend(new.into_iter().map(|difference| format!("{name}: {difference}")));
                }
                Err(reason) => unchecked.push(vec![name, reason]),
            }
        }
        let counts = [connector.operations.len(), checked, found].map(|count| count.to_string());
        rows.push([connector.id.clone()].into_iter().chain(counts).collect());
    }
    table::print("Examples of answers, against the specifications of the providers", &rows);
    table::print("Examples that were not checked", &unchecked);
    let is_accepted = |difference: &String| ACCEPTED.iter().any(|(accepted, _)| difference.starts_with(accepted));
    let gone = ACCEPTED.iter().filter(|(accepted, _)| !differences.iter().any(|one| one.starts_with(accepted)));
    let gone = gone.map(|(accepted, why)| format!("{accepted}: no longer different, remove it ({why})"));
    let unknown = differences.iter().filter(|difference| !is_accepted(difference)).cloned();
    unknown.chain(gone).collect()
}

/// The differences between an example and the answer of its operation's call, or the reason why
/// there is nothing to compare. If several methods describe the call, the example must fit one.
fn check(name: &str, operation: &Operation, example: &Value) -> Result<Vec<String>, String> {
    best(name, operation, example)?.1
}

/// The method whose answer is the answer of an operation. `None` if the answer is the connector's
/// own, or no specification describes the method.
pub(crate) fn method<'a>(name: &str, operation: &'a Operation, example: &Value) -> Option<&'a Method> {
    best(name, operation, example).ok().map(|(method, _)| method)
}

/// The method that an example fits best, and the differences.
fn best<'a>(
    name: &str,
    operation: &'a Operation,
    example: &Value,
) -> Result<(&'a Method, Result<Vec<String>, String>), String> {
    if text(&operation.entry, "kind") != "thin" && !FORWARDING.contains(&name) {
        return Err("the answer is the connector's own".to_owned());
    }
    let mut reason = "it calls nothing".to_owned();
    let mut best: Option<(&Method, Result<Vec<String>, String>)> = None;
    for call in &operation.calls {
        let methods = match &call.methods {
            Ok(methods) => methods,
            Err(why) => {
                reason.clone_from(why);
                continue;
            }
        };
        for method in methods {
            let found = compared(method, example);
            let is_better = match (best.as_ref().map(|(_, least)| least), &found) {
                (Some(Ok(least)), Ok(found)) => found.len() < least.len(),
                (Some(Ok(_)), Err(_)) => false,
                (Some(Err(_)) | None, _) => true,
            };
            if is_better {
                best = Some((method, found));
            }
        }
    }
    best.ok_or(reason)
}

/// The differences between an example and what a method answers.
fn compared(method: &Method, example: &Value) -> Result<Vec<String>, String> {
    match &method.answer {
        Answer::Schema(schema) => {
            let mut schema = schema.clone();
            shorten(&mut schema);
            let mut example = example.clone();
            without_annotations(&mut example);
            let validator = jsonschema::options().should_validate_formats(true).build(&schema);
            let validator = validator.unwrap_or_else(|error| panic!("{:?}: {error}", method.names));
            Ok(violations(&example, &validator)
                .into_iter()
                .map(|(place, detail)| format!("{place} {detail}"))
                .collect())
        }
        Answer::Sample(sample) => {
            let mut found = Vec::new();
            unlike(sample, example, "", &mut found);
            Ok(found)
        }
        Answer::File => Err("the answer is a file".to_owned()),
        Answer::Empty if *example == serde_json::json!({}) => Ok(Vec::new()),
        Answer::Empty => Err("the specification does not describe the answer".to_owned()),
    }
}

/// Changes a schema, so that it accepts objects that lack members.
fn shorten(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            // `required` can also be the name of a member, whose schema is an object.
            members.retain(|name, value| name != "required" || !value.is_array());
            members.values_mut().for_each(shorten);
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        _ => {}
    }
}

/// Removes the annotations of `OData`, which every object of Microsoft Graph may have.
fn without_annotations(example: &mut Value) {
    match example {
        Value::Object(members) => {
            members.retain(|name, _| !name.starts_with('@'));
            members.values_mut().for_each(without_annotations);
        }
        Value::Array(items) => items.iter_mut().for_each(without_annotations),
        _ => {}
    }
}

/// Notes the places at which an example has a member that a sample does not have, or has it with
/// another type.
fn unlike(sample: &Value, example: &Value, place: &str, found: &mut Vec<String>) {
    match (sample, example) {
        (Value::Object(known), Value::Object(members)) => {
            for (name, value) in members {
                match known.get(name) {
                    Some(sample) => unlike(sample, value, &format!("{place}/{name}"), found),
                    None => found.push(format!("{place}/{name} is not in the sample")),
                }
            }
        }
        (Value::Array(known), Value::Array(items)) => {
            let Some(first) = known.first() else { return };
            items.iter().for_each(|item| unlike(first, item, &format!("{place}/*"), found));
        }
        (sample, example) if std::mem::discriminant(sample) != std::mem::discriminant(example) => {
            found.push(format!("{place} is {example}, and in the sample {sample}"));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_member_that_a_sample_does_not_have_is_a_difference() {
        let sample = json!({"ok": true, "members": [{"id": "U1", "tz_offset": 1}], "topics": []});
        let differences = |example: &Value| {
            let mut found = Vec::new();
            unlike(&sample, example, "", &mut found);
            found
        };
        assert_eq!(differences(&json!({"members": [{"id": "U2"}, {"tz_offset": 2}], "topics": [1]})), [""; 0]);
        assert_eq!(differences(&json!({"members": [{"name": 1}]})), ["/members/*/name is not in the sample"]);
        assert_eq!(differences(&json!({"ok": "yes"})), ["/ok is \"yes\", and in the sample true"]);
    }

    #[test]
    fn an_example_may_lack_members_and_have_annotations_and_nothing_else() {
        let mut schema = json!({
            "type": "object", "required": ["id"], "additionalProperties": false,
            "properties": {"id": {"type": "string"}, "required": {"type": "boolean"}},
        });
        shorten(&mut schema);
        let validator = jsonschema::validator_for(&schema).unwrap();
        let fits = |example: Value| {
            let mut example = example;
            without_annotations(&mut example);
            validator.is_valid(&example)
        };
        assert!(fits(json!({"@odata.context": "x", "required": true})));
        assert!(!fits(json!({"required": "yes"})));
        assert!(!fits(json!({"name": "x"})));
    }
}
