//! Answers of operations in addition to their examples.
//!
//! An example shows one answer. Where it has a value, another answer may have null or a value of
//! another type.

use serde_json::{Value, json};

use crate::operations::Connector;

/// The end of the names of operations, with an answer of theirs.
type Further = (&'static str, fn() -> Value);

const ANSWERS: &[Further] = &[
    (
        "/userinfo",
        || json!({"data": {"email": null, "username": null, "name": null, "picture": null, "organization": null}}),
    ),
    ("hr_platform/userinfo", || json!({"data": {"employee": null}})),
    ("team_chat/userinfo", || json!({"data": {"organization": {"id": null, "name": null}}})),
    (
        "workspace_identity/token_info",
        || json!({"audience": null, "user_id": null, "email": null, "verified_email": null, "expires_in": null}),
    ),
    (
        "workspace_user_management/reset_user_password",
        || json!({"primaryEmail": null, "suspended": null, "isAdmin": null, "changePasswordAtNextLogin": null}),
    ),
    ("workspace_docs/copy_content", || json!({"revision_id": null})),
    ("workspace_docs/replace_content_with_markdown", || json!({"revision_id": null})),
    ("workspace_docs/summarize_comments", || {
        json!({
            "first_comment_at": null, "last_activity_at": null, "latest": [{"quoted": null}],
            "open_comments": [{"quoted": null}],
        })
    }),
    ("workspace_mail/total_emails_per_label", || json!({"labels": [{"type": null}]})),
    ("sites/get_site_id_by_name", || json!({"name": null, "displayName": null, "webUrl": null})),
    ("office_drive/copy_item", || json!({"monitor_url": null})),
    ("code_hosting/list_issues", || json!({"items": [issue()], "page_info": {"next_cursor": null}})),
    ("code_hosting/list_issue_comments", || json!({"items": [{"user": null}]})),
    ("code_hosting/search_issues", || json!({"issues": [issue()]})),
    ("preprint_archive/get_paper_metadata", paper),
    (
        "preprint_archive/search_papers",
        || json!({"query": null, "updated": null, "papers": [paper()], "next_start": null}),
    ),
    ("preprint_archive/get_daily_updates", || json!({"papers": [paper()]})),
    ("preprint_archive/get_categories", || json!({"categories": [{"description": null}]})),
];

/// An issue of GitHub. A label is an object, or its name.
fn issue() -> Value {
    json!({"body": null, "user": null, "labels": ["bug"], "assignees": null})
}

/// A paper of which arXiv gives little.
fn paper() -> Value {
    json!({
        "version": null, "authors": [{"affiliation": null}], "categories": [{"scheme": null}], "primary_category": null,
        "comment": null, "links": {"abstract": null, "pdf": null},
    })
}

/// The further answers of an operation.
pub(super) fn answers(operation: &str) -> Vec<Value> {
    let further = ANSWERS.iter().filter(|(name, _)| operation.ends_with(name));
    further.map(|(_, answer)| answer()).collect()
}

/// The names that no operation has, each as a sentence.
pub(super) fn unknown(connectors: &[Connector]) -> Vec<String> {
    let operations = connectors.iter().flat_map(|connector| {
        connector.operations.iter().map(|operation| format!("{}/{}", connector.id, operation.path))
    });
    let operations: Vec<String> = operations.collect();
    let unknown = ANSWERS.iter().filter(|(name, _)| !operations.iter().any(|operation| operation.ends_with(name)));
    unknown.map(|(name, _)| format!("{name}: no operation has this name, remove it from the further answers")).collect()
}
