//! The operator's routes of keys, integrations and jobs of all tenants, and of the audit.

use serde_json::{Value, json};

use super::gateway::{describe_answer, describe_created, filter, list, with_problems};
use super::problems::OF_SERVICE;
use super::schemas::reference;
use store::{AUDIT_ACTIONS, DeliveryStatus, KeyStatus, UsageBy};

/// Members of GET /admin/settings.
pub(crate) fn describe_settings() -> Value {
    let mut members = describe_answer("The settings.", reference("Settings"));
    members["description"] =
        "The values that hold: those of the file and of the environment, and the defaults of all other keys. \
        Of a secret, the answer says only if it is set. All settings of connectors count as secret."
            .into();
    members
}

/// Members of GET /admin/doctor.
pub(crate) fn describe_findings() -> Value {
    let mut members = describe_answer("The findings.", reference("Findings"));
    members["description"] =
        "Examines the machine, the database, the keys, the other gateways and the connectors. It connects to \
        each host that connectors call, and sends no request, so it may take some seconds."
            .into();
    members
}

/// Members of GET /admin/samples.
pub(crate) fn describe_samples() -> Value {
    let mut members = describe_answer("The samples.", reference("Samples"));
    members["description"] =
        "The gateway takes a sample of its own metrics every 15 seconds, and keeps them in memory for an hour.".into();
    members
}

/// Members of GET /admin/audit.
pub(crate) fn describe_audit() -> Value {
    let time = json!({"type": "string", "format": "date-time"});
    list(
        "Entries. The gateway keeps them for `audit.keep_days`, and never changes them.",
        "AuditPage",
        vec![
            filter("actor", json!({"type": "string"}), "Only changes by this actor."),
            filter("action", json!({"type": "string", "enum": AUDIT_ACTIONS}), "Only changes of this kind."),
            filter("tenant", json!({"type": "string"}), "Only changes that belong to this tenant."),
            filter("target", json!({"type": "string"}), "Only changes of the thing with this id."),
            filter("since", time.clone(), "Only changes from this time on."),
            filter("until", time, "Only changes before this time."),
        ],
    )
}

/// Members of GET /admin/keys.
pub(crate) fn describe_keys() -> Value {
    let text = || json!({"type": "string"});
    list(
        "Keys, without the keys themselves.",
        "KeyPage",
        vec![
            filter("name", text(), "Only keys with this name."),
            filter("tenant", text(), "Only keys of this tenant."),
            filter("subject", text(), "Only keys of this user. Empty for those of tenants themselves."),
            filter(
                "status",
                json!({"type": "string", "enum": KeyStatus::ALL.map(KeyStatus::name)}),
                "Only keys in this state.",
            ),
        ],
    )
}

/// Members of POST /admin/keys.
pub(crate) fn describe_new_key() -> Value {
    let mut members = describe_created("The key.", reference("CreatedKey"));
    members["requestBody"] = json!({"required": true, "content": {"application/json": {
        "schema": reference("NewKey"),
        "example": {"name": "reports", "scopes": ["operate"], "effects": ["read"]},
    }}});
    with_problems(members, &["409"])
}

/// Members of GET /admin/keys/{key_id}.
pub(crate) fn describe_key() -> Value {
    describe_answer("The key, without the key itself.", reference("Key"))
}

/// Members of DELETE /admin/keys/{key_id}.
pub(crate) fn describe_revoked_key() -> Value {
    describe_answer("The key is revoked, perhaps since earlier.", reference("KeyRevoked"))
}

/// Members of GET /admin/integrations.
pub(crate) fn describe_integrations() -> Value {
    let text = || json!({"type": "string"});
    list(
        "Accounts.",
        "AnyIntegrationPage",
        vec![
            filter("tenant", text(), "Only accounts of this tenant."),
            filter("subject", text(), "Only accounts of this user. Empty for those of tenants themselves."),
            filter("connector", text(), "Only accounts of this connector."),
            filter("status", reference("IntegrationStatus"), "Only accounts in this status."),
            filter("user_identifier", text(), "Only accounts with this name."),
            filter(
                "account",
                text(),
                "Only accounts with this id or name, or with this id or email address at their service.",
            ),
            filter(
                "overdue",
                json!({"type": "boolean", "enum": [true]}),
                "Only accounts whose tokens should have been refreshed a minute ago or earlier.",
            ),
        ],
    )
}

