//! Cuts an issue to the members that the caller asked for. Paths have the same rules as the
//! gateway's `response_fields`.

use std::borrow::Cow;

use connector_sdk::json;

/// Members that an issue always keeps, besides its repository.
const ALWAYS: [&str; 2] = ["number", "title"];

/// The issue for the caller: with its repository, and cut to `fields` if there are any. `None` if
/// `text` is not an object.
pub(crate) fn issue(text: &str, repository: &str, fields: &[String]) -> Option<String> {
    if fields.is_empty() {
        return with_repository(text, repository);
    }
    let paths: Vec<&str> = ALWAYS.into_iter().chain(fields.iter().map(String::as_str)).collect();
    let mut cut = String::new();
    members(&mut cut, text, &paths)?;
    with_repository(&cut, repository)
}

/// Adds the repository as the first member, in place of GitHub's member of the same name. The string
/// is allocated once if GitHub sends none, because an answer can have thousands of issues.
fn with_repository(issue: &str, repository: &str) -> Option<String> {
    let repository = serde_json::to_string(repository).ok()?;
    let others = match issue.contains("repository\"") {
        true => Cow::Owned(without_repository(issue)?),
        false => Cow::Borrowed(issue),
    };
    let members = others.strip_prefix('{')?.trim_start();
    let comma = if members.starts_with('}') { "" } else { "," };
    Some(["{\"repository\":", &repository, comma, members].concat())
}

fn without_repository(issue: &str) -> Option<String> {
    let members = json::members(issue)?.into_iter().filter(|(name, _)| name != "repository");
    let members = members.map(|(name, value)| Some(format!("{}:{value}", serde_json::to_string(&name).ok()?)));
    Some(format!("{{{}}}", members.collect::<Option<Vec<_>>>()?.join(",")))
}

/// Writes the members that a path names or goes into. `None` if `text` is not an object.
fn members(out: &mut String, text: &str, paths: &[&str]) -> Option<()> {
    out.push('{');
    for (name, value) in json::members(text)? {
        let is_whole = paths.contains(&name.as_ref());
        let inner: Vec<&str> =
            paths.iter().filter_map(|path| path.strip_prefix(name.as_ref())?.strip_prefix('.')).collect();
        // A path cannot go into a scalar.
        if !is_whole && (inner.is_empty() || !value.starts_with(['{', '['])) {
            continue;
        }
        if !out.ends_with('{') {
            out.push(',');
        }
        out.push_str(&serde_json::to_string(&name).ok()?);
        out.push(':');
        if is_whole {
            out.push_str(value);
        } else {
            project(out, value, &inner)?;
        }
    }
    out.push('}');
    Some(())
}

/// Writes the members that the paths name of an object, or of each object in an array.
fn project(out: &mut String, text: &str, paths: &[&str]) -> Option<()> {
    if text.starts_with('{') {
        return members(out, text, paths);
    }
    out.push('[');
    for item in json::items(text)?.into_iter().filter(|item| item.starts_with(['{', '['])) {
        if !out.ends_with('[') {
            out.push(',');
        }
        project(out, item, paths)?;
    }
    out.push(']');
    Some(())
}

#[cfg(test)]
mod tests {
    use super::issue;

    const ISSUE: &str = r#"{"id":1.0,"number":7,"title":"T","user":{"login":"a","id":2},"labels":[{"name":"x","color":"f"},"y",{"name":"z"}],"body":null}"#;

    fn text(fields: &[&str]) -> String {
        let fields: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
        issue(ISSUE, "o/r", &fields).expect("an issue")
    }

    #[test]
    fn fields_cut_an_issue_which_keeps_its_number_and_title() {
        assert_eq!(
            text(&["user.login", "labels.name", "body", "title.x", "missing"]),
            r#"{"repository":"o/r","number":7,"title":"T","user":{"login":"a"},"labels":[{"name":"x"},{"name":"z"}],"body":null}"#
        );
        assert_eq!(text(&["id", "user.x"]), r#"{"repository":"o/r","id":1.0,"number":7,"title":"T","user":{}}"#);
        assert_eq!(
            text(&["user", "user.login"]),
            r#"{"repository":"o/r","number":7,"title":"T","user":{"login":"a","id":2}}"#
        );
    }

    #[test]
    fn without_fields_an_issue_is_unchanged_but_for_its_repository() {
        assert_eq!(text(&[]), format!(r#"{{"repository":"o/r",{}"#, &ISSUE[1..]));
        assert_eq!(issue("{ }", "o/r", &[]).as_deref(), Some(r#"{"repository":"o/r"}"#));
        let own = r#"{"id":1.0,"repository":{"id":2},"title":"a \"repository\""}"#;
        assert_eq!(
            issue(own, "o/r", &[]).as_deref(),
            Some(r#"{"repository":"o/r","id":1.0,"title":"a \"repository\""}"#)
        );
    }

    #[test]
    fn an_issue_that_is_not_an_object_is_refused() {
        assert!(issue("[]", "o/r", &[]).is_none());
        assert!(issue("[]", "o/r", &["id".to_owned()]).is_none());
    }
}
