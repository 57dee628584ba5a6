//! Slack's methods, one document each, as Slack documents them at present. Slack no longer
//! maintains its `OpenAPI` document, which lacks many arguments of today.

use serde_json::{Map, Value, json};

use super::method::{Answer, Method, Parts};
use super::template::Template;

/// The method of a document, and an answer to it if there is a sample of one.
pub(super) fn method(name: &str, document: &Value, sample: Option<Value>) -> Method {
    let url = Template::parse(&format!("slack.com/api/{name}"), |_| false);
    let arguments = document["args"]["properties"].as_object().into_iter().flatten();
    // The token is sent as a header, which the gateway adds.
    let arguments: Map<String, Value> = arguments
        .filter(|(name, _)| *name != "token")
        .map(|(name, argument)| (name.clone(), converted(argument)))
        .collect();
    let required = document["args"]["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let required: Vec<String> = required.filter(|name| *name != "token").map(str::to_owned).collect();
    let verb = document["http_method"].as_str().unwrap().to_owned();
    let mut parts = Parts { required: required.clone(), ..Parts::default() };
    if verb == "GET" {
        parts.query = arguments;
    } else {
        parts.body_is_required = !required.is_empty();
        parts.body = Some(json!({
            "type": "object", "properties": arguments, "required": required, "additionalProperties": false,
        }));
        parts.media_types.push("application/x-www-form-urlencoded".to_owned());
        if document["json_input_supported"] == true {
            parts.media_types.push("application/json".to_owned());
        }
    }
    Method {
        names: vec![name.to_owned()],
        verb,
        request: parts.schema(&url, &Map::new()),
        url,
        answer: sample.map_or(Answer::Empty, Answer::Sample),
    }
}

/// The JSON Schema of an argument.
fn converted(argument: &Value) -> Value {
    let mut converted = Map::new();
    for (key, value) in argument.as_object().into_iter().flatten() {
        if ["type", "enum", "anyOf", "items", "minimum", "maximum", "minLength", "maxLength"].contains(&key.as_str()) {
            converted.insert(key.clone(), value.clone());
        }
    }
    // In a form such an argument is JSON text. In a JSON body it is the JSON itself.
    let is_json = argument["desc"].as_str().is_some_and(|text| text.contains("presented as a URL-encoded string"));
    if is_json {
        json!({"anyOf": [converted, {"type": "array"}, {"type": "object"}]})
    } else {
        Value::Object(converted)
    }
}
