//! The description of an operation whose manifest has a summary only: what a caller must know, from
//! the rest of the manifest.

use serde_json::Value;

use contract::{Answer, Effect, Operation};
use schema::CALLBACK_URLS;

/// The members that the gateway itself reads.
const OWN_MEMBERS: [&str; 2] = ["waiting", CALLBACK_URLS];

/// The description of an operation, whose body has this schema.
pub(super) fn description(operation: &Operation, schema: &Value) -> String {
    if !operation.description.trim().is_empty() {
        return operation.description.clone();
    }
    let mut sentences = vec![body(schema)];
    sentences.push(
        match operation.effect {
            Effect::Read => "It changes nothing.",
            Effect::Write => "It adds or changes data.",
            Effect::Destructive => "It removes or overwrites data that cannot be restored.",
        }
        .to_owned(),
    );
    if let Some(pages) = &operation.pagination {
        let input = pages.input.trim_start_matches('/').replace('/', ".");
        sentences.push(format!("The answer comes in pages; `{input}` selects one."));
    }
    match operation.answer {
        Answer::Json => {}
        Answer::File => sentences.push("The answer is a file.".to_owned()),
        Answer::Any => sentences.push("The answer is JSON or a file.".to_owned()),
    }
    if operation.background {
        sentences.push("It runs in the background, unless `waiting` is true.".to_owned());
    }
    sentences.join(" ")
}

/// Says which members the body must have.
fn body(schema: &Value) -> String {
    let required = required(schema);
    if !required.is_empty() {
        return format!("The body needs {}.", joined(&required));
    }
    let mut members = schema["properties"].as_object().into_iter().flat_map(|members| members.keys());
    if members.all(|name| OWN_MEMBERS.contains(&name.as_str())) {
        return "The body has no members.".to_owned();
    }
    let choices = ["anyOf", "oneOf"].iter().find_map(|keyword| schema[*keyword].as_array());
    let choices: Vec<Vec<&str>> = choices.into_iter().flatten().map(self::required).collect();
    if choices.is_empty() || choices.iter().any(Vec::is_empty) {
        return "All members of the body are optional.".to_owned();
    }
    let choices: Vec<String> = choices.iter().map(|choice| joined(choice)).collect();
    format!("The body needs {}.", choices.join(", or "))
}

fn required(schema: &Value) -> Vec<&str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The names in one phrase.
fn joined(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [names @ .., last] if !names.is_empty() => format!("{} and {last}", names.join(", ")),
        names => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use contract::{NextPage, Pagination};
    use serde_json::json;

    use super::*;

    fn operation() -> Operation {
        Operation {
            path: "list".to_owned(),
            summary: "List the items.".to_owned(),
            description: String::new(),
            input_schema: String::new(),
            example: None,
            envelope: true,
            effect: Effect::Read,
            answer: Answer::Json,
            answer_schema: None,
            answer_example: None,
            pagination: None,
            background: false,
            immediate: true,
            rate_limit: None,
        }
    }

    #[test]
    fn a_description_of_the_manifest_stays() {
        let described = Operation { description: "Newest first.".to_owned(), ..operation() };
        assert_eq!(description(&described, &json!({})), "Newest first.");
    }

    #[test]
    fn an_operation_without_a_description_is_described_by_its_manifest() {
        let next = NextPage::Offset;
        let pagination = Some(Pagination { items: "/items".to_owned(), next, input: "/query/page".to_owned() });
        let paged = Operation { pagination, background: true, answer: Answer::Any, ..operation() };
        assert_eq!(
            description(&paged, &json!({"required": ["a", "b", "c"]})),
            "The body needs `a`, `b` and `c`. It changes nothing. The answer comes in pages; `query.page` selects one. The answer \
             is JSON or a file. It runs in the background, unless `waiting` is true."
        );
        let destroying = Operation { effect: Effect::Destructive, answer: Answer::File, ..operation() };
        assert_eq!(
            description(&destroying, &json!({"required": ["a"]})),
            "The body needs `a`. It removes or overwrites data that cannot be restored. The answer is a file."
        );
    }

    #[test]
    fn a_body_without_required_members_is_described() {
        let members = json!({"a": {}, "b": {}});
        assert_eq!(body(&json!({"properties": members})), "All members of the body are optional.");
        assert_eq!(body(&json!({"properties": {"waiting": {}}})), "The body has no members.");
        let choices = json!([{"required": ["a"]}, {"required": ["b", "c"]}]);
        assert_eq!(body(&json!({"properties": members, "anyOf": choices})), "The body needs `a`, or `b` and `c`.");
    }
}
