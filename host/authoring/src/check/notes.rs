//! Advice for the author of a module. The gateway accepts the module without it.

use connector_gateway::{Connector, Operation};
use serde_json::Value;

use crate::identity;
use contract::Effect;

/// Names of fields that usually take the next page of a list.
const PAGE_FIELDS: [&str; 10] = [
    "cursor",
    "page",
    "offset",
    "start",
    "starting_after",
    "page_token",
    "pageToken",
    "next_token",
    "$skiptoken",
    "$skip",
];

/// The notes, a sentence without a full stop each.
pub(super) fn notes(connector: &Connector) -> Vec<String> {
    let manifest = connector.manifest();
    let mut notes = Vec::new();
    if semver::Version::parse(&manifest.version).is_err() {
        notes.push(format!("the version `{}` is not one of Semantic Versioning, such as 1.0.0", manifest.version));
    }
    if manifest.description.is_empty() {
        notes.push("the connector has no description".to_owned());
    }
    if manifest.imprint.license.is_empty() {
        notes.push("the imprint has no licence".to_owned());
    }
    for operation in connector.operations() {
        let example = operation.manifest.answer_example.as_deref().map(serde_json::from_str);
        if let Some(Ok(example)) = example {
            notes.extend(identity::lost(connector, &operation.manifest.path, &example));
        }
    }
    // One line for each note, with all operations that it is about.
    let mut by_note: Vec<(&str, Vec<String>)> = Vec::new();
    for operation in connector.operations() {
        for (note, about) in operation_notes(operation) {
            let about = format!("{}{about}", operation.manifest.path);
            match by_note.iter_mut().find(|(known, _)| *known == note) {
                Some((_, all)) => all.push(about),
                None => by_note.push((note, vec![about])),
            }
        }
    }
    notes.extend(by_note.into_iter().map(|(note, about)| format!("{note}: {}", about.join(", "))));
    notes
}

/// The notes about an operation, each with what is said next to the operation.
fn operation_notes(operation: &Operation) -> Vec<(&'static str, String)> {
    let (manifest, schema) = (&operation.manifest, &operation.input_schema());
    let mut notes = Vec::new();
    if manifest.summary.is_empty() {
        notes.push(("no summary", String::new()));
    }
    if manifest.example.is_none() && schema["required"].as_array().is_some_and(|required| !required.is_empty()) {
        notes.push(("no example of the input", String::new()));
    }
    if manifest.answer_example.is_none() {
        notes.push(("no example of the answer", String::new()));
    }
    if manifest.pagination.is_none()
        && manifest.effect == Effect::Read
        && let Some(field) = page_field(schema)
    {
        notes.push(("takes a page, and does not say how the answer is paged", format!(" (`{field}`)")));
    }
    notes
}

/// The field that seems to take the next page: a member of the body, or of an object in it.
fn page_field(schema: &Value) -> Option<&str> {
    let properties = schema["properties"].as_object()?;
    properties.iter().find_map(|(name, field)| {
        if PAGE_FIELDS.contains(&name.as_str()) { Some(name.as_str()) } else { page_field(field) }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_for_the_next_page_is_found_in_the_body_and_in_its_objects() {
        let found = |properties: Value| page_field(&json!({"properties": properties})).map(str::to_owned);
        assert_eq!(found(json!({"name": {}, "cursor": {}})).as_deref(), Some("cursor"));
        assert_eq!(found(json!({"query": {"properties": {"q": {}, "pageToken": {}}}})).as_deref(), Some("pageToken"));
        assert_eq!(found(json!({"name": {}, "query": {"properties": {"q": {}}}})), None);
    }
}
