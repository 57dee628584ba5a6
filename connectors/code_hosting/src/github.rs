//! Requests to GitHub's REST API, and the next page of a response.

use connector_sdk::http::{self, Error, Method, Response};
use connector_sdk::{Document, Fault, Request};
use serde_json::value::RawValue;

use crate::CONNECTOR;

/// Maximum number of items in a page of GitHub.
pub(crate) const MAX_PER_PAGE: u32 = 100;

/// A request for the issues of a repository. The caller may append to its path.
pub(crate) fn issues(method: Method, owner: &str, repo: &str) -> Result<Request, Fault> {
    let mut request = CONNECTOR.request(method, "api", "/repos")?.segment("owner", owner)?.segment("repo", repo)?;
    request.path.push_str("/issues");
    Ok(request)
}

/// Sends a request.
///
/// # Errors
/// [`Fault::Upstream`] if GitHub returns an error.
pub(crate) fn send(request: Request) -> Result<Response, Fault> {
    http::send(request)?.successful()
}

/// The id of a document, a number that may be larger than an `i64`.
pub(crate) fn id(document: &Document) -> Option<String> {
    let id = document.pointer("/id")?;
    Some(id.as_string().unwrap_or_else(|| id.text()))
}

/// The items of a response that is a JSON array.
pub(crate) fn items(text: &str) -> Result<Vec<&RawValue>, Fault> {
    serde_json::from_str(text).map_err(|_| not_understood("the response is not a list"))
}

/// The fault for a response that does not have GitHub's documented form. `problem` is a clause that
/// says what is wrong.
pub(crate) fn not_understood(problem: &str) -> Fault {
    Error::BadAnswer(format!("GitHub's response is not in the documented form: {problem}")).into()
}

/// The query of the next page. `None` if the response is the last page.
///
/// The connector takes only the query of the address, because the operator may have replaced
/// GitHub's address. GitHub chooses the parameters of the query: the number of a page, or a cursor.
pub(crate) fn next_query(response: &Response) -> Option<String> {
    let link = response.header("link")?;
    let (_, query) = next(&link)?.split_once('?')?;
    Some(query.to_owned())
}

/// `path` with the query of the next page. `None` if the response is the last page.
pub(crate) fn next_path(path: &str, response: &Response) -> Option<String> {
    let (path, _) = path.split_once('?').unwrap_or((path, ""));
    Some(format!("{path}?{}", next_query(response)?))
}

/// The target with `rel="next"` of a header `Link` (RFC 8288).
fn next(link: &str) -> Option<&str> {
    let mut rest = link;
    while let Some((_, target)) = rest.split_once('<') {
        let (target, after) = target.split_once('>')?;
        let parameters = after.split_once('<').map_or(after, |(parameters, _)| parameters);
        if parameters.split([';', ',']).any(|parameter| matches!(parameter.trim(), r#"rel="next""# | "rel=next")) {
            return Some(target);
        }
        rest = after;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::next;

    #[test]
    fn the_next_page_is_found_among_the_links() {
        let link = r#"<https://a.test/x?page=1>; rel="prev", <https://a.test/x?labels=a,b&page=3>; rel="next", <https://a.test/x?page=9>; rel="last""#;
        assert_eq!(next(link), Some("https://a.test/x?labels=a,b&page=3"));
        assert_eq!(next("<https://a.test/x?page=2>; rel=next"), Some("https://a.test/x?page=2"));
        for link in ["", "next", r#"<https://a.test/x?page=1>; rel="last""#, r#"<https://a.test/x; rel="next""#] {
            assert_eq!(next(link), None, "{link}");
        }
    }
}
