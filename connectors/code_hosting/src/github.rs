//! One call of GitHub's REST API.

use connector_sdk::http::{self, Error, Method, Response};
use connector_sdk::{Fault, Request, config};
use serde_json::value::RawValue;

/// The version of the API that the table names, too.
const API_VERSION: &str = "2022-11-28";

/// Items of the longest page that GitHub gives.
pub(crate) const LONGEST_PAGE: u32 = 100;

/// A request with the headers that the table gives to its rows.
pub(crate) fn request(method: Method, path: impl Into<String>) -> Result<Request, Fault> {
    let version = config::text("api_version", API_VERSION)?;
    Ok(Request::new(method, "api", path)
        .header("Accept", "application/vnd.github+json")
        .header("X-GitHub-Api-Version", version))
}

/// A request for the issues of a repository, to which the rest of the path can be appended.
pub(crate) fn issues(method: Method, owner: &str, repo: &str) -> Result<Request, Fault> {
    let mut request = request(method, "/repos")?.segment("owner", owner)?.segment("repo", repo)?;
    request.path.push_str("/issues");
    Ok(request)
}

/// Sends a request, and takes an answer that is no error.
pub(crate) fn send(request: Request) -> Result<Response, Fault> {
    http::send(request)?.successful()
}

/// The items of an answer that is a list.
pub(crate) fn items(text: &str) -> Result<Vec<&RawValue>, Fault> {
    serde_json::from_str(text).map_err(|_| not_understood("no list where there should be one"))
}

/// GitHub's answer is not what it should be.
pub(crate) fn not_understood(what: &str) -> Fault {
    Error::BadAnswer(format!("GitHub's answer is not understood: {what}")).into()
}

/// The query of the page after an answer; none when it is the last.
///
/// Only the query is taken, as the address in it may be another one than the operator's. What stands in it is GitHub's matter: a
/// number of a page, or a cursor.
pub(crate) fn next_query(response: &Response) -> Option<String> {
    let link = response.header("link")?;
    let (_, query) = next(&link)?.split_once('?')?;
    Some(query.to_owned())
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
