//! What is kept of a result: paths in dot notation, by the same rules as the gateway's `response_fields`.

use connector_sdk::Fault;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::github;

/// What an issue keeps whatever is asked for.
const ALWAYS: [&str; 3] = ["repository", "number", "title"];

/// An issue as the caller gets it: with its repository, and cut to `fields` when there are any.
pub(crate) fn issue(issue: &RawValue, repository: &str, fields: &[String]) -> Result<Box<RawValue>, Fault> {
    let text = if fields.is_empty() { whole(issue, repository)? } else { cut(issue, repository, fields)? };
    RawValue::from_string(text).map_err(|_| github::not_understood("an issue that is no object"))
}

/// The upstream's text as it is, with one more member at its front.
fn whole(issue: &RawValue, repository: &str) -> Result<String, Fault> {
    let members = issue.get().strip_prefix('{').ok_or_else(|| github::not_understood("an issue that is no object"))?;
    let repository = Value::from(repository);
    Ok(format!("{{\"repository\":{repository},{members}"))
}

fn cut(issue: &RawValue, repository: &str, fields: &[String]) -> Result<String, Fault> {
    let issue: Map<String, Value> =
        serde_json::from_str(issue.get()).map_err(|_| github::not_understood("an issue that is no object"))?;
    let mut whole = Map::from_iter([("repository".to_owned(), Value::from(repository))]);
    whole.extend(issue);
    let paths: Vec<&str> = ALWAYS.into_iter().chain(fields.iter().map(String::as_str)).collect();
    Ok(Value::Object(members(whole, &paths)).to_string())
}

/// The members that a path names, or leads into.
fn members(object: Map<String, Value>, paths: &[&str]) -> Map<String, Value> {
    let keep = |(name, value): (String, Value)| {
        if paths.contains(&name.as_str()) {
            return Some((name, value));
        }
        let inner: Vec<&str> =
            paths.iter().filter_map(|path| path.strip_prefix(name.as_str())?.strip_prefix('.')).collect();
        if inner.is_empty() { None } else { project(value, &inner).map(|value| (name, value)) }
    };
    object.into_iter().filter_map(keep).collect()
}

/// None for a scalar, which no path leads into.
fn project(value: Value, paths: &[&str]) -> Option<Value> {
    match value {
        Value::Object(object) => Some(Value::Object(members(object, paths))),
        Value::Array(items) => Some(items.into_iter().filter_map(|item| project(item, paths)).collect()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::issue;

    const ISSUE: &str = r#"{"id":1,"number":7,"title":"T","user":{"login":"a","id":2},"labels":[{"name":"x","color":"f"},"y"],"body":null}"#;

    fn text(fields: &[&str]) -> String {
        let raw: &RawValue = serde_json::from_str(ISSUE).expect("JSON");
        let fields: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
        issue(raw, "o/r", &fields).expect("an issue").get().to_owned()
    }

    #[test]
    fn without_fields_an_issue_is_as_the_upstream_gave_it_with_its_repository() {
        assert_eq!(text(&[]), format!(r#"{{"repository":"o/r",{}"#, &ISSUE[1..]));
    }

    #[test]
    fn fields_cut_an_issue_and_its_name_stays() {
        assert_eq!(
            text(&["user.login", "labels.name", "body", "title.x", "missing"]),
            r#"{"repository":"o/r","number":7,"title":"T","user":{"login":"a"},"labels":[{"name":"x"}],"body":null}"#
        );
        assert_eq!(text(&["id"]), r#"{"repository":"o/r","id":1,"number":7,"title":"T"}"#);
    }
}
