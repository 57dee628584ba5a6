//! The installation of a GitHub App that covers a repository, as the user sees it.
//!
//! Only the access token of a GitHub App sees installations of this App. GitHub refuses the token of
//! an OAuth App, and of an installation itself.

use connector_sdk::http::{self, Method};
use connector_sdk::triggers::{Identify, Value};
use connector_sdk::{Document, Fault, Request, Response, UpstreamFault};
use serde::Serialize;

use crate::{CONNECTOR, github};

/// Maximum number of pages of a list. A user of more installations, or of an installation with more
/// repositories, has webhooks.
const PAGES: usize = 50;

/// The installation and the repository, by their ids. Empty if the user sees none.
#[derive(Default, Serialize)]
struct Found {
    #[serde(skip_serializing_if = "Option::is_none")]
    installation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repository_id: Option<String>,
}

/// Finds the installation whose notifications the user may get for a repository: the user sees the
/// installation, the installation covers the repository, and the user sees the repository.
pub(crate) fn identify(input: Identify) -> Result<Value, Fault> {
    let owner: String = input.parameters.required("owner")?;
    let repo: String = input.parameters.required("repo")?;
    // GitHub sends nothing for an installation that is suspended.
    let is_of_owner = |installation: &Document| {
        is_named(installation, "/account/login", &owner) && !is_given(installation, "/suspended_at")
    };
    let Some(installation) = find("/user/installations", "/installations", is_of_owner)? else {
        return Value::of(&Found::default());
    };
    let installation_id = github::id(&installation);
    let repository = match (installation.string("/repository_selection").as_deref(), &installation_id) {
        (_, None) => None,
        // GitHub leads on from the name that a repository had with another owner.
        (Some("all"), Some(_)) => {
            repository(&input.parameters)?.filter(|repository| is_named(repository, "/owner/login", &owner))
        }
        (_, Some(id)) => {
            let path =
                CONNECTOR.request(Method::Get, "api", "/user/installations")?.segment("installation_id", id)?.path;
            let is_it = |repository: &Document| is_named(repository, "/name", &repo);
            find(&format!("{path}/repositories"), "/repositories", is_it)?
        }
    };
    Value::of(&match repository.as_ref().and_then(github::id) {
        Some(id) => Found { installation_id, repository_id: Some(id) },
        None => Found::default(),
    })
}

/// The repository. `None` if the user does not see it.
fn repository(parameters: &Value) -> Result<Option<Document>, Fault> {
    match seen(super::of_repository(Method::Get, parameters)?)? {
        Some(response) => Ok(Some(response.document()?)),
        None => Ok(None),
    }
}

/// The first item of a list with pages that fits. `None` if there is none, or if the token has no
/// list.
fn find(path: &str, list: &str, fits: impl Fn(&Document) -> bool) -> Result<Option<Document>, Fault> {
    let mut path = CONNECTOR.request(Method::Get, "api", path)?.query("per_page", github::MAX_PER_PAGE).path;
    for _ in 0..PAGES {
        let Some(response) = seen(CONNECTOR.request(Method::Get, "api", path.as_str())?)? else { return Ok(None) };
        let page = response.document()?;
        let found = page.pointer(list).and_then(|items| items.items().find(|item| fits(item)));
        if found.is_some() {
            return Ok(found);
        }
        match github::next_path(&path, &response) {
            Some(next) => path = next,
            None => break,
        }
    }
    Ok(None)
}

/// The response. `None` if the token does not see what the request is about.
fn seen(request: Request) -> Result<Option<Response>, Fault> {
    let response = http::send(request)?;
    let is_limited =
        response.header("retry-after").is_some() || response.header("x-ratelimit-remaining").as_deref() == Some("0");
    match response.status() {
        404 => Ok(None),
        403 if !is_limited => Ok(None),
        // GitHub's rate limit may have this status, and proves nothing.
        403 => response.successful().map(Some).map_err(|fault| match fault {
            Fault::Upstream(refusal) => Fault::Upstream(UpstreamFault { status: 429, ..refusal }),
            other => other,
        }),
        _ => response.successful().map(Some),
    }
}

/// GitHub does not distinguish the case of names.
fn is_named(document: &Document, pointer: &str, name: &str) -> bool {
    document.string(pointer).is_some_and(|found| found.eq_ignore_ascii_case(name))
}

fn is_given(document: &Document, pointer: &str) -> bool {
    document.string(pointer).is_some()
}