/// Members of GET /admin/integrations/{integration_id}.
pub(crate) fn describe_integration() -> Value {
    describe_answer("The account.", reference("AnyIntegration"))
}

/// Members of DELETE /admin/integrations/{integration_id}.
pub(crate) fn describe_removed_integration() -> Value {
    describe_answer("The integration is deleted.", reference("IntegrationDeleted"))
}

/// Members of POST /admin/integrations/{integration_id}/renew.
pub(crate) fn describe_renewed_integration() -> Value {
    with_problems(
        describe_answer("The account, with new tokens.", reference("AnyIntegration")),
        &["409", "424", OF_SERVICE, "502", "504"],
    )
}

/// Members of POST /admin/integrations/import.
pub(crate) fn describe_import() -> Value {
    let lines = |schema: &str| {
        json!({"application/x-ndjson": {"schema": {
            "type": "string", "contentMediaType": "application/x-ndjson", "contentSchema": reference(schema),
            "description": "Lines, each with a JSON object of this schema.",
        }}})
    };
    let mut members = describe_answer("An answer to each line that is not blank, in their order.", json!({}));
    members["responses"]["200"]["content"] = lines("ImportedLine");
    members["description"] = "Nothing is called at the services. An account that is connected is replaced only with \
        `replace=true`. A line that was imported before is `unchanged`, also if its tokens were refreshed since. A line over \
        64 KiB is refused. Lines are imported in batches while the body arrives."
        .into();
    members["parameters"] = json!([filter(
        "replace",
        json!({"type": "boolean", "default": false}),
        "true: an account that is connected is replaced.",
    )]);
    members["requestBody"] = json!({"required": true, "content": lines("ImportLine")});
    with_problems(members, &["415", "422"])
}

/// Members of GET /admin/jobs.
pub(crate) fn describe_jobs() -> Value {
    list(
        "Jobs.",
        "AnyJobPage",
        vec![
            filter("status", reference("JobStatus"), "Only jobs in this state."),
            filter("tenant", json!({"type": "string"}), "Only jobs of this tenant."),
            filter(
                "subject",
                json!({"type": "string"}),
                "Only jobs of this user. Empty for those of tenants themselves.",
            ),
        ],
    )
}

/// Members of GET /admin/jobs/{job_id}.
pub(crate) fn describe_job() -> Value {
    describe_answer("The job.", reference("AnyJob"))
}

/// Members of DELETE /admin/jobs/{job_id}.
pub(crate) fn describe_cancelled_job() -> Value {
    describe_answer("The job has ended, now or before.", reference("JobCancelled"))
}

/// Members of GET /admin/webhooks.
pub(crate) fn describe_webhooks() -> Value {
    let statuses = DeliveryStatus::ALL.map(DeliveryStatus::name);
    list(
        "Webhooks.",
        "AnyWebhookPage",
        vec![
            filter(
                "id",
                json!({"type": "string"}),
                "Only webhooks with this id or `event_id`, which is the header `webhook-id`.",
            ),
            filter("status", json!({"type": "string", "enum": statuses}), "Only webhooks in this state."),
            filter("tenant", json!({"type": "string"}), "Only webhooks of this tenant."),
            filter(
                "url",
                json!({"type": "string", "format": "uri"}),
                "Only webhooks to this URL. A URL without a path stands for all URLs with its scheme, host and port.",
            ),
        ],
    )
}

