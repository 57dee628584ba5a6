//! What the gateway asks of a manifest, so far as it can be seen without the gateway.

use serde_json::Value;

use crate::run;
use crate::table::Connector;

/// Checks a connector's manifest: names, lengths, that schemas and examples are JSON, and that what refers to something finds it.
/// `connector!` makes a test of it for every connector.
///
/// # Panics
/// With the first thing that is wrong.
#[expect(clippy::panic, reason = "a failed expectation of a test")]
pub fn check(connector: &Connector) {
    if let Err(problem) = problems(connector) {
        panic!("{}: {problem}", connector.identifier);
    }
}

fn problems(connector: &Connector) -> Result<(), String> {
    let manifest = run::manifest(connector);
    if manifest.upstreams.len() > 16
        || manifest.rate_limits.len() > 64
        || !(1..=512).contains(&manifest.operations.len())
    {
        return Err(
            "there are at most 16 upstreams, 64 rate limits and 512 operations, and at least one operation".to_owned()
        );
    }
    unique("upstream", manifest.upstreams.iter().map(|upstream| upstream.name.as_str()))?;
    unique("rate limit", manifest.rate_limits.iter().map(|limit| limit.name.as_str()))?;
    unique("operation", manifest.operations.iter().map(|operation| operation.path.as_str()))?;
    for operation in &manifest.operations {
        let path = &operation.path;
        if operation.input_schema.len() > 256 * 1024 {
            return Err(format!("the schema of {path} is larger than 256 KiB"));
        }
        let schema: Value = serde_json::from_str(&operation.input_schema)
            .map_err(|error| format!("the schema of {path} is no JSON: {error}"))?;
        if schema.get("type") != Some(&Value::from("object")) {
            return Err(format!("the schema of {path} is not that of an object"));
        }
        if let Some(example) = &operation.example {
            let example: Value =
                serde_json::from_str(example).map_err(|error| format!("the example of {path} is no JSON: {error}"))?;
            fits(&schema, &example).map_err(|problem| format!("the example of {path} {problem}"))?;
        }
        if let Some(limit) = &operation.rate_limit
            && !manifest.rate_limits.iter().any(|known| known.name == *limit)
        {
            return Err(format!("{path} draws on the rate limit {limit}, which is not declared"));
        }
    }
    Ok(())
}

/// Names of the example are the schema's, and what is required is there. Values are the gateway's to check.
fn fits(schema: &Value, example: &Value) -> Result<(), String> {
    let Some(members) = example.as_object() else { return Err("is no object".to_owned()) };
    let properties = schema.get("properties").and_then(Value::as_object);
    if let Some(name) = members.keys().find(|name| properties.is_none_or(|known| !known.contains_key(*name))) {
        return Err(format!("has `{name}`, which the schema does not name"));
    }
    let required = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    match required.iter().filter_map(Value::as_str).find(|name| !members.contains_key(*name)) {
        Some(name) => Err(format!("lacks `{name}`, which is required")),
        None => Ok(()),
    }
}

fn unique<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        if name.is_empty() || name.len() > 64 {
            return Err(format!("the name of a {what} is 1 to 64 characters: {name:?}"));
        }
        if seen.contains(&name) {
            return Err(format!("two {what}s are named {name}"));
        }
        seen.push(name);
    }
    Ok(())
}
