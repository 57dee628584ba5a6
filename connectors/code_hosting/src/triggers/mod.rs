//! Events of a repository.
//!
//! - here: the inboxes and the types of events.
//! - `hook`: the webhook of a repository.
//! - `installation`: the installation of a GitHub App that covers a repository.
//! - `activity`: the activity of a repository, for users who may not make a webhook.
//! - `schemas`: the JSON Schemas and the examples.

mod activity;
mod hook;
mod installation;
mod schemas;

use connector_sdk::http::Method;
use connector_sdk::triggers::{AccountKey, Check, HmacCheck, Inbox, InboxScope, Place, Trigger, Value};
use connector_sdk::{Fault, Request};

pub(crate) use activity::read;
pub(crate) use hook::{create, delete, redeliver, update};
pub(crate) use installation::identify;

use crate::CONNECTOR;

/// GitHub signs the body. The id of a delivery is not signed, so the hash of the body is the id.
const OF_HOOK: Inbox = Inbox {
    name: "hook",
    checks: &[Check::Hmac(HmacCheck {
        signature: Place::Header("X-Hub-Signature-256"),
        prefix: "sha256=",
        ..HmacCheck::BODY
    })],
    id: &[Place::BodyHash],
    kind: &[Place::Header("X-GitHub-Event"), Place::Pointer("/action")],
    ignored: &["ping"],
    // GitHub sends no larger ones.
    max_body: 25 << 20,
    ..Inbox::SUBSCRIPTION
};

/// The webhook of a repository, and the one of a GitHub App.
pub(crate) const INBOXES: &[Inbox] = &[
    OF_HOOK,
    Inbox {
        name: "app",
        scope: InboxScope::Application,
        // The ids stay when a repository gets another name or owner.
        accounts: &[
            AccountKey { place: Place::Pointer("/installation/id"), account: "/installation_id" },
            AccountKey { place: Place::Pointer("/repository/id"), account: "/repository_id" },
        ],
        ..OF_HOOK
    },
];

/// A type of events of a repository.
const OF_REPOSITORY: Trigger = Trigger {
    parameters: schemas::REPOSITORY,
    inboxes: &["app", "hook"],
    key: &["owner", "repo"],
    subscribe: Some("create_hook"),
    renew: Some("update_hook"),
    unsubscribe: Some("delete_hook"),
    read: Some("read_activity"),
    recover: Some("redeliver"),
    identify: Some("find_installation"),
    poll_seconds: 60,
    ..Trigger::CARRIED
};

/// The types of events.
pub(crate) const TRIGGERS: &[Trigger] = &[
    Trigger {
        name: "issue",
        title: "Issue opened or changed",
        description: "An issue of a repository was opened, edited, closed, labelled, assigned or changed in another way; \
                      `action` of the data says how. Pull requests are left out.",
        payload: schemas::ISSUE,
        example: schemas::ISSUE_EXAMPLE,
        kinds: &["issues"],
        ..OF_REPOSITORY
    },
    Trigger {
        name: "pull_request",
        title: "Pull request opened or changed",
        description: "A pull request of a repository was opened, edited, closed, labelled, assigned or changed in another \
                      way, or has new commits (`synchronize`); `action` of the data says how. `pull_request.merged` \
                      tells if a closed one was merged.",
        payload: schemas::PULL_REQUEST,
        example: schemas::PULL_REQUEST_EXAMPLE,
        kinds: &["pull_request"],
        ..OF_REPOSITORY
    },
    Trigger {
        name: "push",
        title: "Commits pushed",
        description: "Commits were pushed to a branch or a tag of a repository, or a branch or tag was created or deleted \
                      by a push. Without a webhook the data has `ref`, `before` and `head`, and no list of commits.",
        payload: schemas::PUSH,
        example: schemas::PUSH_EXAMPLE,
        kinds: &["push"],
        ..OF_REPOSITORY
    },
    Trigger {
        name: "release",
        title: "Release published or changed",
        description: "A release of a repository was created, published, edited or deleted; `action` of the data says how.",
        payload: schemas::RELEASE,
        example: schemas::RELEASE_EXAMPLE,
        kinds: &["release"],
        ..OF_REPOSITORY
    },
    Trigger {
        name: "comment",
        title: "Comment written or changed",
        description: "A comment on an issue, a pull request, a line of a pull request or a commit of a repository was \
                      written, edited or deleted. The data has `issue` or `pull_request`, or neither for a commit.",
        payload: schemas::COMMENT,
        example: schemas::COMMENT_EXAMPLE,
        kinds: &["issue_comment", "pull_request_review_comment", "commit_comment"],
        ..OF_REPOSITORY
    },
];

/// A request for something of a repository. The caller appends to its path.
fn of_repository(method: Method, parameters: &Value) -> Result<Request, Fault> {
    let (owner, repo): (String, String) = (parameters.required("owner")?, parameters.required("repo")?);
    let request = CONNECTOR.request(method, "api", "/repos")?;
    request.segment("parameters/owner", &owner)?.segment("parameters/repo", &repo)
}