/// Members of GET /admin/calls.
pub(crate) fn describe_calls() -> Value {
    let text = || json!({"type": "string"});
    let time = || json!({"type": "string", "format": "date-time"});
    list(
        "Records of calls. `calls.keep` says which calls have one: those that failed, unless the operator changes it.",
        "CallPage",
        vec![
            filter(
                "status",
                json!({"type": "integer", "minimum": 100, "maximum": 599}),
                "Only calls with this status.",
            ),
            filter("problem", text(), "Only calls that ended with this problem: the last part of its `type`."),
            filter("owner", reference("ProblemOwner"), "Only calls whose problem this one can solve."),
            filter("tenant", text(), "Only calls of this tenant."),
            filter("subject", text(), "Only calls of this user. Empty for those of tenants themselves."),
            filter("user_identifier", text(), "Only calls on accounts with this name."),
            filter(
                "account",
                text(),
                "Only calls on the account with this id or name, or with this id or email address at its service.",
            ),
            filter("connector", text(), "Only calls of this connector."),
            filter("operation", text(), "Only calls of operations with this path."),
            filter("since", time(), "Only calls from this time on."),
            filter("until", time(), "Only calls before this time."),
        ],
    )
}

/// Members of GET /admin/calls/{request_id}.
pub(crate) fn describe_call() -> Value {
    describe_answer("The record.", reference("Call"))
}

/// Members of GET /admin/usage.
pub(crate) fn describe_usage() -> Value {
    let time = || json!({"type": "string", "format": "date-time"});
    let names: Vec<_> = UsageBy::ALL.into_iter().map(UsageBy::name).collect();
    list(
        "Usage. It is kept for `usage.keep_days`. A gateway that is killed loses the counts of its last seconds.",
        "UsagePage",
        vec![
            filter("since", time(), "Only the day of this time, and later ones. Days are in UTC."),
            filter("until", time(), "Only days that began before this time."),
            filter(
                "by",
                json!({"type": "string", "enum": names, "default": UsageBy::default().name()}),
                "The members by which counts are added up, next to the day and the tenant: `connector`; `operation` with \
                 its connector; or `subject`. With `tenant`, there is no other one.",
            ),
        ],
    )
}

/// Members of POST /admin/webhooks/{webhook_id}/resend.
pub(crate) fn describe_resent_webhook() -> Value {
    let mut members = describe_answer("The webhook is sent now, under the same id.", reference("AnyWebhook"));
    let accepted = members["responses"]["200"].take();
    members["responses"] = json!({"202": accepted});
    members["description"] = "A webhook that had ended is attempted once more. URL and body are kept for \
        `callbacks.keep_h` hours after the last attempt."
        .into();
    with_problems(members, &["410"])
}

/// Members of GET /admin/tenants.
pub(crate) fn describe_tenants() -> Value {
    list("Tenants, in the order of their names.", "TenantPage", Vec::new())
}

/// Members of GET /admin/tenants/{tenant}/oauth_clients.
pub(crate) fn describe_oauth_clients() -> Value {
    list("The OAuth clients of the tenant, without their secrets.", "OauthClients", Vec::new())
}

/// Members of GET /admin/tenants/{tenant}/oauth_clients/{oauth_client}.
pub(crate) fn describe_oauth_client() -> Value {
    describe_answer("The OAuth client, without its secret.", reference("OauthClient"))
}

/// Members of PUT /admin/tenants/{tenant}/oauth_clients/{oauth_client}.
pub(crate) fn describe_set_oauth_client() -> Value {
    let mut members = describe_oauth_client();
    members["description"] = "It takes the place of the configuration's client for accounts that users of the tenant \
        connect from now on. With the same `client_id`, the secret and the other members change. With another one, \
        accounts that are connected keep the previous client."
        .into();
    members["requestBody"] = json!({"required": true, "content": {"application/json": {
        "schema": reference("NewOauthClient"),
        "example": {"client_id": "1234.apps.example.com", "client_secret": "a secret of the provider"},
    }}});
    members
}

/// Members of DELETE /admin/tenants/{tenant}/oauth_clients/{oauth_client}.
pub(crate) fn describe_deleted_oauth_client() -> Value {
    describe_answer("The client is deleted, with those that it has replaced.", reference("OauthClientDeleted"))
}
