//! The repositories of a search.

use connector_sdk::http::Method;
use connector_sdk::{Fault, Violation};
use serde::Deserialize;

use crate::calls::Calls;
use crate::{CONNECTOR, github, settings};

/// A repository's owner and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repository {
    pub(crate) owner: String,
    pub(crate) name: String,
}

impl Repository {
    pub(crate) fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }
}

/// The repositories that a caller names, without duplicates. A name without an owner is in the
/// default organization.
pub(crate) fn named(given: &[String]) -> Result<Vec<Repository>, Fault> {
    let organization = settings::default_organization()?;
    let mut repositories: Vec<Repository> = Vec::new();
    let mut violations = Vec::new();
    for (index, text) in given.iter().enumerate() {
        match parse(text, organization.as_deref()) {
            Ok(repository) => {
                let is_known = |known: &Repository| known.full_name().eq_ignore_ascii_case(&repository.full_name());
                if !repositories.iter().any(is_known) {
                    repositories.push(repository);
                }
            }
            Err(detail) => {
                violations.push(Violation { pointer: format!("/repositories/{index}"), detail: detail.to_owned() });
            }
        }
    }
    if violations.is_empty() { Ok(repositories) } else { Err(Fault::InvalidInput(violations)) }
}

fn parse(text: &str, organization: Option<&str>) -> Result<Repository, &'static str> {
    let (owner, name) = match (text.split_once('/'), organization) {
        (Some((owner, name)), _) => (owner, name),
        (None, Some(organization)) => (organization, text),
        (None, None) => {
            return Err(
                "Give OWNER/REPO. The operator has not set `default_organization`, so a name without an owner is not enough.",
            );
        }
    };
    let is_name = |part: &str| {
        let is_legal = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
        !part.is_empty() && part != "." && part != ".." && part.chars().all(is_legal)
    };
    match is_name(owner) && is_name(name) {
        true => Ok(Repository { owner: owner.to_owned(), name: name.to_owned() }),
        false => Err("Give OWNER/REPO, or REPO in the default organization."),
    }
}

/// The repositories of the default organization that are not archived or disabled and have issues.
/// Also returns `true` if `calls` was enough to read all of them.
pub(crate) fn of_organization(calls: &mut Calls) -> Result<(Vec<Repository>, bool), Fault> {
    #[derive(Deserialize)]
    struct Found {
        name: String,
        owner: Owner,
        #[serde(default)]
        archived: bool,
        #[serde(default)]
        disabled: bool,
        #[serde(default = "yes")]
        has_issues: bool,
    }
    #[derive(Deserialize)]
    struct Owner {
        login: String,
    }
    const fn yes() -> bool {
        true
    }
    let organization = settings::default_organization()?.ok_or_else(|| {
        Fault::invalid_input(
            "/repositories",
            "Give at least one repository. The operator has not set `default_organization`, whose repositories are searched otherwise.",
        )
    })?;
    let mut first = CONNECTOR.request(Method::Get, "api", "/orgs")?.segment("repositories", &organization)?;
    first.path.push_str("/repos");
    let mut path = first.query("per_page", github::MAX_PER_PAGE).query("type", "all").path;
    let mut repositories = Vec::new();
    while calls.take(1) {
        let response = github::send(CONNECTOR.request(Method::Get, "api", path.as_str())?)?;
        let text = response.text()?;
        let page: Vec<Found> = serde_json::from_str(&text)
            .map_err(|_| github::not_understood("the response is not a list of repositories"))?;
        let searched = page.into_iter().filter(|found| !found.archived && !found.disabled && found.has_issues);
        repositories.extend(searched.map(|found| Repository { owner: found.owner.login, name: found.name }));
        match github::next_path(&path, &response) {
            Some(next) => path = next,
            None => return Ok((repositories, true)),
        }
    }
    Ok((repositories, false))
}
